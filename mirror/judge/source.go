package judge

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// Source is what an object asks for, with the current defaults of its Namespace. It is
// made for one judgement and not kept.
type Source struct {
	ID              render.Identity
	UID             types.UID
	ResourceVersion string
	// Wishes are the object's own, over those of its Namespace.
	Wishes render.Wishes
	// Owner is the object whose controller made it, without its namespace; the zero value if there is none.
	Owner render.Identity
	// Asks: the object, or its Namespace, says where to mirror it, and it is not Leaving.
	Asks bool
	// Foreground: once it is deleted, it is to stay until all its Works are gone.
	Foreground bool
	// Finalized: it has our finalizer. Deleted is when its deletion was requested; zero if it was
	// not. Leaving: it is being deleted in the foreground, so it wants no Works, whatever it says;
	// also while other finalizers keep it after ours is gone.
	Finalized bool
	Deleted   time.Time
	Leaving   bool
	// Terms are the parsed targets; the zero value matches no cluster.
	Terms render.Terms
	// Leaders are the objects that it follows, and those that they follow; Doubt is why it is not known where some of them go: a Work
	// that nothing else asks for then stays.
	Leaders []render.Identity
	Doubt   string
	// Led are the clusters where a leader has a Work: while that is there, its object may be.
	Led map[string]bool
	// Options are everything else that it asks for.
	Options render.Options
	// Differences are what it asks for that makes its Works differ by cluster.
	Differences render.Differences
	// Waves are the order in which a change reaches its clusters.
	Waves render.Waves
	// Written is when its metadata or its spec was last written; zero if that is not known.
	Written time.Time
	// Template is what its Works are made from; nil if the source does not ask, is refused
	// or is Unread.
	Template *render.Template
	// Refusal is why the source as a whole cannot be mirrored; nil if it can.
	Refusal *Refusal
	// Unread: it asks, but its content is not cached and must be read.
	Unread bool
}

// NewSource returns what an object asks for. It takes ownership of u.
func NewSource(u *unstructured.Unstructured, defaults render.Wishes) *Source {
	return SourceOf(state.NewWholeObject(u), defaults)
}

// SourceOf returns what an object asks for if its Namespace has these defaults.
func SourceOf(o *state.Object, defaults render.Wishes) *Source {
	wishes := effectiveWishes(o, defaults)
	s := &Source{
		ID: o.ID, UID: o.UID, ResourceVersion: o.ResourceVersion, Wishes: wishes, Asks: asks(o, wishes),
		Finalized: o.Finalized, Deleted: o.Deleted(), Written: o.Written(), Foreground: isForeground(o, wishes), Leaving: isLeaving(o, wishes),
	}
	s.Owner, _ = o.Owner()
	if s.Asks {
		s.read(o)
		return s
	}
	s.Options, _ = wishes.Options()
	err := wishes.Check()
	switch {
	case s.Leaving: // as if it did not exist
	case o.Claim() != "":
		s.Refusal = &Refusal{Reason: ClaimedByPolicy, Message: o.Claim() + " propagates this object"} // any Works of it belong to the policy
	case wishes.OptOut():
		s.Refusal = noOptOut
	case err != nil: // what it says about the deletion of its Works may be a mistake
		s.Refusal = invalid(err)
	}
	return s
}

// Asks reports whether an object asks to be mirrored if its Namespace has these defaults.
func Asks(o *state.Object, defaults render.Wishes) bool {
	return asks(o, effectiveWishes(o, defaults))
}

func asks(o *state.Object, wishes render.Wishes) bool {
	return wishes.Ask() && !wishes.OptOut() && !isLeaving(o, wishes)
}

// isForeground reports whether an object is to be deleted in the foreground. A value that cannot be
// read changes nothing: an object that has our finalizer keeps it.
func isForeground(o *state.Object, wishes render.Wishes) bool {
	asks, err := wishes.Foreground()
	return asks || err != nil && o.Finalized
}

// MayHoldFinalizer reports whether an object has our finalizer, or is to get it, in a Namespace with these defaults.
func MayHoldFinalizer(o *state.Object, defaults render.Wishes) bool {
	return o.Finalized || isForeground(o, effectiveWishes(o, defaults))
}

func isLeaving(o *state.Object, wishes render.Wishes) bool {
	return !o.Deleted().IsZero() && (o.Finalized || isForeground(o, wishes))
}

func effectiveWishes(o *state.Object, defaults render.Wishes) render.Wishes {
	own := o.Wishes()
	if o.ID.GroupKind() == state.DefinitionKind {
		return own.Following(defaults)
	}
	if !own.Ask() && o.System != render.NotSystem {
		return own // a Namespace's default never covers those
	}
	return own.Over(defaults)
}

// noOptOut refuses a source that opts out where there is nothing to opt out of: it may be a
// mistake, so existing Works stay.
var noOptOut = &Refusal{Reason: InvalidAnnotation, Message: render.ClustersAnnotation + ": an empty value opts out of the Namespace's default, but there is none; to stop mirroring, remove the annotation"}

// Reserve refuses a source whose namespace belongs to the system of every member, unless a policy propagates it: then that one
// gets its Works.
func (s *Source) Reserve() {
	if s.Refusal != nil && s.Refusal.Reason == ClaimedByPolicy {
		return
	}
	s.Terms, s.Options, s.Differences, s.Waves, s.Template, s.Unread = render.Terms{}, render.Options{}, render.Differences{}, render.Waves{}, nil, false
	s.refuse(ReservedNamespace, fmt.Sprintf("objects in namespace %q are never mirrored: it belongs to the system", s.ID.Namespace))
}

// read parses the wishes of an object that asks.
func (s *Source) read(o *state.Object) {
	if o.System == render.SystemOwn {
		s.refuse(ForbiddenResource, "every cluster creates objects like this itself, and they must not be replaced")
		return
	}
	if claim := o.Claim(); claim != "" {
		s.Refusal = &Refusal{Reason: ClaimedByPolicy, Message: claim + " propagates this object", Advice: ClaimedByPolicy.Hint()}
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
	s.Differences, _ = s.Wishes.Differences()
	s.Waves, _ = s.Wishes.Waves()
	if s.Unread = o.Content == nil; s.Unread {
		return
	}
	s.Template = o.Content.Manifest.Template(s.Options)
}

// Follow adds the clusters of a leader, and what is not known about these.
func (s *Source) Follow(leader *Source) {
	switch {
	case leader.Refusal != nil:
		s.Doubt = fmt.Sprintf("%s, which it follows, is refused: %s: %s", leader.ID, leader.Refusal.Reason, leader.Refusal.Message)
	case leader.Doubt != "":
		s.Doubt = leader.Doubt
	}
	if leader.Asks {
		s.Terms = s.Terms.Or(leader.Terms)
	}
}

// RefuseCircle refuses a source that follows itself, or what does.
func (s *Source) RefuseCircle(circle []render.Identity) {
	var names []string
	for _, id := range circle {
		names = append(names, id.String())
	}
	s.Terms, s.Template, s.Unread = render.Terms{}, nil, false
	s.refuse(InvalidAnnotation, render.FollowsAnnotation+": objects follow each other in a circle: "+strings.Join(names, ", "))
}

func invalid(err error) *Refusal {
	return &Refusal{Reason: InvalidAnnotation, Message: err.Error(), Elsewhere: errors.Is(err, render.ErrInherited)}
}

func (s *Source) refuse(reason Reason, message string) {
	s.Refusal = &Refusal{Reason: reason, Message: message}
}
