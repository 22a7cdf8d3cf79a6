package mirror

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/write"
	"github.com/karmada-target/karmada-mirror/render"
)

const (
	// lingerGrace is how long a source that is being deleted in the foreground may have Works before
	// an Event says what it waits for, and lingerPeriod how often that is looked at again.
	lingerGrace  = 10 * time.Second
	lingerPeriod = time.Minute
	// releasePeriod is when to look again for Works that a live read has found and the cache has not.
	releasePeriod = time.Second
	// finalizerPause is the shortest time after which a finalizer that another user has removed is set
	// again. It doubles each time, up to maxFinalizerPause.
	finalizerPause    = time.Second
	maxFinalizerPause = 30 * time.Second
)

// finalizers sets our finalizer on sources that ask to be deleted in the foreground, and removes it.
type finalizers struct {
	*Controller
	denied *denials
	// undone remembers, by UID, on which sources the finalizer was set, to set it less and less
	// often if another user keeps removing it.
	undone *flowcontrol.Backoff
}

func newFinalizers(c *Controller) *finalizers {
	undone := flowcontrol.NewBackOff(finalizerPause, maxFinalizerPause)
	undone.Clock = c.Clock
	return &finalizers{Controller: c, denied: newDenials(c.Clock), undone: undone}
}

// apply makes the finalizer of a judged source what it should be. It returns what keeps it from that
// until a right is granted or the object changes; nil for nothing. Call it before the Works are written, so
// that none exists while its source could go.
func (f *finalizers) apply(ctx context.Context, j judge.Judgement, o *write.Outcome) (*judge.Refusal, error) {
	change := j.Finalizer()
	source, resource := j.Facts.Source, schema.GroupVersionResource{}
	if change != judge.LeaveFinalizer {
		resource, _ = f.caches.ServedAs(source.ID.GroupKind())
	}
	if resource.Empty() {
		return nil, nil
	}
	if wait := f.denied.wait(resource.GroupResource()); wait > 0 {
		o.RetryAfter(wait)
		return finalizerDenied(change, resource), nil
	}
	if later, err := f.postpones(ctx, source, change); later > 0 || err != nil {
		o.RetryAfter(later)
		return nil, err
	}
	err := f.set(ctx, resource, source.ID, source.UID, change == judge.AddFinalizer)
	switch {
	case err == nil:
		f.denied.end(resource.GroupResource())
	case apierrors.IsForbidden(err) && !write.IsDenied(err):
		f.denied.begin(resource.GroupResource())
		o.RetryAfter(denialPeriod)
		return finalizerDenied(change, resource), nil
	case write.IsDenied(err), apierrors.IsInvalid(err):
		o.RetryAfter(denialPeriod)
		return &judge.Refusal{Reason: judge.NotAuthorized, Message: fmt.Sprintf("the API server does not let karmada-mirror %s the finalizer %s: %v", verbFor(change), render.WorksFinalizer, err)}, nil
	}
	return nil, err
}

// postpones returns how long to wait before a change; 0 for not at all.
func (f *finalizers) postpones(ctx context.Context, source *judge.Source, change judge.FinalizerChange) (time.Duration, error) {
	switch uid := string(source.UID); change {
	case judge.AddFinalizer:
		if f.undone.IsInBackOffSinceUpdate(uid, f.Clock.Now()) {
			return f.undone.Get(uid), nil
		}
	case judge.ReleaseSource:
		works, err := f.caches.LiveWorks(ctx, source.ID)
		if err == nil && len(works) > 0 {
			return releasePeriod, nil
		}
		return 0, err
	}
	return 0, nil
}

// set makes our finalizer be on an object with that UID, or not.
func (f *finalizers) set(ctx context.Context, resource schema.GroupVersionResource, id render.Identity, uid types.UID, wanted bool) error {
	changed, err := write.SetFinalizer(ctx, f.Dynamic.Resource(resource).Namespace(id.Namespace), id.Name, uid, wanted)
	if changed {
		f.logger(id).Info("wrote a finalizer", zap.String("finalizer", render.WorksFinalizer), zap.Bool("set", wanted))
	}
	if changed && wanted {
		f.undone.Next(string(uid), f.Clock.Now())
	}
	return err
}

func verbFor(change judge.FinalizerChange) string {
	if change == judge.AddFinalizer {
		return "set"
	}
	return "remove"
}

// finalizerDenied says that a right is missing, what follows, and how to grant it.
func finalizerDenied(change judge.FinalizerChange, resource schema.GroupVersionResource) *judge.Refusal {
	follows := "so the object is deleted in the background"
	if change != judge.AddFinalizer {
		follows = "which keeps the object from being deleted"
	}
	return &judge.Refusal{Reason: judge.NotAuthorized, Message: fmt.Sprintf("karmada-mirror may not %s the finalizer %s, %s: to a ClusterRole with the label %s, add the rule "+
		"{apiGroups: [%q], resources: [%s], verbs: [patch]}", verbFor(change), render.WorksFinalizer, follows, aggregationLabel, resource.Group, resource.Resource)}
}

// notices returns the notices of a judgement that are to be reported now: that a source waits for its
// Works is normal at first.
func (f *finalizers) notices(j judge.Judgement, o *write.Outcome) []judge.Refusal {
	source := j.Facts.Source
	if source == nil || !source.Leaving {
		return j.Verdict.Notices
	}
	early := lingerGrace - f.Clock.Since(source.Deleted)
	if early <= 0 {
		o.RetryAfter(wait.Jitter(lingerPeriod, 0.2))
		return j.Verdict.Notices
	}
	o.RetryAfter(early)
	return slices.DeleteFunc(slices.Clone(j.Verdict.Notices), func(n judge.Refusal) bool { return n.Reason == judge.DeletionPending })
}
