package apiserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// maxObject is what etcd accepts (--max-request-bytes).
const maxObject = 3 << 19

// revision is one state of an object. It is encoded at most once, without its kind and
// version: those depend on how a client wants it.
type revision struct {
	object          Object
	namespace, name string
	key             string // in its collection
	labels          labels.Set
	revision        int64

	once           sync.Once
	meta, contents []byte // `"metadata":{…}` and `,"spec":…}`

	decoded sync.Once
	known   *metav1.ObjectMeta // never changed
}

// decodedMeta is the object's metadata as a type.
func (v *revision) decodedMeta() *metav1.ObjectMeta {
	v.decoded.Do(func() {
		v.known = &metav1.ObjectMeta{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(metadata(v.object), v.known); err != nil {
			panic(err) // it was made from the type
		}
	})
	return v.known
}

func newRevision(o Object) *revision {
	m := metadata(o)
	v := &revision{object: o, namespace: text(m, "namespace"), name: text(m, "name")}
	v.key = v.namespace + "/" + v.name
	v.revision, _ = strconv.ParseInt(text(m, "resourceVersion"), 10, 64)
	if set, ok := m["labels"].(map[string]any); ok {
		v.labels = make(labels.Set, len(set))
		for key := range set {
			v.labels[key] = text(set, key)
		}
	}
	return v
}

// number gives an object that no client has seen yet its version.
func (v *revision) number(n int64) {
	v.revision = n
	metadata(v.object)["resourceVersion"] = strconv.FormatInt(n, 10)
}

// at returns the same object with another version.
func (v *revision) at(n int64) *revision {
	o := maps.Clone(v.object)
	o["metadata"] = maps.Clone(metadata(o))
	other := &revision{object: o, namespace: v.namespace, name: v.name, key: v.key, labels: v.labels}
	other.number(n)
	return other
}

func (v *revision) encode() {
	v.once.Do(func() {
		v.meta = append([]byte(`"metadata":`), encode(metadata(v.object))...)
		rest := maps.Clone(v.object)
		delete(rest, "apiVersion")
		delete(rest, "kind")
		delete(rest, "metadata")
		if v.contents = encode(rest); len(rest) > 0 {
			v.contents[0] = ','
		} else {
			v.contents = []byte("}")
		}
	})
}

// write appends the object's JSON. Without a kind it is an item of a list that has one.
func (v *revision) write(to []byte, s shape) []byte {
	if v.encode(); to == nil {
		to = make([]byte, 0, s.sizeOf(v))
	}
	to = append(to, '{')
	if s.kind != "" {
		to = append(to, `"kind":"`+s.kind+`","apiVersion":"`+s.apiVersion+`",`...)
	}
	to = append(to, v.meta...)
	if s.partial {
		return append(to, '}')
	}
	return append(to, v.contents...)
}

// shape is how a client wants an object.
type shape struct {
	kind, apiVersion string
	partial          bool
}

// sizeOf is at least the length of an object's JSON.
func (s shape) sizeOf(v *revision) int {
	v.encode()
	n := len(v.meta) + len(s.kind) + len(s.apiVersion) + 64
	if !s.partial {
		n += len(v.contents)
	}
	return n
}

// encode is for what was decoded from JSON, or can be.
func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // an object with a value that JSON does not have
	}
	return data
}

func metadata(o Object) map[string]any {
	m, _ := o["metadata"].(map[string]any)
	return m
}

func text(o map[string]any, key string) string {
	s, _ := o[key].(string)
	return s
}

// sameSpec compares everything but metadata and, if it is a subresource, the status.
func (c *collection) sameSpec(a, b Object) bool {
	counts := func(key string) bool {
		return key != "metadata" && key != "apiVersion" && (key != "status" || !c.Status)
	}
	for key := range b {
		if _, ok := a[key]; counts(key) && !ok {
			return false
		}
	}
	for key, value := range a {
		if other, ok := b[key]; counts(key) && !(ok && equal(value, other)) {
			return false
		}
	}
	return true
}

// equal compares JSON values; reflection would cost more than all the rest of an update.
func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for key, value := range a {
			if other, ok := b[key]; !ok || !equal(value, other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	}
	return a == b
}

// decode brings an object into the form in which it is kept: the storage version, and only
// what the types of built-in kinds, and of all metadata, have.
func (c *collection) decode(o Object) (Object, *metav1.ObjectMeta, error) {
	if c.Prune != nil {
		c.Prune(o)
	}
	gvk := schema.GroupVersionKind{Group: c.Group, Version: c.storage(), Kind: c.Kind}
	o["kind"], o["apiVersion"] = gvk.Kind, gvk.GroupVersion().String()
	if scheme.Scheme.Recognizes(gvk) && !c.Custom {
		typed, err := scheme.Scheme.New(gvk)
		if err != nil {
			return nil, nil, err
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o, typed); err != nil {
			return nil, nil, err
		}
		if o, err = runtime.DefaultUnstructuredConverter.ToUnstructured(typed); err != nil {
			return nil, nil, err
		}
	}
	if c.Default != nil {
		c.Default(o)
	}
	return c.decodeMeta(o)
}

func (c *collection) decodeMeta(o Object) (Object, *metav1.ObjectMeta, error) {
	m := &metav1.ObjectMeta{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(metadata(o), m); err != nil {
		return nil, nil, err
	}
	m.ManagedFields = nil
	return o, m, nil
}

func (c *collection) errUndecodable(err error) error {
	return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", c.Kind, c.storage(), c.Kind, err))
}

func (c *collection) encodeMeta(o Object, m *metav1.ObjectMeta) {
	encoded, err := runtime.DefaultUnstructuredConverter.ToUnstructured(m)
	if err != nil {
		panic(err) // ObjectMeta can always be converted
	}
	o["metadata"] = encoded
}

// fits refuses what etcd would refuse.
func (c *collection) fits(o Object) (*revision, error) {
	v := newRevision(o)
	if size(o) > maxObject/2 {
		if v.encode(); len(v.meta)+len(v.contents) > maxObject {
			return nil, errors.New("etcdserver: request is too large")
		}
		v = newRevision(o) // its version is not known yet
	}
	return v, nil
}

// size is less than that of the JSON, and quick.
func size(value any) int {
	n := 2
	switch value := value.(type) {
	case map[string]any:
		for key, v := range value {
			n += len(key) + size(v)
		}
	case []any:
		for _, v := range value {
			n += size(v)
		}
	case string:
		n += len(value)
	}
	return n
}
