package judge

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// Source is what an object asks for, given the defaults of its Namespace as they are
// now. It is made for a judgement and not kept.
type Source struct {
	ID              render.Identity
	UID             types.UID
	ResourceVersion string
	// Wishes are the object's own, over those of its Namespace.
	Wishes render.Wishes
	// Asks: the object says where to mirror it to, or its Namespace does.
	Asks bool
	// Terms are the parsed targets; the zero value matches no cluster.
	Terms render.Terms
	// Options are the rest of what it asks for.
	Options render.Options
	// Template is what its Works are made from; nil for a source that does not ask, is
	// refused or is Unread.
	Template *render.Template
	// Refusal is why the source as a whole cannot be mirrored; nil if it can.
	Refusal *Refusal
	// Unread: it asks, and its content has not been kept: it must be read.
	Unread bool
}

// NewSource reads what an object of which it takes ownership asks for.
func NewSource(u *unstructured.Unstructured, defaults render.Wishes) *Source {
	return SourceOf(state.NewWholeObject(u), defaults)
}

// SourceOf is what an object asks for if its Namespace has these defaults.
func SourceOf(o *state.Object, defaults render.Wishes) *Source {
	wishes := effectiveWishes(o, defaults)
	s := &Source{ID: o.ID, UID: o.UID, ResourceVersion: o.ResourceVersion, Wishes: wishes, Asks: wishes.Ask() && !wishes.OptOut()}
	if s.Asks {
		s.read(o)
		return s
	}
	var err error
	s.Options, err = wishes.Options()
	switch {
	case o.Claim() != "":
		s.Refusal = &Refusal{Reason: ClaimedByPolicy, Message: o.Claim() + " propagates this object"} // if there are Works of it, they are the policy's
	case wishes.OptOut():
		s.Refusal = noOptOut
	case err != nil: // what its Works shall do when they are deleted may be a mistake
		s.Refusal = invalid(err)
	}
	return s
}

// Asks reports whether an object asks to be mirrored if its Namespace has these defaults.
func Asks(o *state.Object, defaults render.Wishes) bool {
	wishes := effectiveWishes(o, defaults)
	return wishes.Ask() && !wishes.OptOut()
}

func effectiveWishes(o *state.Object, defaults render.Wishes) render.Wishes {
	own := o.Wishes()
	if !own.Ask() && o.System != render.NotSystem {
		return own // no Namespace means those
	}
	return own.Over(defaults)
}

// noOptOut is the refusal of all that opt out where there is nothing to opt out of: it
// may be a mistake, so that what is there stays.
var noOptOut = &Refusal{Reason: InvalidAnnotation, Message: render.ClustersAnnotation + ": it names no cluster, and the Namespace has no default to opt out of; to stop mirroring, remove the annotation"}

// read parses what an object asks for that does ask.
func (s *Source) read(o *state.Object) {
	if render.ReservedNamespace(s.ID.Namespace) {
		s.refuse(ReservedNamespace, fmt.Sprintf("objects in namespace %q are never mirrored: it belongs to the system", s.ID.Namespace))
		return
	}
	if o.System == render.SystemOwn {
		s.refuse(ForbiddenResource, "every cluster makes an object like this of its own, which must not be replaced")
		return
	}
	if claim := o.Claim(); claim != "" {
		s.refuse(ClaimedByPolicy, claim+" propagates this object: remove either the policy or the annotation")
		return
	}
	if err := s.Wishes.Check(); err != nil {
		s.Refusal = invalid(err)
		return
	}
	if o.Content != nil && o.Content.Manifest == nil {
		s.refuse(RenderFailed, o.Content.Fault)
		return
	}
	s.Terms, _ = s.Wishes.Terms()
	s.Options, _ = s.Wishes.Options()
	if s.Unread = o.Content == nil; s.Unread {
		return
	}
	s.Template = o.Content.Manifest.With(s.Options)
}

func invalid(err error) *Refusal {
	return &Refusal{Reason: InvalidAnnotation, Message: err.Error(), Elsewhere: errors.Is(err, render.ErrInherited)}
}

func (s *Source) refuse(reason Reason, message string) {
	s.Refusal = &Refusal{Reason: reason, Message: message}
}
