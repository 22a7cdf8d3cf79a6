package state

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

// The caches keep little: only the metadata that is needed. client-go asks for
// namespace, name and resource version, and gets an ObjectMeta made on demand.
//
// Everything cached is also a runtime.Object, so that client-go's mutation detector
// can compare it with a copy. No method changes it, so what it points to is shared;
// Terms and Templates hide their parts.

// Meta is the metadata that is kept of an object.
type Meta struct {
	Namespace, Name string
	UID             types.UID
	ResourceVersion string
	// written is when its metadata or spec was last written; kept for Works only.
	written seconds
	// Terminating: it has a deletion timestamp.
	Terminating bool
}

func keepMeta(u *unstructured.Unstructured) Meta {
	return Meta{
		Namespace: shared(u.GetNamespace()), Name: u.GetName(), UID: u.GetUID(), ResourceVersion: u.GetResourceVersion(),
		Terminating: u.GetDeletionTimestamp() != nil,
	}
}

// GetObjectMeta implements metav1.ObjectMetaAccessor.
func (m *Meta) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion}
}

// GetObjectKind implements runtime.Object.
func (*Meta) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// shared returns a string that many objects have, stored once.
func shared(s string) string { return unique.Make(s).Value() }

// sharedIdentity shares every part of an identity but the name.
func sharedIdentity(id render.Identity) render.Identity {
	return render.Identity{Group: shared(id.Group), Kind: shared(id.Kind), Namespace: shared(id.Namespace), Name: id.Name}
}

// usualFinalizers are the finalizers of nearly every Work.
var usualFinalizers = []string{render.ExecutionFinalizer}

func sharedFinalizers(finalizers []string) []string {
	if slices.Equal(finalizers, usualFinalizers) {
		return usualFinalizers
	}
	return finalizers
}

// GetObjectMeta implements metav1.ObjectMetaAccessor. client-go's detector of
// inconsistent lists orders objects by their UIDs, which stubs do not keep.
func (o *Object) GetObjectMeta() metav1.Object {
	uid := o.UID
	if uid == "" {
		uid = types.UID(o.ID.Namespace + "/" + o.ID.Name)
	}
	return &metav1.ObjectMeta{Namespace: o.ID.Namespace, Name: o.ID.Name, UID: uid, ResourceVersion: o.ResourceVersion}
}

// GetObjectKind implements runtime.Object.
func (*Object) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object.
func (o *Object) DeepCopyObject() runtime.Object {
	c := *o
	if o.Content != nil {
		c.Content = new(*o.Content)
	}
	if o.related != nil {
		c.related = new(*o.related)
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
	if w.rare != nil {
		c.rare = new(*w.rare)
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
func (d *Definition) DeepCopyObject() runtime.Object { return new(*d) }
