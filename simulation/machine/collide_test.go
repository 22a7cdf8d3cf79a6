package machine

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/karmada-target/karmada-mirror/simulation/model"
)

// collide finds an object of a kind, in a namespace that begins with head, whose Work has the name of another's: names of
// Works end in a 32-bit FNV-1a hash, which two halves meet in the middle of.
func collide(kind string, with model.Key, head string) model.Key {
	qualified := strings.ToLower(strings.TrimPrefix(with.Namespace+"-", "-") + with.Name + "-" + with.Kind)
	want := invert(sum(fnvBasis, qualified), "-"+strings.ToLower(with.Name+"-"+kind))
	halves, found := map[uint32]string{}, ""
	begin := sum(fnvBasis, head)
	eachWord(func(word string) bool { halves[sum(begin, word)] = word; return true })
	eachWord(func(word string) bool {
		first, met := halves[invert(want, word)]
		found = head + first + word
		return !met
	})
	return model.Key{Kind: kind, Namespace: found, Name: with.Name}
}

// These are the parameters of the 32-bit FNV-1a hash, and the inverse of its prime.
const (
	fnvBasis   uint32 = 2166136261
	fnvPrime   uint32 = 16777619
	fnvInverse uint32 = 899433627
)

// sum continues a hash with text, and invert returns it as it was before text was added.
func sum(hash uint32, text string) uint32 {
	for _, b := range []byte(text) {
		hash = (hash ^ uint32(b)) * fnvPrime
	}
	return hash
}

func invert(hash uint32, text string) uint32 {
	for i := len(text) - 1; i >= 0; i-- {
		hash = hash*fnvInverse ^ uint32(text[i])
	}
	return hash
}

// eachWord calls do with each word of four letters, until it returns false.
func eachWord(do func(string) bool) {
	for i := range 26 * 26 * 26 * 26 {
		if !do(string([]byte{'a' + byte(i%26), 'a' + byte(i/26%26), 'a' + byte(i/676%26), 'a' + byte(i/17576)})) {
			return
		}
	}
}

// sourceID is the label of an object's Works (docs/reference/works.md).
func sourceID(k model.Key) string {
	digest := sha256.Sum256([]byte("/" + k.Kind + "/" + k.Namespace + "/" + k.Name))
	return hex.EncodeToString(digest[:16])
}
