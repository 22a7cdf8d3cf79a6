package write

import (
	"maps"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

const (
	// breakerWindow is how long a deletion that was made counts.
	breakerWindow = 10 * time.Minute
	// totalAge is how old the count of a resource's Works may be.
	totalAge = time.Second
	// tellPeriod is how often an administrator is told that more are held.
	tellPeriod = time.Minute
)

// Breaker holds deletions back when more of one resource are due than anybody
// is likely to have meant. It counts what is pending and what was made in the
// last ten minutes; every deletion is pending for the settle period first, so
// that of a burst all are counted before one is made.
//
// Once it has tripped, all pending deletions of the resource are held until they
// are approved. The mark on the held Works is what makes that last beyond this
// process: a pending Work with the mark trips the breaker again.
type Breaker struct {
	clock  clock.Clock
	settle time.Duration

	mu        sync.Mutex
	threshold config.HoldAbove
	approved  config.Approvals
	circuits  map[string]*circuit // by resource
}

// circuit is the breaker of one resource.
type circuit struct {
	pending map[render.Identity]proposal
	// due is how many Works all proposals have.
	due     int
	made    []deletion // the oldest first
	tripped bool
	// told is how many were pending when the administrator was told last, and when.
	told   int
	toldAt time.Time
	// total is how many Works of the resource there were at totalAt.
	total   int
	totalAt time.Time
}

// proposal is what one source wants deleted: since when each Work is due, by its cluster.
type proposal map[string]time.Time

type deletion struct {
	source render.Identity
	at     time.Time
}

// NewBreaker makes a Breaker that lets deletions wait for settle, and has no threshold yet.
func NewBreaker(c clock.Clock, settle time.Duration) *Breaker {
	return &Breaker{clock: c, settle: settle, circuits: map[string]*circuit{}}
}

// Configure puts another threshold into force.
func (b *Breaker) Configure(threshold config.HoldAbove) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.threshold = threshold
}

// Approve puts other approvals into force.
func (b *Breaker) Approve(approved config.Approvals) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.approved = approved
}

// Propose notes which Works of a source are due for deletion, in place of what
// was noted before, and returns how long they have to wait until others that are
// due have been noted too.
func (b *Breaker) Propose(resource string, source render.Identity, works []*state.Work) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.circuitLocked(resource)
	if len(works) == 0 {
		c.withdraw(source)
		return 0
	}
	now, before, next := b.clock.Now(), c.pending[source], proposal{}
	var wait time.Duration
	for _, w := range works {
		since, ok := before[w.Cluster]
		if !ok {
			since = now
		}
		next[w.Cluster] = since
		wait = max(wait, b.settle-now.Sub(since))
		c.tripped = c.tripped || w.Held != nil && !b.isApprovedLocked(resource, w)
	}
	c.due += len(next) - len(before)
	c.pending[source] = next
	return wait
}

// admission is the breaker's answer to a deletion.
type admission struct {
	// wait is how long the deletion has to settle yet.
	wait time.Duration
	// held: it needs an approval.
	held bool
	// approved: it has one.
	approved bool
	// tell: the administrator has not been told yet of so many.
	tell bool
	// pending is how many deletions are.
	pending int
}

// admit decides on a deletion that has been proposed. needsApproval: it is held
// whatever the number. total counts the resource's Works.
func (b *Breaker) admit(resource string, source render.Identity, w *state.Work, needsApproval bool, total func() int) admission {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.circuitLocked(resource)
	if b.isApprovedLocked(resource, w) {
		return admission{approved: true}
	}
	now := b.clock.Now()
	if since, ok := c.pending[source][w.Cluster]; !ok || now.Sub(since) < b.settle {
		return admission{wait: b.settle}
	}
	c.forget(now.Add(-breakerWindow))
	c.tripped = c.tripped || needsApproval || c.exceeds(b.threshold, now, total)
	a := admission{held: c.tripped && (needsApproval || b.threshold.Works > 0), pending: c.due}
	if a.held && a.pending > c.told && (c.told == 0 || now.Sub(c.toldAt) >= tellPeriod) {
		a.tell, c.told, c.toldAt = true, a.pending, now
	}
	return a
}

// holdTime is when something is held that is held now. No approval that is in force
// covers it, whatever clock that was made by.
func (b *Breaker) holdTime(resource, namespace string) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock.Now().Truncate(render.HeldPrecision)
	if earliest := b.approved.Until(resource, namespace).Truncate(render.HeldPrecision).Add(render.HeldPrecision); now.Before(earliest) {
		return earliest
	}
	return now
}

// made notes that a deletion was carried out. One that was approved does not
// count against those that follow.
func (b *Breaker) made(resource string, w *state.Work, approved bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c, source := b.circuitLocked(resource), w.Source
	if p := c.pending[source]; !p[w.Cluster].IsZero() {
		delete(p, w.Cluster)
		c.due--
		if len(p) == 0 {
			c.withdraw(source)
		}
	}
	if !approved {
		c.made = append(c.made, deletion{source, b.clock.Now()})
	}
}

func (b *Breaker) circuitLocked(resource string) *circuit {
	c, ok := b.circuits[resource]
	if !ok {
		c = &circuit{pending: map[render.Identity]proposal{}}
		b.circuits[resource] = c
	}
	return c
}

// isApprovedLocked: an approval covers what was held when it was given, and
// nothing that is held later.
func (b *Breaker) isApprovedLocked(resource string, w *state.Work) bool {
	return w.Held != nil && !w.Held.Since.After(b.approved.Until(resource, w.Source.Namespace))
}

func (c *circuit) withdraw(source render.Identity) {
	c.due -= len(c.pending[source])
	delete(c.pending, source)
	if len(c.pending) == 0 {
		c.tripped, c.told = false, 0
	}
}

func (c *circuit) forget(before time.Time) {
	for len(c.made) > 0 && c.made[0].at.Before(before) {
		c.made = c.made[1:]
	}
}

// exceeds reports whether both thresholds are exceeded, and by more than one
// source: what somebody does to a single object is meant.
func (c *circuit) exceeds(threshold config.HoldAbove, now time.Time, total func() int) bool {
	n := c.due + len(c.made)
	if threshold.Works == 0 || n <= threshold.Works || !c.isOfSeveral() {
		return false
	}
	if now.Sub(c.totalAt) > totalAge {
		c.total, c.totalAt = total(), now
	}
	return n*100 > threshold.Percent*(c.total+len(c.made))
}

// isOfSeveral reports whether what is pending and what was made is of several sources.
func (c *circuit) isOfSeveral() bool {
	if len(c.pending) > 1 {
		return true
	}
	one := maps.Clone(c.pending)
	for _, d := range c.made {
		if one[d.source] = nil; len(one) > 1 {
			return true
		}
	}
	return false
}
