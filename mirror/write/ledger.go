package write

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/memory"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// Ledger is what this process remembers of its writes: seven independent memories, all about
// Works. They decide only when to write, never what.
type Ledger struct {
	*echoes
	*parked
	*strangers
	*contests
	*wakes
	*vanished
	*unshown
}

// NewLedger creates an empty Ledger.
func NewLedger(c clock.Clock) *Ledger {
	return &Ledger{newEchoes(c), newParked(c), newStrangers(c), newContests(c), newWakes(c), &vanished{clock: c}, newUnshown(c)}
}

// write identifies what is written: two equal ones repeat each other.
type write struct {
	kind     judge.OperationKind // Update stands for Create too
	digest   render.Digest       // of the content, as the source has it
	notes    render.Notes        // on the content
	source   types.UID           // the source of the content
	work     types.UID           // the Work that is deleted, held, woken, amended, detached or released
	written  int64               // when the one that is deleted was last written but for its status, in Unix seconds
	recovery int64               // the recovery that it is woken for, in Unix seconds
}

func writeOf(v judge.Verdict, op judge.Operation) write {
	if op.From != nil {
		w := write{kind: judge.Update, digest: op.From.Digest}
		if t := v.Targets[op.Cluster]; op.From.IsMadeFrom(t.UID()) {
			w.source = t.UID()
		}
		return w
	}
	if op.Kind.WritesContent() {
		t := v.Targets[op.Cluster]
		return write{kind: judge.Update, digest: t.Digest(), notes: t.Notes(), source: t.UID()}
	}
	w := write{kind: op.Kind, work: op.Work.UID}
	if t := v.Targets[op.Cluster]; op.Kind == judge.Adjust && t.Rendering != nil {
		w.digest = t.Digest()
	}
	if op.Kind.Deletes() {
		w.written = op.Work.Written().Unix()
	}
	if op.Kind == judge.Wake {
		w.recovery = v.Targets[op.Cluster].Wake.Unix()
	}
	return w
}

// holdback is why an operation should not be carried out now.
type holdback struct {
	refusal *judge.Refusal
	// retry is when to sync again; 0 if there will be an event.
	retry time.Duration
	// notice is what to report, empty if it has been reported.
	notice string
}

// check reports whether an operation would be refused again, makes no difference, or is
// undone each time. It changes nothing: a caller that reports the notice must call told.
func (l *Ledger) check(v judge.Verdict, op judge.Operation) (holdback, bool) {
	w := writeOf(v, op)
	if held, ok := l.parked.check(v, op, w); ok {
		return held, true
	}
	if op.Kind == judge.Update {
		if held, ok := l.echoes.alters(v.ID, op, w); ok {
			return held, true
		}
	}
	if op.Kind == judge.Wake && l.wakes.has(v.ID, op.Cluster, w) {
		return holdback{}, true
	}
	isForEvent := op.Kind == judge.Wake && op.Work.IsWell() && w.recovery == op.Work.Written().Unix()
	if left := l.wakes.rests(v.ID, op.Cluster); isForEvent && left > 0 {
		return holdback{retry: left}, true
	}
	return l.contests.check(workKey{v.ID, op.Cluster}, w)
}

// told notes that a notice has been reported.
func (l *Ledger) told(id render.Identity, cluster, notice string) {
	switch notice {
	case noticeAltered:
		l.echoes.told(id, cluster)
	case noticeContested:
		l.contests.told(workKey{id, cluster})
	}
}

// Holds reports whether an operation should not be carried out now.
func (l *Ledger) Holds(v judge.Verdict, op judge.Operation) bool {
	_, held := l.check(v, op)
	return held
}

// Overdue returns the sources to sync without an event: the watch has not shown a write in
// time, or a Work that a refused create has found must be read again.
func (l *Ledger) Overdue() []render.Identity {
	return slices.Concat(l.echoes.lost(), l.strangers.old())
}

// wrote notes a write that succeeded.
func (l *Ledger) wrote(v judge.Verdict, op judge.Operation, answer receipt) {
	w := writeOf(v, op)
	l.echoes.await(v.ID, op.Cluster, w, answer)
	l.contests.count(workKey{v.ID, op.Cluster}, w)
	l.parked.by.drop(v.ID, op.Cluster)
	l.strangers.by.drop(v.ID, op.Cluster)
	if op.Kind == judge.Wake {
		l.wakes.note(v.ID, op.Cluster, w)
	}
}

// Forget drops what is known of the Work of a source on a cluster, except the contest about
// it, which continues when another writer deletes the Work each time.
func (l *Ledger) Forget(id render.Identity, cluster string) {
	l.echoes.by.drop(id, cluster)
	l.echoes.sent.drop(id, cluster)
	l.parked.by.drop(id, cluster)
	l.strangers.by.drop(id, cluster)
	l.wakes.by.drop(id, cluster)
}

// Arrived notes that the watch has shown a Work.
func (l *Ledger) Arrived(w *state.Work) {
	l.echoes.arrived(w)
	l.unshown.shown(w)
	l.vanished.by.drop(w.Source, w.Cluster)
}

// Left notes that a Work has left the cache: it was deleted, or has lost our label. If it has
// Karmada's name, it is in the way when we create the Work again; one with the longer name
// would not be.
func (l *Ledger) Left(w *state.Work) {
	if w.IsLong() && w.Foreign == "" {
		l.strangers.suspect(w)
	}
}

// Retain drops what is known of a source on clusters that are no longer targets. mayBeUnderWay: there may be a Work that
// the cache does not show. areKnown: the targets are what the source asks for.
func (l *Ledger) Retain(id render.Identity, targets map[string]judge.Target, mayBeUnderWay, areKnown bool) {
	isTarget := func(cluster string) bool { _, ok := targets[cluster]; return ok }
	if areKnown {
		l.vanished.by.retain(id, isTarget)
		l.vanished.ours.retain(id, isTarget)
		l.vanished.theirs.retain(id, isTarget)
	}
	if mayBeUnderWay {
		return
	}
	l.echoes.by.retain(id, isTarget)
	l.parked.by.retain(id, isTarget)
	l.strangers.by.retain(id, isTarget)
	l.wakes.by.retain(id, isTarget)
}

// Prune drops what is over, and frees the memory that maps keep for deleted entries.
func (l *Ledger) Prune() {
	l.echoes.by.prune()
	l.echoes.sent.prune()
	l.parked.by.prune()
	l.strangers.by.prune()
	l.vanished.by.prune()
	l.vanished.ours.prune()
	l.vanished.theirs.prune()
	l.contests.prune()
	l.wakes.prune()
	l.unshown.prune()
}

// byWork remembers one thing about each Work, by its source and its cluster.
type byWork[T any] struct {
	mu sync.Mutex
	of map[render.Identity]map[string]T
}

func (b *byWork[T]) get(id render.Identity, cluster string) (T, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t, ok := b.of[id][cluster]
	return t, ok
}

// has reports whether an entry of a source meets a condition.
func (b *byWork[T]) has(id render.Identity, is func(T) bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.ContainsFunc(slices.Collect(maps.Values(b.of[id])), is)
}

func (b *byWork[T]) set(id render.Identity, cluster string, t T) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.of == nil {
		b.of = map[render.Identity]map[string]T{}
	}
	if b.of[id] == nil {
		b.of[id] = map[string]T{}
	}
	b.of[id][cluster] = t
}

func (b *byWork[T]) drop(id render.Identity, cluster string) {
	b.retain(id, func(other string) bool { return other != cluster })
}

func (b *byWork[T]) retain(id render.Identity, keep func(cluster string) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.of[id], func(cluster string, _ T) bool { return !keep(cluster) })
	if len(b.of[id]) == 0 {
		delete(b.of, id)
	}
}

// take removes the entries that meet a condition, and returns their sources.
func (b *byWork[T]) take(is func(T) bool) []render.Identity {
	b.mu.Lock()
	defer b.mu.Unlock()
	var taken []render.Identity
	for id, clusters := range b.of {
		for cluster, t := range clusters {
			if is(t) {
				taken = append(taken, id)
				delete(clusters, cluster)
			}
		}
		if len(clusters) == 0 {
			delete(b.of, id)
		}
	}
	return taken
}

// each calls do for every entry, which do may change.
func (b *byWork[T]) each(do func(render.Identity, *T)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, clusters := range b.of {
		for cluster, t := range clusters {
			do(id, &t)
			clusters[cluster] = t
		}
	}
}

// prune frees the memory that the map keeps for deleted entries.
func (b *byWork[T]) prune() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.of = memory.Shrink(b.of)
}
