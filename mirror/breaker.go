package mirror

import (
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/karmada-target/karmada-mirror/config"
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

// breaker holds deletions back when more of one resource are due than anybody
// is likely to have meant. It counts what is pending and what was made in the
// last ten minutes; every deletion is pending for the settle period first, so
// that of a burst all are counted before one is made.
//
// Once it has tripped, all pending deletions of the resource are held until they
// are approved. The mark on the held Works is what makes that last beyond this
// process: a pending Work with the mark trips the breaker again.
type breaker struct {
	clock  clock.Clock
	settle time.Duration

	mu        sync.Mutex
	threshold config.HoldAbove
	approved  config.Approvals
	circuits  map[string]*circuit // by resource
}

// circuit is the breaker of one resource.
type circuit struct {
	pending map[render.Identity]*proposal
	made    []deletion // the oldest first
	tripped bool
	// told is how many were pending when the administrator was told last, and when.
	told   int
	toldAt time.Time
	// total is how many Works of the resource there were at totalAt.
	total   int
	totalAt time.Time
}

// proposal is what one source wants deleted.
type proposal struct {
	works int
	since time.Time
}

type deletion struct {
	source render.Identity
	at     time.Time
}

func newBreaker(c clock.Clock, settle time.Duration) *breaker {
	return &breaker{clock: c, settle: settle, circuits: map[string]*circuit{}}
}

func (b *breaker) configure(threshold config.HoldAbove) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.threshold = threshold
}

func (b *breaker) approve(approved config.Approvals) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.approved = approved
}

// propose notes which Works of a source are due for deletion, in place of what
// was noted before, and returns how long they have to wait until others that are
// due have been noted too.
func (b *breaker) propose(resource string, source render.Identity, works []*Work) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.circuitLocked(resource)
	if len(works) == 0 {
		c.withdraw(source)
		return 0
	}
	now := b.clock.Now()
	p, ok := c.pending[source]
	if !ok || len(works) > p.works {
		p = &proposal{since: now}
		c.pending[source] = p
	}
	p.works = len(works)
	for _, w := range works {
		c.tripped = c.tripped || w.Held != nil && !b.isApprovedLocked(resource, w)
	}
	return b.settle - now.Sub(p.since)
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
func (b *breaker) admit(resource string, source render.Identity, w *Work, needsApproval bool, total func() int) admission {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.circuitLocked(resource)
	if b.isApprovedLocked(resource, w) {
		return admission{approved: true}
	}
	now := b.clock.Now()
	if p, ok := c.pending[source]; !ok || now.Sub(p.since) < b.settle {
		return admission{wait: b.settle}
	}
	c.forget(now.Add(-breakerWindow))
	trips := needsApproval || c.exceeds(b.threshold, now, total)
	c.tripped = c.tripped || trips
	a := admission{held: c.tripped && (needsApproval || b.threshold.Works > 0), pending: c.count()}
	if a.held && a.pending > c.told && (c.told == 0 || now.Sub(c.toldAt) >= tellPeriod) {
		a.tell, c.told, c.toldAt = true, a.pending, now
	}
	return a
}

// holdTime is when something is held that is held now. No approval that is in force
// covers it, whatever clock that was made by.
func (b *breaker) holdTime(resource string) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock.Now().Truncate(render.HeldPrecision)
	if earliest := b.approved[resource].Truncate(render.HeldPrecision).Add(render.HeldPrecision); now.Before(earliest) {
		return earliest
	}
	return now
}

// made notes that a deletion was carried out. One that was approved does not
// count against those that follow.
func (b *breaker) made(resource string, source render.Identity, approved bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.circuitLocked(resource)
	if p, ok := c.pending[source]; ok {
		if p.works--; p.works <= 0 {
			c.withdraw(source)
		}
	}
	if !approved {
		c.made = append(c.made, deletion{source, b.clock.Now()})
	}
}

func (b *breaker) circuitLocked(resource string) *circuit {
	c, ok := b.circuits[resource]
	if !ok {
		c = &circuit{pending: map[render.Identity]*proposal{}}
		b.circuits[resource] = c
	}
	return c
}

// isApprovedLocked: an approval covers what was held when it was given, and
// nothing that is held later.
func (b *breaker) isApprovedLocked(resource string, w *Work) bool {
	return w.Held != nil && !w.Held.Since.After(b.approved[resource])
}

func (c *circuit) withdraw(source render.Identity) {
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

func (c *circuit) count() int {
	n := 0
	for _, p := range c.pending {
		n += p.works
	}
	return n
}

// exceeds reports whether both thresholds are exceeded, and by more than one
// source: what somebody does to a single object is meant.
func (c *circuit) exceeds(threshold config.HoldAbove, now time.Time, total func() int) bool {
	n := c.count() + len(c.made)
	if threshold.Works == 0 || n <= threshold.Works {
		return false
	}
	sources := map[render.Identity]bool{}
	for source := range c.pending {
		sources[source] = true
	}
	for _, d := range c.made {
		sources[d.source] = true
	}
	if len(sources) < 2 {
		return false
	}
	if now.Sub(c.totalAt) > totalAge {
		c.total, c.totalAt = total(), now
	}
	return n*100 > threshold.Percent*(c.total+len(c.made))
}
