package e2e

import (
	"strings"
	"testing"

	"github.com/karmada-target/karmada-mirror/render"
)

// Colliding finds a namespace of the test in which an object of the given kind, with the
// name of another object, gets the same Work name as that object; another salt finds
// another namespace. This takes no time: Karmada's names end in a 32-bit FNV hash.
func Colliding(t *testing.T, kind string, with render.Identity, salt string) (id render.Identity) {
	t.Helper()
	head := scopeOf(t).home + "-" + salt
	target := invert(sum(fnvBasis, qualified(with)), "-"+strings.ToLower(with.Name+"-"+kind))
	halves := map[uint32]string{}
	begin := sum(fnvBasis, head)
	eachWord(func(word string) bool { halves[sum(begin, word)] = word; return true })
	eachWord(func(word string) bool {
		first, met := halves[invert(target, word)]
		if met {
			id = render.Identity{Kind: kind, Namespace: head + first + word, Name: with.Name}
		}
		return !met
	})
	if id.WorkName() != with.WorkName() {
		t.Fatalf("%s and %s have the Work names %s and %s", id, with, id.WorkName(), with.WorkName())
	}
	return id
}

// qualified is the string that Karmada hashes.
func qualified(id render.Identity) string {
	text := id.Name + "-" + id.Kind
	if id.Namespace != "" {
		text = id.Namespace + "-" + text
	}
	return strings.ToLower(text)
}

// These are the parameters of the 32-bit FNV-1a hash, and the inverse of its prime.
const (
	fnvBasis   uint32 = 2166136261
	fnvPrime   uint32 = 16777619
	fnvInverse uint32 = 899433627
)

// sum continues a hash with text.
func sum(hash uint32, text string) uint32 {
	for _, b := range []byte(text) {
		hash = (hash ^ uint32(b)) * fnvPrime
	}
	return hash
}

// invert returns the hash as it was before text was added.
func invert(hash uint32, text string) uint32 {
	for i := len(text) - 1; i >= 0; i-- {
		hash = hash*fnvInverse ^ uint32(text[i])
	}
	return hash
}

// eachWord calls do with each word of four letters, until do returns false.
func eachWord(do func(string) bool) {
	const letters = "abcdefghijklmnopqrstuvwxyz"
	word := make([]byte, 4)
	for i := range len(letters) * len(letters) * len(letters) * len(letters) {
		for at := range word {
			word[at] = letters[i%len(letters)]
			i /= len(letters)
		}
		if !do(string(word)) {
			return
		}
	}
}
