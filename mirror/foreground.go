package mirror

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/karmada-target/karmada-mirror/mirror/gather"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/memory"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/mirror/write"
	"github.com/karmada-target/karmada-mirror/render"
)

const (
	// denialPeriod is how long objects of a resource that may not be written wait for a retry, and refusalPeriod how
	// long an object does of which something refuses the write.
	denialPeriod  = 30 * time.Second
	refusalPeriod = 5 * time.Minute
	// lingerGrace is how long a source that is being deleted in the foreground may have Works before
	// an Event says what it waits for, and lingerPeriod how often that is looked at again.
	lingerGrace  = 10 * time.Second
	lingerPeriod = time.Minute
	// releasePeriod is when to look again at a source that has changed meanwhile, and unseenPeriod for Works
	// that the cache does not show: each of them is read.
	releasePeriod = time.Second
	unseenPeriod  = 5 * time.Second
	// finalizerPause is the shortest time after which a finalizer that another user has removed is set
	// again. It doubles each time, up to maxFinalizerPause.
	finalizerPause    = time.Second
	maxFinalizerPause = 30 * time.Second
	// contestedPause is the pause after which it is reported that it is removed each time.
	contestedPause = 8 * time.Second
)

// finalizers sets our finalizer on sources that ask to be deleted in the foreground, and removes it.
type finalizers struct {
	*Controller
	// denied is where the finalizer may not be set, kept where it may not be removed; unset and refused are the objects of which
	// something refuses that.
	denied, kept   *memory.Denials[place]
	unset, refused *memory.Denials[render.Identity]
	// undone remembers, by UID, on which sources the finalizer was set, to set it less and less
	// often if another user keeps removing it.
	undone *flowcontrol.Backoff
}

// place is where the daemon may have a right, or not.
type place struct {
	schema.GroupResource
	namespace string
}

func newFinalizers(c *Controller) *finalizers {
	undone := flowcontrol.NewBackOff(finalizerPause, maxFinalizerPause)
	undone.Clock = c.Clock
	return &finalizers{Controller: c, undone: undone,
		denied: memory.NewDenials[place](c.Clock, denialPeriod), kept: memory.NewDenials[place](c.Clock, denialPeriod),
		unset: memory.NewDenials[render.Identity](c.Clock, refusalPeriod), refused: memory.NewDenials[render.Identity](c.Clock, refusalPeriod)}
}

// finalizing is what has come of the finalizer of a source.
type finalizing struct {
	// denied is why it is not as it should be, until a right is granted or the object changes; nil if
	// it is, or will soon be.
	denied *judge.Refusal
	// early: it is not set yet, so that no Work may be created.
	early bool
}

// apply makes the finalizer of a judged source what it should be, before the Works are written.
func (f *finalizers) apply(ctx context.Context, j judge.Judgement, o *write.Outcome) finalizing {
	change := j.Finalizer()
	if !j.Facts.Live && j.ShowsFinalizer() {
		f.memory.ShownFinalizer(j.Facts.ID)
	}
	if change == judge.LeaveFinalizer {
		if j.Facts.Source != nil || j.Facts.Unknown == "" { // else it may have left the configuration
			f.refused.End(j.Facts.ID)
		}
		return finalizing{}
	}
	resource, ok := f.caches.ServedAs(j.Facts.ID.GroupKind())
	switch {
	case !ok:
		return finalizing{}
	case change == judge.AddFinalizer:
		return f.add(ctx, j, resource, o)
	}
	return f.remove(ctx, j.Facts.ID, resource, o)
}

func (f *finalizers) add(ctx context.Context, j judge.Judgement, resource schema.GroupVersionResource, o *write.Outcome) finalizing {
	source, at := j.Facts.Source, place{resource.GroupResource(), j.Facts.ID.Namespace}
	if wait, why := f.denied.Wait(at, source.ID); why != nil {
		o.RetryAfter(wait)
		return finalizing{denied: why}
	}
	if wait, why := f.unset.Wait(source.ID, source.ID); why != nil {
		o.RetryAfter(wait)
		return finalizing{denied: why}
	}
	if uid := string(source.UID); f.undone.IsInBackOffSinceUpdate(uid, f.Clock.Now()) {
		o.RetryAfter(f.undone.Get(uid))
		return finalizing{denied: f.contested(source)}
	}
	switch err := f.set(ctx, resource, source.ID, source.UID, "", true); {
	case err == nil:
		f.denied.End(at)
		f.unset.End(source.ID)
		return finalizing{denied: f.contested(source)}
	case errors.Is(err, write.ErrOtherVersion) || gather.ProvesAbsence(err, source.ID.Name): // there will be an event
		o.RetryAfter(releasePeriod)
		return finalizing{early: true}
	case apierrors.IsForbidden(err) && !write.IsDenied(err):
		why := mayNotSet(resource)
		f.denied.Begin(at, source.ID, why)
		o.RetryAfter(denialPeriod)
		return finalizing{denied: why}
	case write.RefusedBy(err) != "":
		why := refusedFinalizer("set", "so the object is deleted in the background", err)
		f.unset.Begin(source.ID, source.ID, why)
		o.RetryAfter(refusalPeriod)
		return finalizing{denied: why}
	default:
		o.Fail(fmt.Errorf("cannot set the finalizer of source %q: %w", source.ID, err))
		return finalizing{early: true}
	}
}

// contested says that the finalizer of a source is removed each time; nil if it is not.
func (f *finalizers) contested(source *judge.Source) *judge.Refusal {
	if f.undone.Get(string(source.UID)) < contestedPause {
		return nil
	}
	return &judge.Refusal{Reason: judge.NotAuthorized, Message: fmt.Sprintf("something removes the finalizer %s each time it is set, such as an admission webhook or another controller, "+
		"so the object is deleted in the background", render.WorksFinalizer)}
}

// remove removes the finalizer of a source that need not have it by a live read, if no Work of it may
// be left.
func (f *finalizers) remove(ctx context.Context, id render.Identity, resource schema.GroupVersionResource, o *write.Outcome) finalizing {
	if wait, why := f.keeps(resource, id); why != nil {
		o.RetryAfter(wait)
		return finalizing{denied: why}
	}
	facts, err := f.caches.LiveFacts(ctx, id)
	if err != nil {
		o.Fail(err)
		return finalizing{}
	}
	j := judge.On(facts)
	if j.Finalizer() != judge.RemoveFinalizer {
		o.RetryAfter(wait.Jitter(refutedPeriod, 0.2)) // there need not be an event when that changes
		return finalizing{}
	}
	mayBeLeft, err := f.mayHaveWorks(ctx, j)
	if err != nil {
		o.Fail(err)
		return finalizing{}
	}
	if mayBeLeft {
		o.RetryAfter(wait.Jitter(unseenPeriod, 0.2))
		return finalizing{}
	}
	switch err := f.set(ctx, resource, id, facts.Source.UID, facts.Source.ResourceVersion, false); {
	case err == nil || gather.ProvesAbsence(err, id.Name):
		f.refused.End(id)
		return finalizing{}
	case errors.Is(err, write.ErrOtherVersion):
		o.RetryAfter(releasePeriod)
		return finalizing{}
	case write.RefusedBy(err) != "":
		wait, why := f.keep(&memory.Departure{Resource: resource, At: f.Clock.Now()}, id, err)
		o.RetryAfter(wait)
		return finalizing{denied: why}
	default:
		o.Fail(fmt.Errorf("cannot remove the finalizer of source %q: %w", id, err))
		return finalizing{}
	}
}

// keeps returns what keeps the finalizer on an object, and for how long not to try to remove it; nil for nothing.
func (f *finalizers) keeps(resource schema.GroupVersionResource, id render.Identity) (wait time.Duration, why *judge.Refusal) {
	if wait, why = f.kept.Wait(place{resource.GroupResource(), id.Namespace}, id); why == nil {
		wait, why = f.refused.Wait(id, id)
	}
	return wait, why
}

// keep notes what keeps the finalizer on an object that leaves, and reports it now and again. It returns when to try again.
func (f *finalizers) keep(left *memory.Departure, id render.Identity, err error) (wait time.Duration, why *judge.Refusal) {
	var tell bool
	switch {
	case errors.Is(err, errLate):
		wait, why = refusalPeriod, &judge.Refusal{Reason: judge.NotAuthorized, Message: fmt.Sprintf(
			"it left the configuration at %s with the finalizer %s, which was not removed in time, and another daemon may use: karmada-mirror purge --finalizers removes it", left.At.UTC().Format(time.RFC3339), render.WorksFinalizer)}
		tell = f.refused.BeginAt(left.At, id, id, why)
	case apierrors.IsForbidden(err) && !write.IsDenied(err):
		wait, why = denialPeriod, mayNotRemove(left.Resource)
		tell = f.kept.Begin(place{left.Resource.GroupResource(), id.Namespace}, id, why)
	default:
		wait, why = refusalPeriod, refusedFinalizer("remove", "which keeps the object from being deleted", err)
		tell = f.refused.Begin(id, id, why)
	}
	if tell {
		f.logger(id).Warn("cannot remove a finalizer", zap.String("reason", why.Message))
	}
	return wait, why
}

// mayHaveWorks reports whether a source that keeps its finalizer for its Works may have one that the
// cache does not show: one of ours, though its creation may have had no answer, one that the last leader has
// written, or one that a list lacked.
func (f *finalizers) mayHaveWorks(ctx context.Context, j judge.Judgement) (bool, error) {
	switch id := j.Facts.ID; {
	case !j.AwaitsWorks():
		return false, nil
	case f.memory.AwaitsAny(id):
		return true, nil
	case f.memory.MayHaveCreated(id), state.IsOlder(f.caches.WorksVersion(), *f.fence.Load()):
		if works, err := f.caches.LiveWorks(ctx, id); err != nil || len(works) > 0 {
			return true, err
		}
	}
	return f.caches.HasWorks(ctx, j.Facts.Source)
}

// set makes our finalizer be on an object, or not. If the object has left the configuration
// meanwhile, it is not set for good.
func (f *finalizers) set(ctx context.Context, resource schema.GroupVersionResource, id render.Identity, uid types.UID, version string, wanted bool) error {
	changed, err := write.SetFinalizer(ctx, f.Dynamic.Resource(resource).Namespace(id.Namespace), id.Name, uid, version, wanted)
	if changed && err == nil {
		f.logger(id).Info("wrote a finalizer", zap.String("finalizer", render.WorksFinalizer), zap.Bool("set", wanted))
		if wanted {
			f.undone.Next(string(uid), f.Clock.Now())
		} else {
			f.kept.End(place{resource.GroupResource(), id.Namespace})
		}
	}
	if wanted && (changed || err == nil) { // the last leader may have set it
		left := memory.Departure{Resource: resource, UID: uid, At: f.Clock.Now()}
		f.memory.SetFinalizer(id, left)
		if !f.caches.Includes(resource.GroupResource(), id.Namespace) {
			f.memory.Depart(map[render.Identity]memory.Departure{id: left})
			f.enqueue(id)
		}
	}
	return err
}

// mayNotSet says that a right is missing, what follows, and how to grant it; mayNotRemove the same.
func mayNotSet(resource schema.GroupVersionResource) *judge.Refusal {
	return missingRight(resource, "set", "so the object is deleted in the background")
}

func mayNotRemove(resource schema.GroupVersionResource) *judge.Refusal {
	return missingRight(resource, "remove", "which keeps the object from being deleted")
}

func missingRight(resource schema.GroupVersionResource, verb, follows string) *judge.Refusal {
	return &judge.Refusal{Reason: judge.NotAuthorized, Message: fmt.Sprintf("karmada-mirror may not %s the finalizer %s, %s: to a ClusterRole with the label %s, add the rule "+
		"{apiGroups: [%q], resources: [%s], verbs: [patch]}", verb, render.WorksFinalizer, follows, aggregationLabel, resource.Group, resource.Resource)}
}

func refusedFinalizer(verb, follows string, err error) *judge.Refusal {
	return &judge.Refusal{Reason: judge.NotAuthorized, Message: fmt.Sprintf("%s does not let karmada-mirror %s the finalizer %s, %s", write.RefusedBy(err), verb, render.WorksFinalizer, follows)}
}

// notices returns the notices of a judgement that are to be reported now, and others if they are not
// nil. That a source waits for its Works is normal at first, and then reported at most once in each
// lingerPeriod: what it waits for changes with each member.
func (f *finalizers) notices(j judge.Judgement, o *write.Outcome, others ...*judge.Refusal) []judge.Refusal {
	id, notices := j.Facts.ID, slices.Clone(j.Verdict.Notices)
	for _, other := range others {
		if other != nil {
			notices = judge.AddRefusal(notices, *other)
		}
	}
	isPending := func(n judge.Refusal) bool { return n.Reason == judge.DeletionPending }
	i := slices.IndexFunc(notices, isPending)
	if i < 0 {
		f.memory.EndPending(id)
		return notices
	}
	if early := lingerGrace - f.Clock.Since(j.Facts.Source.Deleted); early > 0 {
		o.RetryAfter(early)
		return slices.DeleteFunc(notices, isPending)
	}
	if j.Lingers() {
		o.RetryAfter(wait.Jitter(lingerPeriod, 0.2))
	}
	notices[i] = f.memory.Pending(id, notices[i], lingerPeriod)
	return notices
}
