package mirror

import (
	"time"

	"github.com/karmada-target/karmada-mirror/metrics"
	"github.com/karmada-target/karmada-mirror/mirror/gather"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/watch"
)

// IsDenied reports whether the daemon's rights do not let it write some Works that it wants to write.
func (c *Controller) IsDenied() bool {
	_, denied := c.refused.Counts()
	return denied[string(judge.ByAuthorization)] > 0
}

// snapshot counts what is in the caches, for the metrics.
func (c *Controller) snapshot() metrics.Snapshot {
	s := metrics.Snapshot{Works: map[metrics.WorkKey]int{}, Held: map[string]int{}, WaveHeld: map[string]int{}, Contested: map[string]int{}, Failing: map[string]metrics.Failing{}}
	s.Refused, s.Denied = c.refused.Counts()
	if q := c.queue.Load(); q != nil {
		s.Failing["mirror"] = failing(q.Failing())
		s.Failing["finalizer"] = failing(c.finalizers.kept.Failing()).With(failing(c.finalizers.refused.Failing())).With(c.departures.failing())
		for _, reason := range []judge.Reason{judge.MemberContested, judge.WorkContested} {
			s.Contested[string(reason)] = len(c.noticed.With(reason))
		}
	}
	if statuses := c.statuses.Load(); statuses != nil {
		s.Failing["status"] = failing(statuses.queue.Failing()).With(failing(statuses.denied.Failing()))
		s.Contested[string(judge.StatusContested)] = len(statuses.contested.All())
	}
	for _, w := range c.caches.Sources() {
		asking := 0
		for o := range gather.Objects(w) {
			if c.caches.Asks(o) {
				asking++
			}
		}
		s.Watches = append(s.Watches, watchSnapshot(w, asking))
		s.Held[w.Resource.GroupResource.String()], s.WaveHeld[w.Resource.GroupResource.String()] = 0, 0
	}
	for _, id := range c.noticed.With(judge.WaveHeld) {
		s.WaveHeld[c.caches.ResourceOf(id)]++
	}
	for _, w := range append(c.caches.Fixed(), c.caches.Definitions()...) {
		own := watchSnapshot(w, 0)
		own.Own = true
		s.Watches = append(s.Watches, own)
	}
	if c.Configuration != nil {
		own := watchSnapshot(c.Configuration, 0)
		own.Resource, own.Own = "configuration", true
		s.Watches = append(s.Watches, own)
	}
	hadSynced := c.caches.HasSyncedWorks()
	for w := range c.caches.Works() {
		if w.Cluster == "" || w.State == state.WorkUnknown {
			continue // it has our label, but is not ours
		}
		s.Works[metrics.WorkKey{Cluster: w.Cluster, State: w.State.String()}]++
		if c.caches.IsHeld(w) && !c.breaker.IsApproved(w) {
			s.Held[w.Held.Resource]++
		}
	}
	for resource, n := range c.breaker.Unmarked() {
		s.Held[resource] += n
	}
	if last := c.counted.Load(); hadSynced && c.caches.HasSyncedWorks() { // all the time
		c.counted.Store(&s)
	} else if last != nil {
		s.Works, s.Held = last.Works, last.Held
	}
	return s
}

func failing(n int, since time.Time) metrics.Failing {
	return metrics.Failing{Sources: n, Since: since}
}

func watchSnapshot(w *watch.Watch, sources int) metrics.Watch {
	status := w.Status()
	return metrics.Watch{
		Resource:  w.Resource.GroupResource.String(),
		State:     string(status.State),
		LastEvent: status.LastEvent,
		Sources:   sources,
	}
}
