package memory

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
	// wakesAge is how long a wake is remembered: after that, nothing waits for the cluster any
	// more, according to RecoveryOf.
	wakesAge = 20 * time.Minute
	// eventsPeriod is how often client-go writes an Event about an object of which there were many
	// (defaultSpamQPS in tools/record/events_cache.go, v0.35.4).
	eventsPeriod = 5 * time.Minute
)

// seenRecovery is a Recovery, when it was seen, by the local clock, and how long after that the Works that
// wait are woken.
type seenRecovery struct {
	judge.Recovery
	at    time.Time
	delay time.Duration
}

// returnedAfter returns when a cluster came back, now that it has changed.
func (c *clusters) returnedAfter(known cluster, before *state.Cluster) seenRecovery {
	if !known.last.HasReturned(before) {
		return known.returned
	}
	outage := judge.Recovery{At: known.last.ReadySince}
	if !before.IsReady { // else no one has seen when it went
		outage.Down = before.ReadySince
		outage = following(outage, known.returned.Recovery)
	}
	now := c.clock.Now()
	c.flaps.Next(before.Name, now)
	return seenRecovery{outage, now, c.flaps.Get(before.Name)}
}

// RecoveryOf returns when a cluster came back; the zero value if that was not recently.
func (c *clusters) RecoveryOf(cluster *state.Cluster) judge.Recovery {
	if !cluster.IsReady || cluster.Terminating {
		return judge.Recovery{}
	}
	r, age := judge.Recovery{At: cluster.ReadySince}, c.clock.Since(cluster.ReadySince)
	if seen := c.cluster(cluster.Name).returned; seen.At.Equal(r.At) { // the cache may be ahead of what was noted
		age = c.clock.Since(seen.at)
		r.Down, r.Seen, r.In = seen.Down, seen.at, max(0, seen.delay-age)
	}
	if age > maxExecutionBackoff || isShort(r) {
		return judge.Recovery{}
	}
	return r
}

// ReturnSeen returns when a cluster was last seen to come back, by the local clock; zero if it was not.
func (c *clusters) ReturnSeen(name string) time.Time { return c.cluster(name).returned.at }

// IsReturning reports whether it is still to be noted that a cluster went or came back.
func (c *clusters) IsReturning(cluster *state.Cluster) bool {
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

// wake is for which recovery of its cluster a Work has been woken, so that it is woken once. Whether a Work still waits is
// decided by times of the API server and of the cluster, whose clocks may differ.
type wake struct {
	write
	until time.Time
}

// rests returns for how long a Work that has been woken for an Event of Karmada is not woken for another:
// Karmada's client drops those about one object past 25, and then writes one in this time.
func (k *wake) rests(now time.Time) time.Duration {
	return k.until.Add(eventsPeriod - wakesAge).Sub(now)
}
