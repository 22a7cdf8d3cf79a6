package mirror

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/render"
)

// Source is what the cache keeps of an object of a watched resource. An object
// that does not ask to be mirrored is kept as a stub: its identity and resource
// version, and whether a policy claims it.
type Source struct {
	ID              render.Identity
	UID             types.UID
	ResourceVersion string
	// Asks: the object bears the annotation karmada.target/clusters.
	Asks bool
	// Terms are the parsed targets; the zero value matches no cluster.
	Terms render.Terms
	// Template is what is written to each target; nil for a stub and for a
	// source that is refused.
	Template *render.Template
	// Refusal is why the source as a whole cannot be mirrored; nil if it can.
	Refusal *Refusal
}

// NewSource reduces an object to what is kept of it. It takes ownership of obj.
func NewSource(obj *unstructured.Unstructured) *Source {
	return newSource(obj, readSource)
}

func newSource(obj *unstructured.Unstructured, read func(*unstructured.Unstructured, Source) *Source) *Source {
	stub := newStub(obj)
	return guarded(
		func() *Source { return read(obj, *stub) },
		func(cause string) *Source { return stub.refuse(RenderFailed, cause) })
}

// claimed is the refusal of all that do not ask and that a policy propagates: if
// there are Works of them, they are the policy's.
var claimed = &Refusal{ClaimedByPolicy, "a policy propagates this object"}

func readSource(obj *unstructured.Unstructured, stub Source) *Source {
	s, annotations := &stub, obj.GetAnnotations()
	if !s.Asks {
		if _, isClaimed := render.ClaimedBy(obj.GetLabels(), annotations); isClaimed {
			s.Refusal = claimed
		}
		return s
	}
	s.UID = obj.GetUID()
	if render.ReservedNamespace(s.ID.Namespace) {
		return s.refuse(ReservedNamespace, fmt.Sprintf("objects in namespace %q are never mirrored: it belongs to the system", s.ID.Namespace))
	}
	if label, claimed := render.ClaimedBy(obj.GetLabels(), annotations); claimed {
		return s.refuse(ClaimedByPolicy, fmt.Sprintf("a policy propagates this object (%s): remove either the policy's claim or the annotation", label))
	}
	terms, err := render.ParseTerms(annotations[render.ClustersAnnotation])
	if err != nil {
		return s.refuse(InvalidAnnotation, fmt.Sprintf("%s: %v", render.ClustersAnnotation, err))
	}
	if _, selects := annotations[render.ClusterSelectorAnnotation]; selects {
		return s.refuse(InvalidAnnotation, render.ClusterSelectorAnnotation+" is not supported by this version: name the clusters in "+render.ClustersAnnotation)
	}
	options, err := render.ParseOptions(annotations)
	if err != nil {
		return s.refuse(InvalidAnnotation, err.Error())
	}
	template, err := render.NewTemplate(obj, s.ID, s.UID, options)
	if err != nil {
		return s.refuse(RenderFailed, err.Error())
	}
	s.Terms, s.Template = terms, template
	return s
}

func newStub(obj *unstructured.Unstructured) *Source {
	gvk := obj.GroupVersionKind()
	_, asks := obj.GetAnnotations()[render.ClustersAnnotation]
	return &Source{
		ID:              sharedIdentity(render.Identity{Group: gvk.Group, Kind: gvk.Kind, Namespace: obj.GetNamespace(), Name: obj.GetName()}),
		ResourceVersion: obj.GetResourceVersion(),
		Asks:            asks,
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

// The index of sources by the terms that they name.
const termIndex = "term"

func indexByTerm(obj any) ([]string, error) {
	if s, ok := obj.(*Source); ok && s.Template != nil {
		return s.Terms.Index(), nil
	}
	return nil, nil
}

// keepSource is the transform of the informers of sources. Objects of a
// streaming list come through it twice.
func keepSource(obj any) (any, error) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return NewSource(u), nil
	}
	return obj, nil
}
