package gather

import (
	"time"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
)

const (
	// maxExecutionBackoff is how long what Karmada could not apply may wait until it is
	// tried again (the default of --rate-limiter-max-delay, v1.18.2).
	maxExecutionBackoff = 1000 * time.Second
	// minOutage is too short for a backoff that anybody would notice: it is about as
	// long as what has been waited for. A cluster that has just joined is one.
	minOutage = 5 * time.Second
	// wakeDelay is how long after a cluster has come back what waits for it is woken: it lets
	// the second pass in which that was, for times have whole seconds, and what is woken
	// earlier looks as if it waited still.
	wakeDelay = 1100 * time.Millisecond
)

// noteOutage is told of a cluster that has changed, and remembers when it came back.
func (c *Caches) noteOutage(before, after *state.Cluster) {
	switch {
	case after == nil:
		c.outages.Delete(before.Name)
	case before != nil && !before.IsReady && after.IsReady:
		outage := judge.Recovery{At: after.ReadySince, Down: before.ReadySince}
		if last, ok := c.outages.Load(after.Name); ok {
			outage = following(outage, last.(seenRecovery).Recovery)
		}
		c.outages.Store(after.Name, seenRecovery{outage, c.options.Clock.Now()})
	}
}

// seenRecovery is one, and when it was seen by the clock of this machine.
type seenRecovery struct {
	judge.Recovery
	at time.Time
}

// RecoveryOf is when a cluster came back, if that was lately.
func (c *Caches) RecoveryOf(cluster *state.Cluster) judge.Recovery {
	if !cluster.IsReady || cluster.Terminating || c.options.Clock.Since(cluster.ReadySince) > maxExecutionBackoff {
		return judge.Recovery{}
	}
	r := judge.Recovery{At: cluster.ReadySince}
	if outage, ok := c.outages.Load(cluster.Name); ok {
		seen := outage.(seenRecovery)
		r.Down, r.In = seen.Down, max(0, wakeDelay-c.options.Clock.Since(seen.at))
	}
	if isShort(r) {
		return judge.Recovery{}
	}
	return r
}

// isShort reports whether nothing can have waited for long.
func isShort(r judge.Recovery) bool { return !r.Down.IsZero() && r.At.Sub(r.Down) < minOutage }

// following is a recovery after another: both end one outage if the cluster had hardly
// been there in between.
func following(r, last judge.Recovery) judge.Recovery {
	if r.Down.Sub(last.At) < minOutage {
		r.Down = last.Down
	}
	return r
}
