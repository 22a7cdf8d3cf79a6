package memory

import (
	"bytes"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// Reports are what sources and Works say of statuses, for kinds whose statuses are aggregated. The caches of sources and
// Works do not keep it, since for all other kinds it would only take memory. An entry may be missing, after a change of the
// configuration for example, and then the object is read. It is never wrong: it has the resource version that the cache
// has, or a later one.
type Reports struct {
	mu      sync.Mutex
	sources map[render.Identity]*state.SourceStatus
	works   map[types.UID]*state.Report
	// first is what was first seen to be reported on each Work since it is made from its source, until that is renewed.
	first map[types.UID][]byte
}

// NoteSource notes what a source says.
func (r *Reports) NoteSource(now *state.SourceStatus) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sources == nil {
		r.sources = map[render.Identity]*state.SourceStatus{}
	}
	if known, ok := r.sources[now.ID]; !ok || !state.IsOlder(now.Version, known.Version) {
		r.sources[now.ID] = now
	}
}

// Note notes what a Work reports, as seen at a time.
func (r *Reports) Note(now *state.Report, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.works == nil {
		r.works, r.first = map[types.UID]*state.Report{}, map[types.UID][]byte{}
	}
	known, ok := r.works[now.Work]
	if now.Seen = at; ok && known.Source == now.Source && known.Written.Equal(now.Written) {
		now.Seen = known.Seen
	}
	switch {
	case !now.Failed || !ok || known.Source != now.Source || !known.Written.Equal(now.Written):
	case known.Failed:
		now.FailedSince = known.FailedSince
	case at.Sub(known.Seen) >= judge.CountsAfter(known): // it was applied with this content
		now.FailedSince = at
	}
	now.Ran = now.Ran || ok && known.Source == now.Source && known.Ran
	switch {
	case ok && state.IsOlder(now.Version, known.Version):
		return
	case !ok || known.Source != now.Source, now.Suspended && !known.Renewed: // the object changes by itself, without the Work
		r.first[now.Work] = now.Status
	case known.Renewed || !bytes.Equal(r.first[now.Work], now.Status):
		now.Renewed = true
		delete(r.first, now.Work)
	default:
		now.Status = r.first[now.Work] // one copy is enough
	}
	r.works[now.Work] = now
}

// Believe notes that what a Work reports has been found to be about its source.
func (r *Reports) Believe(report *state.Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, ok := r.works[report.Work]
	if !ok || known.Source != report.Source || known.Renewed {
		return
	}
	believed := *known
	believed.Renewed = true
	r.works[report.Work] = &believed
	delete(r.first, report.Work)
}

// Source returns what a source says, in the given version or a later one; nil if that is not known.
func (r *Reports) Source(id render.Identity, version string) *state.SourceStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known, ok := r.sources[id]; ok && !state.IsOlder(known.Version, version) {
		return known
	}
	return nil
}

// Of returns what a Work says, in the cached version or a later one; nil if that is not known.
func (r *Reports) Of(w *state.Work) *state.Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known, ok := r.works[w.UID]; ok && !state.IsOlder(known.Version, w.ResourceVersion) {
		return known
	}
	return nil
}

// Prune drops what is no longer needed, and frees the memory that maps keep for deleted entries.
func (r *Reports) Prune(isSource func(render.Identity) bool, isWork func(types.UID) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.sources, func(id render.Identity, _ *state.SourceStatus) bool { return !isSource(id) })
	maps.DeleteFunc(r.works, func(uid types.UID, _ *state.Report) bool { return !isWork(uid) })
	maps.DeleteFunc(r.first, func(uid types.UID, _ []byte) bool { return r.works[uid] == nil })
	r.sources, r.works, r.first = Shrink(r.sources), Shrink(r.works), Shrink(r.first)
}
