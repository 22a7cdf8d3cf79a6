package render

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/validation"
)

// executionPrefix begins the name of the namespace of a cluster's Works (Karmada
// pkg/util/names, v1.18.2).
const executionPrefix = "karmada-es-"

// Identity names a source across its versions and incarnations. Namespace is
// empty for cluster-scoped kinds.
type Identity struct {
	Group, Kind, Namespace, Name string
}

// ID is the value of SourceIDLabel: 128 bits of SHA-256 in 32 hex digits.
func (i Identity) ID() string {
	sum := sha256.Sum256([]byte(i.Group + "/" + i.Kind + "/" + i.Namespace + "/" + i.Name))
	return hex.EncodeToString(sum[:16])
}

// String is the value of SourceAnnotation: <kind>.<group>/<namespace>/<name>,
// without the parts that the source does not have.
func (i Identity) String() string {
	s := i.Kind
	if i.Group != "" {
		s += "." + i.Group
	}
	if i.Namespace != "" {
		s += "/" + i.Namespace
	}
	return s + "/" + i.Name
}

// ParseIdentity is the inverse of String.
func ParseIdentity(s string) (Identity, error) {
	parts := strings.Split(s, "/")
	kind, group, _ := strings.Cut(parts[0], ".")
	var i Identity
	switch len(parts) {
	case 2:
		i = Identity{Group: group, Kind: kind, Name: parts[1]}
	case 3:
		i = Identity{Group: group, Kind: kind, Namespace: parts[1], Name: parts[2]}
	}
	if i.Kind == "" || i.Name == "" || i.String() != s {
		return Identity{}, fmt.Errorf("cannot parse source identity %s: want <kind>.<group>/<namespace>/<name>", quote(s))
	}
	return i, nil
}

// Arguments returns it as kubectl takes it.
func (i Identity) Arguments() string {
	arguments := strings.ToLower(i.GroupKind().String()) + " " + i.Name
	if i.Namespace != "" {
		arguments += " -n " + i.Namespace
	}
	return arguments
}

// GroupKind is the kind of the source.
func (i Identity) GroupKind() schema.GroupKind {
	return schema.GroupKind{Group: i.Group, Kind: i.Kind}
}

// WorkName is the name that Karmada itself gives to the Work of this source
// (names.GenerateWorkName in pkg/util/names, v1.18.2), which ignores the group.
// Karmada finds a Work by this rule after a member object was deleted. Its
// pretty-printer leaves a string unchanged, so the hash is that of the text.
func (i Identity) WorkName() string {
	name := strings.ToLower(strings.ReplaceAll(i.Name, ":", "."))
	qualified := name + "-" + i.Kind
	if i.Namespace != "" {
		qualified = i.Namespace + "-" + qualified
	}
	hash := fnv.New32a()
	hash.Write([]byte(strings.ToLower(qualified)))
	return name + "-" + rand.SafeEncodeString(strconv.FormatUint(uint64(hash.Sum32()), 10))
}

// LongWorkName is the name of the Work of this source where another Work has the name
// WorkName: with the ID appended, it belongs to no other source. The source's name is cut
// to fit.
func (i Identity) LongWorkName() string {
	name := i.WorkName()
	if room := validation.DNS1123SubdomainMaxLength - len("-") - len(i.ID()); len(name) > room {
		name = strings.TrimRight(name[:room], "-.")
	}
	return name + "-" + i.ID()
}

// ExecutionNamespace is the namespace of a cluster's Works.
func ExecutionNamespace(cluster string) string { return executionPrefix + cluster }

// ClusterOf is the inverse of ExecutionNamespace. The cluster is empty for any
// other namespace.
func ClusterOf(namespace string) (cluster string, ok bool) {
	cluster, ok = strings.CutPrefix(namespace, executionPrefix)
	if !ok || cluster == "" {
		return "", false
	}
	return cluster, true
}
