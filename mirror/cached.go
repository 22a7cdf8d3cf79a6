package mirror

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// What the caches keep are runtime.Objects, so that client-go's mutation
// detector can compare them with copies. Nothing in them has a method that
// changes it, so that what is pointed to is shared; Terms and Templates hide
// their parts.

// GetObjectKind implements runtime.Object.
func (*Source) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object.
func (s *Source) DeepCopyObject() runtime.Object {
	c := *s
	c.ObjectMeta = *s.ObjectMeta.DeepCopy()
	if s.Refusal != nil {
		c.Refusal = new(*s.Refusal)
	}
	return &c
}

// GetObjectKind implements runtime.Object.
func (*Work) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object.
func (w *Work) DeepCopyObject() runtime.Object {
	c := *w
	c.ObjectMeta = *w.ObjectMeta.DeepCopy()
	if w.Held != nil {
		c.Held = new(*w.Held)
	}
	return &c
}

// GetObjectKind implements runtime.Object.
func (*Cluster) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object.
func (c *Cluster) DeepCopyObject() runtime.Object {
	return &Cluster{ObjectMeta: *c.ObjectMeta.DeepCopy()}
}

// GetObjectKind implements runtime.Object.
func (*definition) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object.
func (d *definition) DeepCopyObject() runtime.Object {
	return &definition{ObjectMeta: *d.ObjectMeta.DeepCopy()}
}
