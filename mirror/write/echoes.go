package write

import (
	"slices"
	"time"

	"k8s.io/utils/clock"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// AwaitCache is how long a write of ours may take to come back through the watch before we
// consider it lost.
const AwaitCache = 30 * time.Second

// echoes are the writes that the watch has not shown yet: until it does, the cache has the
// Work as it was before, and we cannot decide on it.
type echoes struct {
	clock clock.Clock
	by    byWork[echo]
	// sent are the writes without an answer yet. If one is forgotten meanwhile, its Work is
	// gone, and the watch will not show it.
	sent byWork[struct{}]
}

type echo struct {
	write
	answer receipt
	// until is when the write counts as lost.
	until time.Time
	// altered: it has come back changed by admission; said: that has been reported.
	altered, said bool
}

func newEchoes(c clock.Clock) *echoes { return &echoes{clock: c} }

// send notes that a write is under way.
func (e *echoes) send(id render.Identity, cluster string) { e.sent.set(id, cluster, struct{}{}) }

// answered notes that a write is no longer under way.
func (e *echoes) answered(id render.Identity, cluster string) { e.sent.drop(id, cluster) }

func (e *echoes) await(id render.Identity, cluster string, w write, answer receipt) {
	if _, isThere := e.sent.get(id, cluster); !isThere {
		return
	}
	e.by.set(id, cluster, echo{write: w, answer: answer, until: e.clock.Now().Add(AwaitCache)})
}

// IsUnderWay reports whether the cached Work, or nil for none, is from before our last
// write.
func (e *echoes) IsUnderWay(id render.Identity, cluster string, cached *state.Work) bool {
	last, ok := e.by.get(id, cluster)
	return ok && !last.altered && e.clock.Now().Before(last.until) && !last.hasCome(cached)
}

// AwaitsAny reports whether the watch has yet to show a Work of a source as we have written it.
func (e *echoes) AwaitsAny(id render.Identity) bool {
	now := e.clock.Now()
	return e.by.has(id, func(last echo) bool { return last.kind == judge.Update && !last.altered && now.Before(last.until) })
}

// hasCome reports whether a Work is as the write has left it, or has changed since.
func (e echo) hasCome(w *state.Work) bool {
	if e.kind.Deletes() {
		return w == nil || w.UID != e.work || w.Terminating
	}
	if e.kind == judge.Detach { // if that deletes the Work, the answer has the version before
		return w == nil || w.UID != e.work || !slices.Contains(w.Finalizers, render.ExecutionFinalizer)
	}
	return w != nil && !state.IsOlder(w.ResourceVersion, e.answer.version)
}

// arrived notes that the watch has shown a Work.
func (e *echoes) arrived(w *state.Work) {
	last, ok := e.by.get(w.Source, w.Cluster)
	switch {
	case !ok || last.altered || !last.hasCome(w):
	case last.wasAltered(w):
		last.altered = true
		e.by.set(w.Source, w.Cluster, last)
	default:
		e.by.drop(w.Source, w.Cluster)
	}
}

// The notices about Works that do not stay as written.
const (
	noticeAltered   = "admission alters the Work that is written: not writing it again"
	noticeContested = "another writer keeps undoing writes to the Work: writing it less often"
)

// alters reports whether the Work is what admission has made of the same write before.
func (e *echoes) alters(id render.Identity, op judge.Operation, w write) (holdback, bool) {
	last, ok := e.by.get(id, op.Cluster)
	if !ok || last.write != w || !last.hasCome(op.Work) || !last.wasAltered(op.Work) {
		return holdback{}, false
	}
	if last.said {
		return holdback{}, true
	}
	return holdback{notice: noticeAltered}, true
}

// told notes that the alteration has been reported.
func (e *echoes) told(id render.Identity, cluster string) {
	if last, ok := e.by.get(id, cluster); ok {
		last.altered, last.said = true, true
		e.by.set(id, cluster, last)
	}
}

// wasAltered reports whether only the spec of a Work differs from what we wrote, and the API
// server made it so on our write: the generation counts the changes of a spec.
func (e echo) wasAltered(w *state.Work) bool {
	onlySpec := w.Digest != e.digest && w.IsMadeFrom(e.source) && w.Held == nil && w.Foreign == "" && w.IsComplete()
	return e.kind.WritesContent() && onlySpec && w.Generation == e.answer.generation
}

// Altered returns what we have written to Works that admission has altered on that, by cluster, as long
// as they are as it has left them.
func (e *echoes) Altered(id render.Identity, works map[string]*state.Work) map[string]render.Digest {
	var all map[string]render.Digest // rarely needed
	for cluster, w := range works {
		if last, ok := e.by.get(id, cluster); ok && last.hasCome(w) && last.wasAltered(w) {
			if all == nil {
				all = map[string]render.Digest{}
			}
			all[cluster] = last.digest
		}
	}
	return all
}

// lost removes the writes that have not come back in time, and returns their sources.
func (e *echoes) lost() []render.Identity {
	now := e.clock.Now()
	return e.by.take(func(last echo) bool { return !last.altered && !now.Before(last.until) })
}
