package state

import (
	"slices"
	"time"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/render"
)

// Object is what the cache keeps of an object of a watched resource: what it says
// itself, and nothing that depends on anything else. What it asks for is read from it
// when it is judged; see judge.SourceOf. Very many objects ask for nothing: each takes
// 144 bytes, and one more field would make it 160, the next size of the allocator.
type Object struct {
	ID render.Identity
	// UID is empty if the object has neither wishes nor a claim.
	UID             types.UID
	ResourceVersion string
	// Many objects share these values.
	wishes unique.Handle[render.Wishes]
	claim  unique.Handle[string]
	// Content is what its Works carry; nil if it was not kept.
	Content *Content
	// related is nil for most objects.
	related *related
	// System says whether it belongs to a cluster's own system, and how.
	System render.System
	// Finalized: it has our finalizer.
	Finalized bool
	// Orphans: it is being deleted, and what it owns is to stay.
	Orphans bool
	// deleted is when its deletion was requested; 0 if it was not. written is when its metadata or
	// spec was last written; 0 if that was not kept, as for an object that does not choose clusters.
	deleted, written seconds
}

// Wishes returns what the object itself asks for.
func (o *Object) Wishes() render.Wishes { return o.wishes.Value() }

// Claim returns the name of the policy that claims the object; empty if none does.
func (o *Object) Claim() string { return o.claim.Value() }

// Needs returns the objects that its Pods need, if its content was kept.
func (o *Object) Needs() []render.Identity {
	if o.Content == nil || o.Content.Manifest == nil {
		return nil
	}
	return o.Content.Manifest.Needs()
}

// Variables returns the names of the variables in its content, if that was kept.
func (o *Object) Variables() []string {
	if o.Content == nil || o.Content.Manifest == nil {
		return nil
	}
	return o.Content.Manifest.Variables()
}

// Terms returns the terms by which the object itself chooses clusters; none if they cannot
// be parsed.
func (o *Object) Terms() render.Terms {
	if !o.Chooses() {
		return render.Terms{}
	}
	terms, _ := o.alone().Terms()
	return terms
}

// Deleted returns when the deletion of the object was requested; the zero value if it was not.
func (o *Object) Deleted() time.Time {
	if o.deleted == 0 {
		return time.Time{}
	}
	return o.deleted.time()
}

// Written returns when the metadata or the spec of the object was last written; the zero value if
// that is not known.
func (o *Object) Written() time.Time {
	if o.written == 0 {
		return time.Time{}
	}
	return o.written.time()
}

// Chooses reports whether the object itself says where to mirror it.
func (o *Object) Chooses() bool {
	alone := o.alone()
	return alone.Ask() && !alone.OptOut()
}

// alone returns what it asks for if its Namespace says nothing: an object that opts out of a
// list of clusters may still ask by a selector.
func (o *Object) alone() render.Wishes { return o.Wishes().Over(render.Wishes{}) }

// Content is what an object looks like in a member.
type Content struct {
	// Manifest is nil if none can be made from the object; Fault is the reason.
	Manifest *render.Manifest
	Fault    string
}

// NewObject reduces an object to what the cache keeps of it. It keeps the content only if the
// object itself asks to be mirrored. It takes ownership of u.
func NewObject(u *unstructured.Unstructured) *Object {
	o := newStub(u)
	if o.Chooses() {
		o.written = lastWritten(u)
		o.Content = newContent(u, o.ID)
	}
	return o
}

// NewWholeObject is like NewObject, but always keeps the content.
func NewWholeObject(u *unstructured.Unstructured) *Object {
	o := newStub(u)
	o.UID, o.written = u.GetUID(), lastWritten(u)
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
		related:         relatedTo(u),
		System:          render.SystemOf(u),
		Finalized:       slices.Contains(u.GetFinalizers(), render.WorksFinalizer),
	}
	if deleted := u.GetDeletionTimestamp(); deleted != nil {
		o.deleted = secondsOf(deleted.Time)
		o.Orphans = slices.Contains(u.GetFinalizers(), metav1.FinalizerOrphanDependents)
	}
	if claim != "" || o.wishes.Value() != (render.Wishes{}) || o.Finalized { // an Event may refer to it, or a write
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

// KeepObject returns the function by which informers reduce objects. Its result depends on
// nothing but the object, since an informer may call it at any time, and twice. It passes
// objects whose content is worth keeping elsewhere to whole.
func KeepObject(isWorth func(*Object) bool, whole func(*Object)) func(*unstructured.Unstructured) *Object {
	return func(u *unstructured.Unstructured) *Object {
		o := NewObject(u)
		if o.Content == nil && isWorth(o) {
			full := *o
			full.UID, full.written = u.GetUID(), lastWritten(u)
			full.Content = newContent(u, o.ID)
			whole(&full)
		}
		return o
	}
}
