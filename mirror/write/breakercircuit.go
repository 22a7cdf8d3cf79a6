package write

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// circuit is the breaker of one resource. No single Namespace trips it, so that no tenant's
// deletions hold up those of others. It stays tripped while a deletion that it holds is
// pending. That of clusters has parts only.
type circuit struct {
	parts map[string]*part // by namespace, or by cluster
	fuse
	// works is how many Works there were at countedAt, by part.
	works     map[string]int
	countedAt time.Time
}

func newCircuit() *circuit { return &circuit{parts: map[string]*part{}} }

// part is the circuit of one resource in one Namespace, or of one cluster.
type part struct {
	pending map[render.Identity]proposal
	// due is how many Works are in all proposals, except those of finished Jobs.
	due  int
	made []deletion // the oldest first
	fuse
}

// proposal holds the due deletions of a source, by cluster.
type proposal map[string]pending

// pending is a deletion that is due.
type pending struct {
	since time.Time
	// by is what holds it.
	by scope
	// sent: it may have been carried out. marked: its Work has a mark.
	sent, marked bool
	// finished: it carries a Job that has ended everywhere. Karmada's control plane deletes such
	// sources by itself (ttlSecondsAfterFinished), and nothing that runs goes with them.
	finished bool
	// unselected: it may be due because the labels of its cluster have changed, so it counts there too.
	unselected bool
}

func (d pending) isUnmarked() bool { return d.by != heldNone && !d.marked }

// onCluster returns the deletion as the circuit of its cluster counts it.
func (d pending) onCluster() pending {
	if d.by == heldCluster {
		d.by = heldPart
		return d
	}
	d.by = heldNone
	return d
}

// counted returns how many deletions count.
func (p proposal) counted() (n int) {
	for _, d := range p {
		if !d.finished {
			n++
		}
	}
	return n
}

// scope is how much of a resource is held.
type scope uint8

// The scopes: nothing, one Namespace, all of the resource, or what the labels of one cluster would delete.
const (
	heldNone scope = iota
	heldPart
	heldAll
	heldCluster
)

// fuse counts the deletions that it holds.
type fuse struct {
	holds int
	// blown: when a deletion was last decided, more were due than the threshold allows.
	blown bool
	// definitionGone: some of what it holds was deleted with its definition. suspect: some may have been held before.
	definitionGone, suspect bool
	alarm
}

func (f *fuse) tripped() bool { return f.blown || f.holds > 0 }

// hold counts a deletion that the fuse holds, or with -1 one that it no longer holds. The
// fuse closes with the last of them.
func (f *fuse) hold(n int) {
	if f.holds, f.ever = f.holds+n, f.ever+max(0, n); f.holds == 0 {
		*f = fuse{}
	}
}

type deletion struct {
	source render.Identity
	at     time.Time
}

// because says why deletions are held.
func (f *fuse) because(cluster string) string {
	switch {
	case f.definitionGone:
		return "their CRD was deleted"
	case cluster != "":
		return "the labels of the cluster would delete more of its Works than deletion.holdAbove allows"
	case f.suspect:
		return "the last leader held deletions that it could not mark, and these may be among them"
	}
	return "more than deletion.holdAbove allows"
}

// alarm counts the deletions that have ever become held, and those of them when administrators were last notified, at toldAt.
// held are those at the last look; knewAll is when there were last none to notify of.
type alarm struct {
	ever, told, held int
	toldAt, knewAll  time.Time
}

// raise reports whether to notify administrators now of what is held, and notes it: once their number stays the same, or else
// after a while, so that the first Event says how large a burst is.
func (a *alarm) raise(held int, now time.Time) bool {
	period := tellPeriod
	if a.ever == a.told {
		period = renewPeriod
	}
	if a.ever == a.told || a.knewAll.IsZero() {
		a.knewAll = now
	}
	isStable := held == a.held || now.Sub(a.knewAll) >= tellPeriod
	a.held = held
	if held == 0 || !isStable || now.Sub(a.toldAt) < period {
		return false
	}
	a.told, a.toldAt = a.ever, now
	return true
}

// in returns the part of a Namespace or cluster.
func (c *circuit) in(place string) *part {
	p, ok := c.parts[place]
	if !ok {
		p = &part{pending: map[render.Identity]proposal{}}
		c.parts[place] = p
	}
	return p
}

// propose notes the due deletions of a source in a part, replacing those noted before.
func (c *circuit) propose(place string, source render.Identity, next proposal) {
	p := c.in(place)
	before := p.pending[source]
	for cluster, d := range next { // first, so that no circuit closes for a moment
		if d.by != before[cluster].by {
			c.count(p, d.by, 1)
		}
	}
	for cluster, d := range before {
		if d.by != next[cluster].by {
			c.count(p, d.by, -1)
		}
	}
	p.due += next.counted() - before.counted()
	if len(next) > 0 {
		p.pending[source] = next
		return
	}
	delete(p.pending, source)
	c.drop(place)
}

// pending returns the due deletion of a Work in a part, if there is one.
func (c *circuit) pending(place string, w *state.Work) (pending, bool) {
	p, ok := c.parts[place]
	if !ok {
		return pending{}, false
	}
	d, ok := p.pending[w.Source][w.Cluster]
	return d, ok
}

// made notes that a due deletion was made. Of our own, the watch may have shown it before the
// API server has answered: then it is not due any more, and has been counted.
func (c *circuit) made(place string, w *state.Work, approved bool, now time.Time) {
	due, isDue := c.pending(place, w)
	if !isDue {
		return
	}
	p, source := c.in(place), w.Source
	if !approved && !due.finished {
		p.made = append(p.made, deletion{source, now})
	}
	next := maps.Clone(p.pending[source])
	delete(next, w.Cluster)
	c.propose(place, source, next)
}

// count adds n deletions of a part to what holds them.
func (c *circuit) count(p *part, by scope, n int) {
	switch by {
	case heldPart:
		p.hold(n)
	case heldAll:
		c.hold(n)
	}
}

// forget drops the deletions that were made before a time.
func (c *circuit) forget(before time.Time) {
	for place, p := range c.parts {
		for len(p.made) > 0 && p.made[0].at.Before(before) {
			p.made = p.made[1:]
		}
		c.drop(place)
	}
}

// drop forgets a part that has no deletions left.
func (c *circuit) drop(place string) {
	if p := c.parts[place]; len(p.pending)+len(p.made) == 0 {
		delete(c.parts, place)
	}
}

// countWorks returns the number of Works, by part, counted at most countAge ago.
func (c *circuit) countWorks(now time.Time, count func() map[string]int) map[string]int {
	if c.works == nil || now.Sub(c.countedAt) > countAge {
		c.works, c.countedAt = count(), now
	}
	return c.works
}

// all returns how many deletions are pending or were made recently.
func (p *part) all() int { return p.due + len(p.made) }

// exceeds reports whether a part exceeds both thresholds with more than one source:
// what a user does to a single object is intended.
func (p *part) exceeds(threshold config.HoldAbove, place string, works func() map[string]int) bool {
	if threshold.Works == 0 || p.all() <= threshold.Works || !p.isOfSeveral() {
		return false
	}
	return isMore(p.all(), threshold.Percent, works()[place]+len(p.made))
}

// exceeds trips the circuits of Namespaces, and reports whether the other Namespaces, without
// the one of them that has most to delete, exceed both thresholds together.
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

// isMore reports whether n is more than a percentage of a total.
func isMore(n, percent, of int) bool { return n*100 > percent*of }

// isOfSeveral reports whether the pending and the recent deletions belong to several sources.
func (p *part) isOfSeveral() bool {
	one := sets.New[render.Identity]()
	for source, proposed := range p.pending {
		if proposed.counted() > 0 {
			if one.Insert(source); one.Len() > 1 {
				return true
			}
		}
	}
	for _, d := range p.made {
		if one.Insert(d.source); one.Len() > 1 {
			return true
		}
	}
	return false
}
