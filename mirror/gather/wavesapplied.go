package gather

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/memory"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/watch"
)

// appliedIndex finds the Events about a Work.
const appliedIndex = "work"

func indexByWork(obj any) ([]string, error) {
	a := obj.(*state.Applied)
	return []string{cache.NewObjectName(a.Namespace, a.Work).String()}, nil
}

// newAppliedWatch returns the watch of the Events with which Karmada says that it has applied a Work. It is
// only needed while a wave waits for one.
func (c *Caches) newAppliedWatch(r watch.Resource) *watch.Watch {
	return c.newWatch(watch.Options{
		Resource:  r,
		Resolver:  watch.Fixed{Resource: state.EventsResource},
		Tweak:     func(o *metav1.ListOptions) { o.FieldSelector = state.AppliedEvents },
		Transform: watch.Keep(state.NewApplied),
		Indexers:  cache.Indexers{appliedIndex: indexByWork},
		Handler: watch.Handler{
			Changed: typed(func(_, after *state.Applied) {
				if after != nil { // otherwise it expires
					c.noteApplied(after)
				}
			}),
			Synced: func() {},
		},
	})
}

func (c *Caches) noteApplied(a *state.Applied) {
	if obj, exists, _ := c.works.Get(a.Namespace, a.Work); exists && c.options.Memory.AwaitsApplied(obj.(*state.Work)) {
		c.options.Handlers.Applied(obj.(*state.Work).Source)
	}
}

// CompareEvents finds out whether the Events are in the etcd of the Works, because only then their versions say which of them are
// newer: what their cache had reached is not newer than a version of the Works that was read later, and that is not newer than
// theirs now. Until that is known, no Event counts.
func (c *Caches) CompareEvents(ctx context.Context, reached, works string) {
	list, err := c.options.Dynamic.Resource(state.EventsResource).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		c.options.Failures.Warn("cannot compare the versions of Events with those of Works", zap.Error(err))
		return
	}
	isSame := !state.IsOlder(works, reached) && !state.IsOlder(list.GetResourceVersion(), works)
	if last := c.eventsBesideWorks.Swap(&isSame); isSame && (last == nil || !*last) {
		for _, events := range c.applied.All() {
			for a := range each[state.Applied](events.List()) {
				c.noteApplied(a)
			}
		}
	}
}

// appliedOf returns the newest Event with which Karmada says that it has applied a Work; nil if none is known.
func (c *Caches) appliedOf(w *state.Work) (newest *state.Applied) {
	if isSame := c.eventsBesideWorks.Load(); isSame == nil || !*isSame {
		return nil
	}
	for _, events := range c.applied.All() {
		for a := range each[state.Applied](events.ByIndex(appliedIndex, cache.NewObjectName(w.Namespace, w.Name).String())) {
			if newest == nil || state.IsOlder(newest.ResourceVersion, a.ResourceVersion) {
				newest = a
			}
		}
	}
	return newest
}

// noteAwaited begins to watch those Events when a rollout waits for one, and ends it when none has for a while.
func (c *Caches) noteAwaited(r *judge.Rollout) {
	if r != nil && r.AwaitsApplied {
		c.appliedAwaited.Store(c.options.Clock.Now().UnixNano())
		c.applied.Apply([]watch.Resource{watch.In(state.EventsResource)})
	}
}

// unwatchApplied ends the watch of those Events if nothing has waited for one for a while.
func (c *Caches) unwatchApplied() {
	if c.options.Clock.Now().UnixNano()-c.appliedAwaited.Load() > int64(appliedPeriod) {
		c.applied.Apply(nil)
	}
}

// appliedFault says why those Events are not known; empty if they are, or are about to be.
func (c *Caches) appliedFault() string {
	for _, events := range c.applied.All() {
		if s := events.Status(); s.Err != nil {
			return "its Events cannot be watched, as the log says" // which is redacted
		}
	}
	switch isSame := c.eventsBesideWorks.Load(); {
	case len(c.applied.All()) == 0:
	case isSame == nil:
		return "its Events do not count before they have been listed, once"
	case !*isSame:
		return "its Events are in another etcd than the Works, so that it cannot be told which are newer: see --waves-without-events"
	}
	return ""
}

// appliedAge is how long Events that were read count: a command that follows the Works reads them again.
const appliedAge = 5 * time.Second

// readApplied are the newest Events about the Works of a namespace, by the names of those, and when they were read.
type readApplied struct {
	newest map[string]*state.Applied
	at     time.Time
}

// unshown returns the clusters with Works whose content Karmada has not been seen to apply, by what a reader
// can know who has not followed them. A user who may not read the Events believes what the Works say.
func (r *reading) unshown(works map[string]*state.Work, now time.Time) map[string]time.Duration {
	unshown := map[string]time.Duration{}
	for cluster, w := range works {
		if w.Generation == 1 || w.HasRolledOut() || now.Sub(w.Written()) > memory.EventTTL {
			continue
		}
		events := r.appliedIn(w.Namespace, now)
		if a := events[w.Name]; events != nil && !a.IsLater(w) && !a.IsAfter(w, w.ResourceVersion) {
			unshown[cluster] = 0
		}
	}
	return unshown
}

// appliedIn lists the newest Events of a namespace with which Karmada says that it has applied Works, by the
// names of those, if it has not done so lately; nil if the user may not read Events there.
func (r *reading) appliedIn(namespace string, now time.Time) map[string]*state.Applied {
	if known, ok := r.applied[namespace]; ok && now.Sub(known.at) < appliedAge || r.err != nil {
		return known.newest
	}
	list, err := r.client.Resource(state.EventsResource).Namespace(namespace).List(r.ctx, metav1.ListOptions{FieldSelector: state.AppliedEvents})
	newest := map[string]*state.Applied{}
	switch {
	case apierrors.IsForbidden(err):
		r.Hide("the Events in namespace " + namespace)
		newest = nil
	case err != nil:
		r.fail(fmt.Errorf("cannot list the Events in namespace %s: %w", namespace, err))
		return nil
	default:
		for i := range list.Items {
			a := state.NewApplied(&list.Items[i])
			if known := newest[a.Work]; known == nil || state.IsOlder(known.ResourceVersion, a.ResourceVersion) {
				newest[a.Work] = a
			}
		}
	}
	r.applied[namespace] = readApplied{newest, now}
	return newest
}
