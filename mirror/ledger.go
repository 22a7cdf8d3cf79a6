package mirror

import (
	"hash/maphash"
	"math"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/clock"

	"github.com/karmada-target/karmada-mirror/render"
)

const (
	// awaitCache is how long a write of ours may take to come back through the
	// watch before it is thought lost.
	awaitCache = 30 * time.Second
	// retryRefused is how often a write is tried again that only a change of the
	// object can mend.
	retryRefused = 5 * time.Minute
	// uncontested is how often in a row the same is written without a pause. Then
	// somebody undoes it each time, and every further write waits, twice as long as
	// the last, until there has been peace for longer than the longest pause.
	uncontested  = 10
	minContested = time.Second
	maxContested = 5 * time.Minute
	peace        = 2 * maxContested
)

// ledger remembers the last write to each Work: so that a sync that runs before
// the watch has caught up does not repeat it, so that a write refused for good
// is not repeated in vain, and so that a Work that admission alters, or that
// somebody else writes too, is not written over and over. It is a memory of this
// process and nothing rests on it but the number of requests.
type ledger struct {
	clock clock.Clock
	seed  maphash.Seed

	mu sync.Mutex
	// entries are of writes that have not come about, by source and cluster.
	entries map[render.Identity]map[string]*entry
	// contests are of all writes of late, by the hash of source and cluster: there is
	// one for each Work that was written, so that it is small.
	contests map[uint64]contest
}

// workKey names a Work by its source and its cluster.
type workKey struct {
	id      render.Identity
	cluster string
}

// write is what is written: two that are equal repeat each other.
type write struct {
	kind   OperationKind // Update stands for Create too
	digest render.Digest // of what the source says
	source uidHash       // of whose content it is
	work   types.UID     // that is deleted, held or released
}

func writeOf(op Operation, t *render.Template) write {
	if op.Kind.writesContent() {
		return write{kind: Update, digest: t.Digest(), source: hashUID(t.UID())}
	}
	return write{kind: op.Kind, work: op.Work.UID}
}

type entry struct {
	write // zero if nothing has been written
	// until is when the entry ceases to hold back a repetition.
	until time.Time
	// overdue: that time has come, and has been told.
	overdue bool
	// written is what the API server answered.
	written receipt
	// said: that admission makes something else of digest has been told.
	said bool
	// refusal is why the write cannot succeed.
	refusal *Refusal
	size    int // of what was refused
	// unlisted is a Work that is there and not in the cache.
	unlisted *Work
}

// contest counts how often in a row the same has been written, in vain.
type contest struct {
	write        uint64 // hash
	last         int64  // Unix nanoseconds
	writes, told uint16 // told: of how many writes the user has been told
}

// isOver reports whether there has been peace for so long that nobody counts any
// more.
func (c contest) isOver(now time.Time) bool { return now.Sub(time.Unix(0, c.last)) > peace }

// pause is how long from now the next write has to wait.
func (c contest) pause(now time.Time) time.Duration {
	if c.writes < uncontested {
		return 0
	}
	pause := minContested
	for range c.writes - uncontested {
		pause = min(2*pause, maxContested)
	}
	return time.Unix(0, c.last).Add(pause).Sub(now)
}

func newLedger(c clock.Clock) *ledger {
	return &ledger{
		clock: c, seed: maphash.MakeSeed(),
		entries: map[render.Identity]map[string]*entry{}, contests: map[uint64]contest{},
	}
}

// holdback is why an operation should not be carried out now.
type holdback struct {
	refusal *Refusal
	// retry is when to look again; 0 if an event will tell.
	retry time.Duration
	// notice is what to tell of it, if it has not been told.
	notice string
}

// What is told of a Work that does not become as it is written.
const (
	noticeAltered   = "admission alters what is written: leaving it at that"
	noticeContested = "somebody undoes what is written: writing it less often"
)

// check tells whether an operation repeats one whose outcome is known or on its
// way, or that is undone each time.
func (l *ledger) check(id render.Identity, op Operation, t *render.Template) (holdback, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w, now := writeOf(op, t), l.clock.Now()
	if e, ok := l.entries[id][op.Cluster]; ok && (e.write == w || e.isAsLarge(op, t)) {
		if held, ok := e.repeats(op, now); ok {
			return held, true
		}
	}
	return l.checkContest(workKey{id, op.Cluster}, w, now)
}

func (l *ledger) checkContest(k workKey, w write, now time.Time) (holdback, bool) {
	key := maphash.Comparable(l.seed, k)
	c, ok := l.contests[key]
	if !ok || c.write != maphash.Comparable(l.seed, w) || c.isOver(now) {
		return holdback{}, false
	}
	pause := c.pause(now)
	if pause <= 0 {
		return holdback{}, false
	}
	held := holdback{retry: pause}
	if c.told != c.writes {
		c.told, held.notice = c.writes, noticeContested
		l.contests[key] = c
	}
	return held, true
}

// count adds a write to the contest about a Work, or begins another.
func (l *ledger) count(k workKey, w write, now time.Time) {
	key := maphash.Comparable(l.seed, k)
	c := l.contests[key]
	if hash := maphash.Comparable(l.seed, w); c.write != hash || c.isOver(now) {
		c = contest{write: hash}
	}
	c.last = now.UnixNano()
	if c.writes < math.MaxUint16 {
		c.writes++
	}
	l.contests[key] = c
}

// repeats tells whether to carry out again what the entry is about.
func (e *entry) repeats(op Operation, now time.Time) (holdback, bool) {
	left := e.until.Sub(now)
	rewrites := op.Kind == Update && e.refusal == nil
	switch {
	case rewrites && e.wasAltered(op.Work):
		held := holdback{}
		if !e.said {
			e.said, held.notice = true, noticeAltered
		}
		return held, true
	case left <= 0:
		return holdback{}, false
	case rewrites && !isOlder(op.Work.ResourceVersion, e.written.version):
		return holdback{}, false // changed by somebody since
	}
	return holdback{refusal: e.refusal, retry: left}, true
}

// isAsLarge reports whether an operation writes at least as much as was refused as
// too large.
func (e *entry) isAsLarge(op Operation, t *render.Template) bool {
	return op.Kind.writesContent() && e.refusal != nil && e.refusal.Reason == TooLarge && t.Size() >= e.size
}

// wasAltered reports whether nothing but the spec of a Work is not as wanted, and
// it is what the API server made of our write: the generation counts the changes
// of a spec.
func (e *entry) wasAltered(w *Work) bool {
	onlySpec := w.Digest != e.digest && w.sourceUID == e.source && w.Held == nil && w.Foreign == "" && w.complete()
	return onlySpec && w.Generation == e.written.generation
}

// isOlder is false when the versions cannot be compared: then the cache is
// believed.
func isOlder(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}

func (l *ledger) record(id render.Identity, cluster string, e entry, hold time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	e.until = now.Add(hold)
	if e.write != (write{}) && e.refusal == nil {
		l.count(workKey{id, cluster}, e.write, now)
	}
	if l.entries[id] == nil {
		l.entries[id] = map[string]*entry{}
	}
	l.entries[id][cluster] = &e
}

// hasDeleted reports whether a deletion of the Work is on its way. One that has not
// come about in time is lost: the API server's data may have been restored.
func (l *ledger) hasDeleted(id render.Identity, w *Work) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, ok := l.entries[id][w.Cluster]
	return ok && e.write == write{kind: Delete, work: w.UID} && l.clock.Now().Before(e.until)
}

// settle reports whether a Work has become what was written last, which left
// nothing to be done: then the entry has served.
func (l *ledger) settle(w *Work) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, ok := l.entries[w.Source][w.Cluster]
	if !ok || !e.kind.writesContent() || e.refusal != nil || isOlder(w.ResourceVersion, e.written.version) || !w.says(e.write) {
		return false
	}
	l.drop(w.Source, w.Cluster)
	return true
}

// says reports whether a Work is as it was written.
func (w *Work) says(content write) bool {
	return w.Digest == content.digest && w.sourceUID == content.source && w.complete() && w.Held == nil && w.Foreign == "" && !w.Terminating
}

// unlisted returns a Work that a refused creation has found lately.
func (l *ledger) unlisted(id render.Identity, cluster string) (*Work, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, ok := l.entries[id][cluster]
	if !ok || e.unlisted == nil || !l.clock.Now().Before(e.until) {
		return nil, false
	}
	return e.unlisted, true
}

// hasUnlisted reports whether the last that is known of a source on a cluster is a
// Work that is not in the cache.
func (l *ledger) hasUnlisted(id render.Identity, cluster string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, ok := l.entries[id][cluster]
	return ok && e.unlisted != nil
}

// forget drops what is known of the Work of a source on a cluster, but for the
// contest about it, which goes on when somebody deletes the Work each time.
func (l *ledger) forget(id render.Identity, cluster string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop(id, cluster)
}

func (l *ledger) drop(id render.Identity, cluster string) {
	delete(l.entries[id], cluster)
	if len(l.entries[id]) == 0 {
		delete(l.entries, id)
	}
}

// retain drops the entries of a source on clusters that it has no say in any
// more.
func (l *ledger) retain(id render.Identity, targets map[string]Target) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for cluster := range l.entries[id] {
		if _, ok := targets[cluster]; !ok {
			l.drop(id, cluster)
		}
	}
}

// overdue lists, once, the sources with a write that has not come about in time.
func (l *ledger) overdue() []render.Identity {
	l.mu.Lock()
	defer l.mu.Unlock()
	var sources []render.Identity
	now := l.clock.Now()
	for id, byCluster := range l.entries {
		for _, e := range byCluster {
			if !e.overdue && !now.Before(e.until) {
				e.overdue = true
				sources = append(sources, id)
			}
		}
	}
	return sources
}

// prune drops the contests that are over, and the room that maps keep for what they
// once held.
func (l *ledger) prune() {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, kept := l.clock.Now(), map[uint64]contest{}
	for key, c := range l.contests {
		if !c.isOver(now) {
			kept[key] = c
		}
	}
	l.contests, l.entries = shrunk(kept), shrunk(l.entries)
}
