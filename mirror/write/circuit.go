package write

import (
	"maps"
	"slices"
	"time"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/render"
)

// circuit is the breaker of one resource. No Namespace by itself trips it, so that nobody
// holds up the deletions of others with their own. It stays tripped while something is pending
// that it holds.
type circuit struct {
	parts map[string]*part // by namespace
	fuse
	// works is how many Works of the resource there were at countedAt, by namespace.
	works     map[string]int
	countedAt time.Time
}

// part is the circuit of one resource in one Namespace.
type part struct {
	pending map[render.Identity]proposal
	// due is how many Works all proposals have.
	due  int
	made []deletion // the oldest first
	fuse
}

// proposal is what is due for deletion of a source, by cluster.
type proposal map[string]pending

// pending is a deletion that is due.
type pending struct {
	since time.Time
	// by is what holds it.
	by scope
}

// scope is how much of a resource is held.
type scope uint8

// nothing, what is in a Namespace, or all.
const (
	heldNone scope = iota
	heldPart
	heldAll
)

// fuse counts the deletions that it holds.
type fuse struct {
	holds int
	// blown: more were due, when a deletion was last decided on, than it lets go.
	blown bool
	alarm
}

func (f *fuse) tripped() bool { return f.blown || f.holds > 0 }

// hold counts a deletion that it holds, or by -1 one that it holds no more. With the last of
// them it closes.
func (f *fuse) hold(n int) {
	if f.holds += n; f.holds == 0 {
		*f = fuse{}
	}
}

type deletion struct {
	source render.Identity
	at     time.Time
}

// alarm is how many deletions the administrator was told of last, and when.
type alarm struct {
	told   int
	toldAt time.Time
}

// raise reports whether to tell of so many.
func (a *alarm) raise(pending int, now time.Time) bool {
	if pending <= a.told || a.told > 0 && now.Sub(a.toldAt) < tellPeriod {
		return false
	}
	a.told, a.toldAt = pending, now
	return true
}

// in is the part of a Namespace.
func (c *circuit) in(namespace string) *part {
	p, ok := c.parts[namespace]
	if !ok {
		p = &part{pending: map[render.Identity]proposal{}}
		c.parts[namespace] = p
	}
	return p
}

// due is how many deletions are pending.
func (c *circuit) due() (n int) {
	for _, p := range c.parts {
		n += p.due
	}
	return n
}

// propose notes what is due of a source, in place of what was noted before.
func (c *circuit) propose(source render.Identity, next proposal) {
	p := c.in(source.Namespace)
	for _, d := range next { // first, lest a circuit closes for a moment
		c.count(p, d.by, 1)
	}
	for _, d := range p.pending[source] {
		c.count(p, d.by, -1)
	}
	p.due += len(next) - len(p.pending[source])
	if len(next) > 0 {
		p.pending[source] = next
		return
	}
	delete(p.pending, source)
	c.drop(source.Namespace)
}

// count counts n deletions in a part by what holds them.
func (c *circuit) count(p *part, by scope, n int) {
	switch by {
	case heldPart:
		p.hold(n)
	case heldAll:
		c.hold(n)
	}
}

// forget drops what was made before a time.
func (c *circuit) forget(before time.Time) {
	for namespace, p := range c.parts {
		for len(p.made) > 0 && p.made[0].at.Before(before) {
			p.made = p.made[1:]
		}
		c.drop(namespace)
	}
}

// drop forgets a Namespace of which there is nothing to know.
func (c *circuit) drop(namespace string) {
	if p := c.parts[namespace]; len(p.pending)+len(p.made) == 0 {
		delete(c.parts, namespace)
	}
}

// countWorks asks for the number of Works, now and then.
func (c *circuit) countWorks(now time.Time, count func() map[string]int) map[string]int {
	if c.works == nil || now.Sub(c.countedAt) > countAge {
		c.works, c.countedAt = count(), now
	}
	return c.works
}

// all is how many deletions are pending and were made lately.
func (p *part) all() int { return p.due + len(p.made) }

// exceeds reports whether a Namespace exceeds both thresholds, and by more than one
// source: what somebody does to a single object is meant.
func (p *part) exceeds(threshold config.HoldAbove, namespace string, works func() map[string]int) bool {
	if threshold.Works == 0 || p.all() <= threshold.Works || !p.isOfSeveral() {
		return false
	}
	return isMore(p.all(), threshold.Percent, works()[namespace]+len(p.made))
}

// exceeds trips the circuits of Namespaces, and reports whether the others exceed both
// thresholds together, without the one of them that has most to delete.
func (c *circuit) exceeds(threshold config.HoldAbove, works func() map[string]int) bool {
	all, made, tripped, most := 0, 0, []string{}, ""
	largest := &part{}
	for namespace, p := range c.parts {
		if p.blown = p.exceeds(threshold, namespace, works); p.tripped() {
			tripped = append(tripped, namespace)
			continue
		}
		all, made = all+p.all(), made+len(p.made)
		if p.all() > largest.all() {
			most, largest = namespace, p
		}
	}
	rest := all - largest.all()
	if threshold.Works == 0 || rest <= threshold.Works {
		return false
	}
	total := made - len(largest.made)
	for namespace, n := range works() {
		if namespace != most && !slices.Contains(tripped, namespace) {
			total += n
		}
	}
	return isMore(rest, threshold.Percent, total)
}

// isMore reports whether n are more than that many percent.
func isMore(n, percent, of int) bool { return n*100 > percent*of }

// isOfSeveral reports whether what is pending and what was made is of several sources.
func (p *part) isOfSeveral() bool {
	if len(p.pending) > 1 {
		return true
	}
	one := maps.Clone(p.pending)
	for _, d := range p.made {
		if one[d.source] = nil; len(one) > 1 {
			return true
		}
	}
	return false
}
