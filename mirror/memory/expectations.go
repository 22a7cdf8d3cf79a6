package memory

import (
	"slices"
	"time"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

const (
	// AwaitCache is how long a write of ours may take to come back through the watch before we
	// consider it lost.
	AwaitCache = 30 * time.Second
	// forgetUnshown is when the watch of Works is no longer expected to show a Work: a list of them has
	// replaced it long before.
	forgetUnshown = time.Hour
)

// expectation is a write that the watch has not shown yet: until it does, the cache has the
// Work as it was before, and we cannot decide on it. Do not change it.
type expectation struct {
	write
	answer Receipt
	// until is when the write counts as lost.
	until time.Time
	// content is what was written before, and altered by admission, if this write only wakes the Work.
	content *expectation
	// altered: it has come back changed by admission; reported: that has been reported.
	altered, reported bool
}

// creation is when a Work was created, or may have been, because no answer has come, and the version that the cache of
// Works had before. The cache alone does not prove that such a Work does not exist.
type creation struct {
	at      time.Time
	version string
}

// Sending notes that a write is under way. If its Work is forgotten before it is Answered, the Work is gone, and the
// watch will not show it.
func (m *Memory) Sending(id render.Identity, cluster string) {
	m.change(id, cluster, func(w *work) { w.sending = true })
}

// Answered notes that a write is no longer under way.
func (m *Memory) Answered(id render.Identity, cluster string) {
	m.change(id, cluster, func(w *work) { w.sending = false })
}

// Created notes that a Work was created, or may have been. The cache of Works had this version before.
func (m *Memory) Created(id render.Identity, cluster, version string) {
	made := &creation{m.clock.Now(), version}
	m.change(id, cluster, func(w *work) { w.created = made })
}

// IsUnderWay reports whether the cached Work, or nil for none, is from before our last
// write.
func (m *Memory) IsUnderWay(id render.Identity, cluster string, cached *state.Work) bool {
	last := m.read(id, cluster).expected
	return last != nil && !last.altered && m.clock.Now().Before(last.until) && !last.hasCome(cached)
}

// AwaitsAny reports whether the watch has yet to show a Work of a source as we have written it.
func (m *Memory) AwaitsAny(id render.Identity) (awaits bool) {
	now := m.clock.Now()
	m.each(id, func(_ string, w *work) {
		awaits = awaits || w.expected != nil && w.expected.kind == judge.Update && !w.expected.altered && now.Before(w.expected.until)
	})
	return awaits
}

// MayHaveCreated reports whether a source may have a Work that the watch has not shown.
func (m *Memory) MayHaveCreated(id render.Identity) (may bool) {
	m.each(id, func(_ string, w *work) { may = may || w.created != nil })
	return may
}

// Altered returns what we have written to Works that admission has altered on that, by cluster, as long
// as they are as it has left them.
func (m *Memory) Altered(works map[string]*state.Work) map[string]judge.Altered {
	all := map[string]judge.Altered{}
	for cluster, w := range works {
		if last := m.read(w.Source, cluster).expected; last.isAltered(w) {
			all[cluster] = judge.Altered{Digest: last.digest, Notes: last.notes}
		}
	}
	return all
}

// unshown removes the writes that have not come back in time, and returns their sources.
func (m *Memory) unshown() (sources []render.Identity) {
	now := m.clock.Now()
	m.all(func(id render.Identity, _ string, w *work) {
		if last := w.expected; last != nil && !last.altered && !now.Before(last.until) {
			w.expected = nil
			sources = append(sources, id)
		}
	})
	return sources
}

// hasCome reports whether a Work is as the write has left it, or has changed since.
func (e *expectation) hasCome(w *state.Work) bool {
	if e.kind.Deletes() {
		return w == nil || w.UID != e.work || w.Terminating
	}
	if e.kind == judge.Detach { // if that deletes the Work, the answer has the version before
		return w == nil || w.UID != e.work || !slices.Contains(w.Finalizers, render.ExecutionFinalizer)
	}
	return w != nil && !state.IsOlder(w.ResourceVersion, e.answer.Version)
}

// wasAltered reports whether only the spec of a Work, and no note on it, differs from what we wrote, and the API
// server made it so on our write: the generation counts the changes of a spec.
func (e *expectation) wasAltered(w *state.Work) bool {
	onlySpec := w.Digest != e.digest && w.IsMadeFrom(e.source) && w.Held == nil && w.Foreign == "" && w.IsComplete() && w.Notes().OfEdit() == e.notes.OfEdit()
	return e.kind.WritesContent() && onlySpec && w.Generation == e.answer.Generation
}

// isAltered reports whether a Work is what admission has made of what we wrote, nil for nothing.
func (e *expectation) isAltered(w *state.Work) bool {
	return e != nil && e.hasCome(w) && e.wasAltered(w)
}

// after returns what is expected once the watch has shown a Work.
func (e *expectation) after(shown *state.Work) *expectation {
	if e == nil || e.altered || !e.hasCome(shown) {
		return e
	}
	altered := *e
	if e.content != nil {
		altered = *e.content
		altered.answer = e.answer
	}
	if altered.altered = altered.wasAltered(shown); altered.altered {
		return &altered
	}
	return nil
}

// after forgets a creation once the watch has shown a Work. Its handlers may lag: an earlier Work is none that was created.
func (c *creation) after(shown *state.Work) *creation {
	if c != nil && state.IsOlder(c.version, shown.ResourceVersion) {
		return nil
	}
	return c
}

// The notices about Works that do not stay as written.
const (
	noticeAltered   = "admission alters the Work that is written: not writing it again"
	noticeContested = "another writer keeps undoing writes to the Work: writing it less often"
)

// alters reports whether the Work is what admission has made of the same write before.
func (e *expectation) alters(op judge.Operation, w write) (Holdback, bool) {
	if !e.isAltered(op.Work) || e.write != w {
		return Holdback{}, false
	}
	if e.reported {
		return Holdback{}, true
	}
	return Holdback{Notice: noticeAltered}, true
}
