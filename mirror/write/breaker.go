package write

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

const (
	// breakerWindow is how long a completed deletion counts.
	breakerWindow = 10 * time.Minute
	// countAge is how old the count of a resource's Works may be.
	countAge = time.Second
	// tellPeriod is how often we report to administrators that more deletions are held, and renewPeriod that they still are:
	// an Event is kept for an hour.
	tellPeriod  = time.Minute
	renewPeriod = 30 * time.Minute
)

// Breaker holds deletions when more of one resource are due than anyone is likely to have
// intended: in one Namespace, whose circuit then trips for that Namespace alone, or in several. A
// cluster has a circuit too, for the deletions of all resources that a change of its labels may
// have made due: one mistake there empties the member, which is a small share of a large fleet.
// The breaker counts pending deletions and those of the last ten minutes; every deletion is pending for
// the settle period first, so that a burst is counted as a whole before the first is made.
//
// Once a circuit has tripped, all its pending deletions are held until they are approved, along
// with those that become due meanwhile. The mark on the held Works makes this outlast the
// process: a pending Work with the mark trips the circuit that held it again. While Works cannot be marked, the Lease says so,
// and the next leader holds whatever is due in a Namespace, until ten minutes after it has first judged a source of the resource there.
type Breaker struct {
	clock  clock.Clock
	settle time.Duration

	mu        sync.Mutex
	threshold config.HoldAbove
	approved  config.Approvals
	circuits  map[string]*circuit // by resource
	clusters  *circuit            // of what is unselected
	// suspects is until when all that is due may have been held before, in a Namespace that has been judged since; zero for one
	// that has not. suspicious is since when so may what is due in others; zero if it may not.
	suspects   map[place]time.Time
	suspicious time.Time
}

// NewBreaker creates a Breaker with a settle period, and without a threshold yet.
func NewBreaker(c clock.Clock, settle time.Duration) *Breaker {
	return &Breaker{clock: c, settle: settle, circuits: map[string]*circuit{}, clusters: newCircuit(), suspects: map[place]time.Time{}}
}

// Configure replaces the threshold, and counts again: the caches have another configuration. What it does not include is
// forgotten, but for the marks on Works; if some had none, what is due there once it is included again may be what was held.
func (b *Breaker) Configure(threshold config.HoldAbove, includes func(r schema.GroupResource, namespace string) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.threshold, b.clusters.works = threshold, nil
	for resource, c := range b.circuits {
		c.works = nil
		for namespace, p := range c.parts {
			if includes(schema.ParseGroupResource(resource), namespace) {
				continue
			}
			for source := range p.pending {
				if b.holdsUnmarkedLocked(resource, source) {
					b.suspects[place{resource, namespace}] = time.Time{}
				}
				b.proposeLocked(resource, source, nil, nil)
			}
		}
	}
}

// Approve replaces the approvals, and returns the last ones.
func (b *Breaker) Approve(approved config.Approvals) (last config.Approvals) {
	b.mu.Lock()
	defer b.mu.Unlock()
	last, b.approved = b.approved, approved
	return last
}

// IsApproved reports whether the deletion of a Work with a mark is approved.
func (b *Breaker) IsApproved(w *state.Work) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.isApprovedLocked(w.Held.Resource, w)
}

// Propose notes which Works of a source are due for deletion, replacing what was noted
// before, and returns how long they must wait until other due ones have been noted too. What is held stays held
// where it is open whether it is due; nil is nowhere.
func (b *Breaker) Propose(resource string, source render.Identity, due []judge.Due, isOpen func(cluster string) bool) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.proposeLocked(resource, source, due, isOpen)
}

func (b *Breaker) proposeLocked(resource string, source render.Identity, due []judge.Due, isOpen func(cluster string) bool) time.Duration {
	c := b.circuitLocked(resource)
	now, before, next := b.clock.Now(), c.in(source.Namespace).pending[source], proposal{}
	finished := !slices.ContainsFunc(due, func(w judge.Due) bool { return !w.IsFinished() })
	var wait time.Duration
	for _, w := range due {
		d, ok := before[w.Cluster]
		if !ok {
			d.since = now
		}
		d.finished, d.marked = finished, w.Held != nil
		if w.Held != nil {
			d.by = b.heldByLocked(resource, w.Work)
		}
		d.unselected = w.Unselected || d.by == heldCluster
		if d.by != heldNone && w.Held != nil && judge.IsOfDefinition(w.Held.Because) {
			on, _ := b.fuseLocked(c, d.by, w.Work)
			on.definitionGone = true
		}
		next[w.Cluster] = d
		wait = max(wait, b.settle-now.Sub(d.since))
	}
	for cluster, d := range before {
		_, isPending := next[cluster]
		if !isPending && d.by != heldNone && isOpen != nil && isOpen(cluster) {
			next[cluster], isPending = d, true
		}
		wasMade := d.sent && !isPending && !d.finished
		if wasMade {
			c.in(source.Namespace).made = append(c.in(source.Namespace).made, deletion{source, now})
		}
		if wasMade && d.unselected {
			b.clusters.in(cluster).made = append(b.clusters.in(cluster).made, deletion{source, now})
		}
		if d.unselected && !next[cluster].unselected {
			b.clusters.propose(cluster, source, nil)
		}
	}
	for cluster, d := range next {
		if d.unselected {
			b.clusters.propose(cluster, source, proposal{cluster: d.onCluster()})
		}
	}
	c.propose(source.Namespace, source, next)
	return wait
}

// heldByLocked returns what holds a Work that has the mark.
func (b *Breaker) heldByLocked(resource string, w *state.Work) scope {
	switch {
	case b.isApprovedLocked(resource, w):
		return heldNone
	case w.Held.Whole:
		return heldAll
	case w.Held.Cluster:
		return heldCluster
	}
	return heldPart
}

// admission is the breaker's answer to a deletion.
type admission struct {
	// wait is how long the deletion must still settle.
	wait time.Duration
	// held: it needs an approval.
	held bool
	// approved: it has one.
	approved bool
	// marked: the Work says so, by a time that an approval can cover.
	marked bool
	// because says why it is held.
	because string
}

// refusal says that a deletion is held.
func (a admission) refusal(resource, cluster string) *judge.Refusal {
	return &judge.Refusal{Reason: judge.DeletionHeld, Message: fmt.Sprintf(
		"deletions of %s are held, %s: the Work for cluster %q stays until an administrator approves them (karmada-mirror deletions list)", resource, a.because, cluster)}
}

// counts count the Works that a percentage refers to: those of the resource by namespace, and all by cluster.
type counts struct{ inNamespaces, onClusters func() map[string]int }

// admit decides on a deletion that has been proposed. needsApproval: hold it whatever the
// number.
func (b *Breaker) admit(resource string, source render.Identity, w *state.Work, needsApproval bool, count counts) admission {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.circuitLocked(resource)
	if b.isApprovedLocked(resource, w) {
		return admission{approved: true}
	}
	now, in := b.clock.Now(), c.in(source.Namespace)
	d, ok := in.pending[source][w.Cluster]
	if !ok || now.Sub(d.since) < b.settle {
		return admission{wait: b.settle}
	}
	if d.finished && d.by == heldNone && !needsApproval {
		return admission{}
	}
	c.forget(now.Add(-breakerWindow))
	isSuspect := b.isSuspectLocked(resource, w)
	c.blown = c.exceeds(b.threshold, func() map[string]int { return c.countWorks(now, count.inNamespaces) }) || needsApproval
	in.blown = in.blown || isSuspect
	by := heldNone
	switch cluster := b.exceedsLocked(w.Cluster, d, now, count.onClusters); {
	case b.threshold.Works == 0 && !needsApproval:
	case c.tripped():
		by = heldAll
	case cluster.tripped():
		by = heldCluster
	case in.tripped():
		by = heldPart
	}
	if by == heldNone {
		return admission{}
	}
	if w.Held == nil && by != d.by { // it is about to be marked
		c.count(in, by, 1)
		c.count(in, d.by, -1)
		d.by = by
		in.pending[source][w.Cluster] = d
		if d.unselected {
			b.clusters.propose(w.Cluster, source, proposal{w.Cluster: d.onCluster()})
		}
	}
	on, cluster := b.fuseLocked(c, by, w)
	on.definitionGone, on.suspect = on.definitionGone || needsApproval, on.suspect || isSuspect
	return admission{held: true, marked: w.Held != nil && !config.IsAhead(w.Held.Since, now), because: on.because(cluster)}
}

// fuseLocked returns what holds a deletion, and the cluster whose labels it is for, if so.
func (b *Breaker) fuseLocked(c *circuit, by scope, w *state.Work) (on *fuse, cluster string) {
	switch by {
	case heldAll:
		return &c.fuse, ""
	case heldCluster:
		return &b.clusters.in(w.Cluster).fuse, w.Cluster
	}
	return &c.in(w.Source.Namespace).fuse, ""
}

// Alarm is what administrators must be notified of: how many deletions are held, and why. A cluster has no resource, and a
// resource that is held as a whole no Namespace.
type Alarm struct {
	Resource, Namespace, Cluster string
	Held                         int
	Because                      string
	on                           *fuse
}

// Alarms returns what administrators must be notified of now.
func (b *Breaker) Alarms() (all []Alarm) {
	b.mu.Lock()
	defer b.mu.Unlock()
	raise := func(f *fuse, a Alarm) {
		if f.raise(f.holds, b.clock.Now()) {
			a.on, a.Held, a.Because = f, f.holds, f.because(a.Cluster)
			all = append(all, a)
		}
	}
	for resource, c := range b.circuits {
		raise(&c.fuse, Alarm{Resource: resource})
		for namespace, p := range c.parts {
			raise(&p.fuse, Alarm{Resource: resource, Namespace: namespace})
		}
	}
	for cluster, p := range b.clusters.parts {
		raise(&p.fuse, Alarm{Cluster: cluster})
	}
	return all
}

// Holds reports whether some of what an alarm is about is still held.
func (b *Breaker) Holds(a Alarm) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return a.on.holds > 0
}

// stays returns the breaker's answer to a deletion that it holds and whose Work is marked, without a new count.
func (b *Breaker) stays(resource string, source render.Identity, w *state.Work) (a admission, is bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.circuitLocked(resource)
	d, _ := c.pending(source.Namespace, w)
	if d.by == heldNone || w.Held == nil || config.IsAhead(w.Held.Since, b.clock.Now()) || b.isApprovedLocked(resource, w) || b.threshold.Works == 0 {
		return admission{}, false
	}
	on, cluster := b.fuseLocked(c, d.by, w)
	return admission{held: true, marked: true, because: on.because(cluster)}, true
}

// exceedsLocked returns the circuit of a cluster, for a deletion that counts there; an empty one for others.
func (b *Breaker) exceedsLocked(cluster string, d pending, now time.Time, count func() map[string]int) *part {
	if !d.unselected {
		return &part{}
	}
	b.clusters.forget(now.Add(-breakerWindow))
	on := b.clusters.in(cluster)
	on.blown = on.exceeds(b.threshold, cluster, func() map[string]int { return b.clusters.countWorks(now, count) })
	return on
}

// mark returns the mark for a Work whose deletion is held.
func (b *Breaker) mark(resource string, w *state.Work, because string) render.Hold {
	since := b.holdTime(resource, w.Source.Namespace, w.Cluster)
	b.mu.Lock()
	defer b.mu.Unlock()
	d, _ := b.circuitLocked(resource).pending(w.Source.Namespace, w)
	return render.Hold{Since: since, Resource: resource, Because: because, Whole: d.by == heldAll, Cluster: d.by == heldCluster}
}

// covers reports whether the approvals in force cover a mark for a Work.
func (b *Breaker) covers(hold render.Hold, w *state.Work) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.approved.Covers(hold.Since, hold.Resource, w.Source.Namespace, w.Cluster)
}

// holdTime returns the time for a mark that is made now. No approval in force covers it,
// whatever clock the approval was made by.
func (b *Breaker) holdTime(resource, namespace, member string) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock.Now().Truncate(render.HeldPrecision)
	if earliest := b.approved.Until(resource, namespace, member).Truncate(render.HeldPrecision).Add(render.HeldPrecision); now.Before(earliest) {
		return earliest
	}
	return now
}

// made notes that a deletion was carried out. An approved one does not count against those
// that follow.
func (b *Breaker) made(resource string, w *state.Work, approved bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.madeLocked(b.circuitLocked(resource), w, approved)
}

func (b *Breaker) madeLocked(c *circuit, w *state.Work, approved bool) {
	now := b.clock.Now()
	c.made(w.Source.Namespace, w, approved, now)
	b.clusters.made(w.Cluster, w, approved, now)
}

// Saw notes that a Work is being deleted, no matter by whom. If that was due here too, and not
// held, it counts as made: if two processes write by mistake, each counts what the other
// deletes. The deletion of a Work that is wanted does not count, because the Work is restored.
func (b *Breaker) Saw(w *state.Work) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for resource, c := range b.circuits {
		if d, ok := c.pending(w.Source.Namespace, w); ok && d.by == heldNone {
			b.madeLocked(c, w, b.isApprovedLocked(resource, w))
		}
	}
}

// sent notes that a deletion may have been carried out: there was no clear answer. It counts as
// made once it is no longer pending.
func (b *Breaker) sent(resource string, w *state.Work, approved bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	proposed := b.circuitLocked(resource).in(w.Source.Namespace).pending[w.Source]
	if d, ok := proposed[w.Cluster]; ok && !approved {
		d.sent = true
		proposed[w.Cluster] = d
	}
}

func (b *Breaker) circuitLocked(resource string) *circuit {
	c, ok := b.circuits[resource]
	if !ok {
		c = newCircuit()
		b.circuits[resource] = c
	}
	return c
}

// isApprovedLocked reports whether a deletion is approved. An approval covers what was held
// when it was given, and nothing that is held later.
func (b *Breaker) isApprovedLocked(resource string, w *state.Work) bool {
	return IsApproved(b.approved, resource, w)
}

// IsApproved reports whether approvals cover a deletion of a resource.
func IsApproved(approved config.Approvals, resource string, w *state.Work) bool {
	return w.Held != nil && approved.Covers(w.Held.Since, resource, w.Source.Namespace, w.Cluster)
}
