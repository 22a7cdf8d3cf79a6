package gather

import (
	"time"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
)

const (
	// maxExecutionBackoff is the longest that Karmada waits before it retries a Work that it
	// could not apply (the default of --rate-limiter-max-delay, v1.18.2).
	maxExecutionBackoff = 1000 * time.Second
	// minOutage is the shortest outage that counts: after a shorter one, the backoff is too
	// short to notice, since it is about as long as the outage. That includes a cluster that
	// has just joined.
	minOutage = 5 * time.Second
	// wakeDelay is how long after a cluster has come back the Works that wait for it are woken.
	// It outlasts the second in which the cluster came back: times have whole seconds, and a
	// Work woken earlier would look as if it were still waiting.
	wakeDelay = 1100 * time.Millisecond
	// maxWakeDelay limits that delay, which doubles with each recovery of the same cluster: a cluster
	// that flaps has all its Works written each time, and Karmada tries each at once. It is short again after
	// twice as long without a recovery.
	maxWakeDelay = 5 * time.Minute
)

// noteOutage remembers, when a cluster changes, whether and when it came back.
func (c *Caches) noteOutage(before, after *state.Cluster) {
	switch {
	case after == nil:
		c.outages.Delete(before.Name)
		c.flaps.DeleteEntry(before.Name)
	case before != nil && after.HasReturned(before):
		outage := judge.Recovery{At: after.ReadySince}
		if !before.IsReady { // else no one has seen when it went
			outage.Down = before.ReadySince
		}
		if last, ok := c.outages.Load(after.Name); ok && !before.IsReady {
			outage = following(outage, last.(seenRecovery).Recovery)
		}
		now := c.options.Clock.Now()
		c.flaps.Next(after.Name, now)
		c.outages.Store(after.Name, seenRecovery{outage, now, c.flaps.Get(after.Name)})
	}
}

// seenRecovery is a Recovery, when it was seen, by the local clock, and how long after that the Works that
// wait are woken.
type seenRecovery struct {
	judge.Recovery
	at    time.Time
	delay time.Duration
}

// RecoveryOf returns when a cluster came back; the zero value if that was not recently.
func (c *Caches) RecoveryOf(cluster *state.Cluster) judge.Recovery {
	if !cluster.IsReady || cluster.Terminating {
		return judge.Recovery{}
	}
	r, age := judge.Recovery{At: cluster.ReadySince}, c.options.Clock.Since(cluster.ReadySince)
	outage, _ := c.outages.Load(cluster.Name)
	if seen, ok := outage.(seenRecovery); ok && seen.At.Equal(r.At) { // the cache may be ahead of its handler
		age = c.options.Clock.Since(seen.at)
		r.Down, r.Seen, r.In = seen.Down, seen.at, max(0, seen.delay-age)
	}
	if age > maxExecutionBackoff || isShort(r) {
		return judge.Recovery{}
	}
	return r
}

// isReturning reports whether the handler of a cluster is still to note that it went or came back.
func (c *Caches) isReturning(cluster *state.Cluster) bool {
	last := c.notedBefore(cluster)
	return last != nil && !last.ReadySince.Equal(cluster.ReadySince)
}

// isShort reports whether the outage was too short to count.
func isShort(r judge.Recovery) bool { return !r.Down.IsZero() && r.At.Sub(r.Down) < minOutage }

// following merges a recovery with the one before it: both end the same outage if the cluster
// was hardly up in between.
func following(r, last judge.Recovery) judge.Recovery {
	if r.Down.Sub(last.At) < minOutage {
		r.Down = last.Down
	}
	return r
}
