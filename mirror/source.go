package mirror

import (
	"errors"
	"fmt"
	"unique"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/watch"
)

// Source is what the cache keeps of an object of a watched resource. An object
// that does not ask to be mirrored is kept as a stub: its identity and resource
// version, and whether a policy claims it.
type Source struct {
	ID              render.Identity
	UID             types.UID
	ResourceVersion string
	// Asks: the object says where to mirror it to, or its Namespace does.
	Asks bool
	// defaults are those of its Namespace when it was read.
	defaults unique.Handle[render.Wishes]
	// Terms are the parsed targets; the zero value matches no cluster.
	Terms render.Terms
	// Template is what is written to each target; nil for a stub and for a
	// source that is refused.
	Template *render.Template
	// Refusal is why the source as a whole cannot be mirrored; nil if it can.
	Refusal *Refusal
}

// NewSource reduces an object to what is kept of it, given the defaults of its
// Namespace. It takes ownership of obj.
func NewSource(obj *unstructured.Unstructured, defaults render.Wishes) *Source {
	return newSource(obj, defaults, readSource)
}

func newSource(obj *unstructured.Unstructured, defaults render.Wishes, read func(*unstructured.Unstructured, render.Wishes, Source) *Source) *Source {
	own := render.ReadWishes(obj.GetAnnotations())
	wishes := own.Over(defaults)
	if !own.Ask() && render.SystemOf(obj) != render.NotSystem {
		wishes = own // no Namespace means those
	}
	stub := newStub(obj, wishes)
	stub.defaults = unique.Make(defaults)
	return guarded(
		func() *Source { return read(obj, wishes, *stub) },
		func(cause string) *Source { return stub.refuse(RenderFailed, cause) })
}

// isReadWith reports whether the Namespace had these defaults when s was read. They
// mean nothing where nothing is mirrored.
func (s *Source) isReadWith(defaults render.Wishes) bool {
	return s.defaults == unique.Make(defaults)
}

// claimed is the refusal of all that do not ask and that a policy propagates: if
// there are Works of them, they are the policy's.
var claimed = &Refusal{Reason: ClaimedByPolicy, Message: "a policy propagates this object"}

// noOptOut is the refusal of all that opt out where there is nothing to opt out of: it
// may be a mistake, so that what is there stays.
var noOptOut = &Refusal{Reason: InvalidAnnotation, Message: render.ClustersAnnotation + ": it names no cluster, and the Namespace has no default to opt out of; to stop mirroring, remove the annotation"}

func readSource(obj *unstructured.Unstructured, wishes render.Wishes, stub Source) *Source {
	s, annotations := &stub, obj.GetAnnotations()
	if !s.Asks {
		if _, isClaimed := render.ClaimedBy(obj.GetLabels(), annotations); isClaimed {
			s.Refusal = claimed
		} else if wishes.OptOut() {
			s.Refusal = noOptOut
		}
		return s
	}
	s.UID = obj.GetUID()
	if render.ReservedNamespace(s.ID.Namespace) {
		return s.refuse(ReservedNamespace, fmt.Sprintf("objects in namespace %q are never mirrored: it belongs to the system", s.ID.Namespace))
	}
	if render.SystemOf(obj) == render.SystemOwn {
		return s.refuse(ForbiddenResource, "every cluster makes an object like this of its own, which must not be replaced")
	}
	if label, claimed := render.ClaimedBy(obj.GetLabels(), annotations); claimed {
		return s.refuse(ClaimedByPolicy, fmt.Sprintf("a policy propagates this object (%s): remove either the policy's claim or the annotation", label))
	}
	if err := wishes.Check(); err != nil {
		s.Refusal = &Refusal{Reason: InvalidAnnotation, Message: err.Error(), elsewhere: errors.Is(err, render.ErrInherited)}
		return s
	}
	terms, _ := wishes.Terms()
	options, _ := wishes.Options()
	template, err := render.NewTemplate(obj, s.ID, s.UID, options)
	if err != nil {
		return s.refuse(RenderFailed, err.Error())
	}
	s.Terms, s.Template = terms, template
	return s
}

func newStub(obj *unstructured.Unstructured, wishes render.Wishes) *Source {
	gvk := obj.GroupVersionKind()
	return &Source{
		ID:              sharedIdentity(render.Identity{Group: gvk.Group, Kind: gvk.Kind, Namespace: obj.GetNamespace(), Name: obj.GetName()}),
		ResourceVersion: obj.GetResourceVersion(),
		Asks:            wishes.Ask() && !wishes.OptOut(),
	}
}

func (s *Source) refuse(reason Reason, message string) *Source {
	s.Refusal = &Refusal{Reason: reason, Message: message}
	return s
}

// sameMeaning reports whether a change from s to t can make no difference to
// any Work.
func (s *Source) sameMeaning(t *Source) bool {
	if s.UID != t.UID || s.Asks != t.Asks || (s.Refusal == nil) != (t.Refusal == nil) || (s.Template == nil) != (t.Template == nil) {
		return false
	}
	if s.Refusal != nil && *s.Refusal != *t.Refusal {
		return false
	}
	if s.Template != nil && s.Template.Digest() != t.Template.Digest() {
		return false
	}
	return s.Terms.Equal(t.Terms)
}

// The index of sources and Namespaces by the terms that they name.
const termIndex = "term"

func indexByTerm(obj any) ([]string, error) { return termsOf(obj).Index(), nil }

// termsOf are those of a source that is mirrored, or of a Namespace.
func termsOf(obj any) render.Terms {
	switch o := obj.(type) {
	case *Source:
		if o.Template != nil {
			return o.Terms
		}
	case *Namespace:
		return o.Terms
	}
	return render.Terms{}
}

// keepSource is the transform of the informers of sources, given the defaults of
// Namespaces. Objects of a streaming list come through it twice.
func keepSource(defaults func(namespace string) render.Wishes) cache.TransformFunc {
	return watch.Keep(func(u *unstructured.Unstructured) *Source { return NewSource(u, defaults(u.GetNamespace())) })
}
