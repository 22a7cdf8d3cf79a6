package state

import (
	"unique"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/render"
)

// Object is what the cache keeps of an object of a watched resource: what it says
// itself, and nothing that follows from anything else. What it asks for is read from it
// when it is judged; see judge.SourceOf. Very many objects ask for nothing: one takes 144
// bytes, and with one field more the next size of the allocator is 160.
type Object struct {
	ID render.Identity
	// UID is left out where the object has neither wishes nor a claim.
	UID             types.UID
	ResourceVersion string
	// Many objects have the same of these.
	wishes unique.Handle[render.Wishes]
	claim  unique.Handle[string]
	// Content is what its Works carry; nil if it has not been kept.
	Content *Content
	// Scales is the workload that it scales, if it is an autoscaler.
	Scales *render.Identity
	// System is what of a cluster's own system it is, if it is.
	System render.System
}

// Wishes are those of the object itself.
func (o *Object) Wishes() render.Wishes { return o.wishes.Value() }

// Claim names the policy that claims the object; empty if none does.
func (o *Object) Claim() string { return o.claim.Value() }

// Needs are the objects that its Pods need, if its content has been kept.
func (o *Object) Needs() []render.Identity {
	if o.Content == nil || o.Content.Manifest == nil {
		return nil
	}
	return o.Content.Manifest.Needs()
}

// Terms are those by which the object itself chooses clusters; none if they cannot be
// parsed.
func (o *Object) Terms() render.Terms {
	if !o.Chooses() {
		return render.Terms{}
	}
	terms, _ := o.alone().Terms()
	return terms
}

// Chooses reports whether the object itself says where to mirror it.
func (o *Object) Chooses() bool {
	alone := o.alone()
	return alone.Ask() && !alone.OptOut()
}

// alone is what it asks for if its Namespace says nothing: who opts out of a list of
// clusters may ask by a selector.
func (o *Object) alone() render.Wishes { return o.Wishes().Over(render.Wishes{}) }

// Content is what becomes of an object in a member.
type Content struct {
	// Manifest is nil if none can be made of the object, for this reason.
	Manifest *render.Manifest
	Fault    string
}

// NewObject reduces an object to what is kept of it. The content is kept of those that
// ask to be mirrored themselves. It takes ownership of u.
func NewObject(u *unstructured.Unstructured) *Object {
	o := newStub(u)
	if o.Chooses() {
		o.Content = newContent(u, o.ID)
	}
	return o
}

// NewWholeObject is NewObject that keeps the content in any case.
func NewWholeObject(u *unstructured.Unstructured) *Object {
	o := newStub(u)
	o.UID = u.GetUID()
	o.Content = newContent(u, o.ID)
	return o
}

func newStub(u *unstructured.Unstructured) *Object {
	gvk, annotations := u.GroupVersionKind(), u.GetAnnotations()
	claim, _ := render.ClaimedBy(u.GetLabels(), annotations)
	o := &Object{
		ID:              sharedIdentity(render.Identity{Group: gvk.Group, Kind: gvk.Kind, Namespace: u.GetNamespace(), Name: u.GetName()}),
		ResourceVersion: u.GetResourceVersion(),
		wishes:          unique.Make(render.ReadWishes(annotations)),
		claim:           unique.Make(claim),
		Scales:          scaledBy(u),
		System:          render.SystemOf(u),
	}
	if claim != "" || o.wishes.Value() != (render.Wishes{}) { // an Event may be about it
		o.UID = u.GetUID()
	}
	return o
}

func newContent(u *unstructured.Unstructured, id render.Identity) *Content {
	return guardedContent(func() (*render.Manifest, error) { return render.NewManifest(u, id, u.GetUID()) })
}

func guardedContent(of func() (*render.Manifest, error)) *Content {
	return guarded(
		func() *Content {
			manifest, err := of()
			if err != nil {
				return &Content{Fault: err.Error()}
			}
			return &Content{Manifest: manifest}
		},
		func(cause string) *Content { return &Content{Fault: cause} })
}

// KeepObject is what the informers of objects reduce them by. It depends on nothing but the
// object, for an informer may hand one through it at any time, and twice: whole is told of
// those whose content is worth keeping elsewhere.
func KeepObject(isWorth func(*Object) bool, whole func(*Object)) func(*unstructured.Unstructured) *Object {
	return func(u *unstructured.Unstructured) *Object {
		o := NewObject(u)
		if o.Content == nil && isWorth(o) {
			full := *o
			full.UID, full.Content = u.GetUID(), newContent(u, o.ID)
			whole(&full)
		}
		return o
	}
}
