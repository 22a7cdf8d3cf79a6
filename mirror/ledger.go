package mirror

import (
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

	mu      sync.Mutex
	entries map[render.Identity]map[string]*entry // by source and cluster
}

// write is what is written: two that are equal repeat each other.
type write struct {
	kind   OperationKind // Update stands for Create too
	digest render.Digest // of what the source says
	source types.UID     // whose content it is
	work   types.UID     // that is deleted, held or released
}

func writeOf(op Operation, t *render.Template) write {
	if op.Kind.writesContent() {
		return write{kind: Update, digest: t.Digest(), source: t.UID()}
	}
	return write{kind: op.Kind, work: op.Work.UID}
}

type entry struct {
	write // zero if nothing has been written
	// until is when the entry ceases to hold back a repetition.
	until time.Time
	// written is what the API server answered.
	written receipt
	// said: that admission makes something else of digest has been told.
	said bool
	// refusal is why the write cannot succeed.
	refusal *Refusal
	size    int // of what was refused
	// unlisted is a Work that is there and not in the cache.
	unlisted *Work
	contest  contest
}

// contest counts how often in a row the same has been written, in vain.
type contest struct {
	write
	writes int
	last   time.Time
	told   int // of how many writes the user has been told
}

func (c contest) next(w write, now time.Time) contest {
	if c.write != w || now.Sub(c.last) > peace {
		return contest{write: w, writes: 1, last: now}
	}
	c.writes, c.last = c.writes+1, now
	return c
}

// pause is how long from now the next write has to wait.
func (c contest) pause(w write, now time.Time) time.Duration {
	if c.write != w || c.writes < uncontested {
		return 0
	}
	pause := minContested
	for range c.writes - uncontested {
		pause = min(2*pause, maxContested)
	}
	return c.last.Add(pause).Sub(now)
}

func newLedger(c clock.Clock) *ledger {
	return &ledger{clock: c, entries: map[render.Identity]map[string]*entry{}}
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
	e, ok := l.entries[id][op.Cluster]
	if !ok {
		return holdback{}, false
	}
	w, now := writeOf(op, t), l.clock.Now()
	if e.write == w || e.isAsLarge(op, t) {
		if held, ok := e.repeats(op, now); ok {
			return held, true
		}
	}
	pause := e.contest.pause(w, now)
	if pause <= 0 {
		return holdback{}, false
	}
	held := holdback{retry: pause}
	if e.contest.told != e.contest.writes {
		e.contest.told, held.notice = e.contest.writes, noticeContested
	}
	return held, true
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
	onlySpec := w.Digest != e.digest && w.SourceUID == e.source && w.Held == nil && w.Foreign == "" && w.complete()
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
	if last, ok := l.entries[id][cluster]; ok {
		e.contest = last.contest
	}
	if e.write != (write{}) && e.refusal == nil {
		e.contest = e.contest.next(e.write, now)
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
	if e, ok := l.entries[id][cluster]; ok {
		l.entries[id][cluster] = &entry{contest: e.contest}
	}
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
