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
)

// ledger remembers the last write to each Work: so that a sync that runs before
// the watch has caught up does not repeat it, so that a write refused for good
// is not repeated in vain, and so that a Work that admission alters is not
// written over and over. It is a memory of this process and nothing rests on it
// but the number of requests.
type ledger struct {
	clock clock.Clock

	mu      sync.Mutex
	entries map[render.Identity]map[string]*entry // by source and cluster
}

type entry struct {
	kind   OperationKind
	digest render.Digest // that was to be written
	source types.UID     // whose content was written
	// until is when the entry ceases to hold back a repetition.
	until time.Time
	// work is the Work that was deleted, held or released.
	work types.UID
	// written is what the API server answered.
	written receipt
	// said: that admission makes something else of digest has been told.
	said bool
	// refusal is why the write cannot succeed.
	refusal *Refusal
	// unlisted is a Work that is there and not in the cache.
	unlisted *Work
}

func newLedger(c clock.Clock) *ledger {
	return &ledger{clock: c, entries: map[render.Identity]map[string]*entry{}}
}

// holdback is why an operation should not be carried out now.
type holdback struct {
	refusal *Refusal
	// retry is when to look again; 0 if an event will tell.
	retry time.Duration
	// altered: admission changes what is written; said once.
	altered bool
}

// check tells whether an operation repeats one whose outcome is known or on its
// way.
func (l *ledger) check(id render.Identity, op Operation, t *render.Template) (holdback, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, ok := l.entries[id][op.Cluster]
	if !ok || !e.concerns(op, t) {
		return holdback{}, false
	}
	left := e.until.Sub(l.clock.Now())
	if op.Kind == Update && e.refusal == nil && e.wasAltered(op.Work) {
		first := !e.said
		e.said = true
		return holdback{altered: first}, true
	}
	if left <= 0 {
		return holdback{}, false
	}
	if op.Kind == Update && e.refusal == nil && !isOlder(op.Work.ResourceVersion, e.written.version) {
		return holdback{}, false // changed by somebody since
	}
	return holdback{refusal: e.refusal, retry: left}, true
}

// concerns reports whether the entry is about the same write.
func (e *entry) concerns(op Operation, t *render.Template) bool {
	if !op.Kind.writesContent() {
		return e.kind == op.Kind && e.work == op.Work.UID
	}
	return e.kind.writesContent() && e.unlisted == nil && e.digest == t.Digest() && e.source == t.UID()
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
	e.until = l.clock.Now().Add(hold)
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
	return ok && e.kind == Delete && e.work == w.UID && l.clock.Now().Before(e.until)
}

// unlisted returns a Work that a refused creation has found.
func (l *ledger) unlisted(id render.Identity, cluster string) (*Work, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, ok := l.entries[id][cluster]
	if !ok || e.unlisted == nil || e.until.Before(l.clock.Now()) {
		return nil, false
	}
	return e.unlisted, true
}

// hasUnlisted reports whether a source has met a Work that is not in the cache.
func (l *ledger) hasUnlisted(id render.Identity) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.entries[id] {
		if e.unlisted != nil {
			return true
		}
	}
	return false
}

// forget drops what is known of the Work of a source on a cluster.
func (l *ledger) forget(id render.Identity, cluster string) {
	l.mu.Lock()
	defer l.mu.Unlock()
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
			delete(l.entries[id], cluster)
		}
	}
	if len(l.entries[id]) == 0 {
		delete(l.entries, id)
	}
}
