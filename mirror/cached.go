package mirror

import (
	"maps"
	"slices"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/render"
)

// What the caches keep is small: of the metadata, only what is needed. client-go
// asks for namespace, name and resource version, and gets an ObjectMeta that is
// made when it asks.
//
// It is a runtime.Object as well, so that client-go's mutation detector can
// compare it with a copy. Nothing in it has a method that changes it, so that what
// is pointed to is shared; Terms and Templates hide their parts.

// keptMeta is the metadata of an object that was read.
type keptMeta struct {
	Namespace, Name string
	UID             types.UID
	ResourceVersion string
	// written is when its metadata or spec was written last; kept of Works only.
	written seconds
	// Terminating: it has a deletion timestamp.
	Terminating bool
}

func keepMeta(u *unstructured.Unstructured) keptMeta {
	return keptMeta{
		Namespace: shared(u.GetNamespace()), Name: u.GetName(), UID: u.GetUID(), ResourceVersion: u.GetResourceVersion(),
		Terminating: u.GetDeletionTimestamp() != nil,
	}
}

// GetObjectMeta implements metav1.ObjectMetaAccessor.
func (m *keptMeta) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion}
}

// GetObjectKind implements runtime.Object.
func (*keptMeta) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// shared is a string that many objects have, kept once.
func shared(s string) string { return unique.Make(s).Value() }

// sharedIdentity shares all of an identity but the name.
func sharedIdentity(id render.Identity) render.Identity {
	return render.Identity{Group: shared(id.Group), Kind: shared(id.Kind), Namespace: shared(id.Namespace), Name: id.Name}
}

// usualFinalizers are those of nearly every Work.
var usualFinalizers = []string{render.ExecutionFinalizer}

func sharedFinalizers(finalizers []string) []string {
	if slices.Equal(finalizers, usualFinalizers) {
		return usualFinalizers
	}
	return finalizers
}

// GetObjectMeta implements metav1.ObjectMetaAccessor. client-go's detector of
// inconsistent lists orders objects by their UIDs, which stubs do not keep.
func (s *Source) GetObjectMeta() metav1.Object {
	uid := s.UID
	if uid == "" {
		uid = types.UID(s.ID.Namespace + "/" + s.ID.Name)
	}
	return &metav1.ObjectMeta{Namespace: s.ID.Namespace, Name: s.ID.Name, UID: uid, ResourceVersion: s.ResourceVersion}
}

// GetObjectKind implements runtime.Object.
func (*Source) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object.
func (s *Source) DeepCopyObject() runtime.Object {
	c := *s
	if s.Refusal != nil {
		c.Refusal = new(*s.Refusal)
	}
	return &c
}

// DeepCopyObject implements runtime.Object.
func (w *Work) DeepCopyObject() runtime.Object {
	c := *w
	c.Finalizers = slices.Clone(w.Finalizers)
	if w.Held != nil {
		c.Held = new(*w.Held)
	}
	if w.Handed != nil {
		c.Handed = new(*w.Handed)
	}
	return &c
}

// DeepCopyObject implements runtime.Object.
func (c *Cluster) DeepCopyObject() runtime.Object {
	clone := *c
	clone.Labels = maps.Clone(c.Labels)
	return &clone
}

// DeepCopyObject implements runtime.Object.
func (n *Namespace) DeepCopyObject() runtime.Object {
	clone := *n
	clone.Labels = maps.Clone(n.Labels)
	return &clone
}

// DeepCopyObject implements runtime.Object.
func (d *definition) DeepCopyObject() runtime.Object { return new(*d) }
