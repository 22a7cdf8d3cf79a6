package memory

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// EventTTL is how long API servers keep Events (--event-ttl, v1.35). What was written before then is taken to be
// applied by a process that did not see it come.
const EventTTL = time.Hour

// health is a Work of a source in waves with some content, since when it has had that and been well, by the local clock,
// and whether reports tell it from the content before. Do not change it.
type health struct {
	work       types.UID
	digest     render.Digest
	generation int64
	// highest is the highest generation that was seen in this Work.
	highest int64
	// since is since when it has been well, as if it had been so without a failure; zero if it is not. failedAt is when Karmada said that
	// it is not applied, although it was well until then; zero if it does not say so.
	since, failedAt time.Time
	// pods is how many Pods it had when it was last well.
	pods int64
	// isDated: what is reported of this generation is about this content.
	isDated bool
	// version is the resource version with which the Work was first seen to have this content. isFound: that was
	// not seen to come. seen is when.
	version string
	isFound bool
	seen    time.Time
	// isFailed: Karmada has been seen not to have applied the Work since it has this content, and isApplied: to
	// apply it.
	isFailed, isApplied bool
}

// then returns what follows when a Work is seen after s. A report names the generation of the source
// from which the content was made, and so tells contents apart that were made from different ones. The
// first content of a Work has none before it. Where reports do not tell, an Event of Karmada about the Work
// that is newer than the content does; the Work has been well from then on.
func (s *health) then(w *state.Work, applied *state.Applied, now time.Time) *health {
	if s == nil {
		s = &health{}
	}
	next := *s
	next.work, next.digest, next.generation, next.highest = w.UID, w.Digest, w.SourceGeneration(), max(s.highest, w.SourceGeneration())
	switch {
	case s.work != w.UID:
		next.highest, next.isDated, next.version, next.isFound = next.generation, w.Generation == 1, w.ResourceVersion, true
	case s.digest != w.Digest:
		next.isDated, next.version, next.isFound = s.generation > 0 && next.generation > s.highest, w.ResourceVersion, false
	}
	isSame := s.work == w.UID && s.digest == w.Digest
	if !isSame {
		next.seen = now
	}
	next.isFailed = isSame && s.isFailed || w.State == state.WorkFailed
	next.isApplied = isSame && s.isApplied || (next.isDated || next.isFound) && w.HasRolledOut() || w.State == state.WorkApplied && (next.isFailed || w.Generation == 1) ||
		applied.IsAfter(w, next.version) || next.isFound && (applied.IsLater(w) || next.seen.Sub(w.Written()) > EventTTL)
	if !isSame || next.isApplied && !s.isApplied {
		next.since, next.failedAt = time.Time{}, time.Time{}
	}
	next.bake(w, s.pods, now)
	return &next
}

// flap is how long Karmada may say that a Work is not applied which has been well, without its bake beginning again: since 1.19, it
// says so of a repair in the member that something there refuses. The bake stands still meanwhile.
const flap = 10 * time.Minute

// bake notes since when a Work has been well that had so many Pods.
//
//	well until now  now                           since
//	no              well                          now
//	yes             well                          as before
//	yes             not applied                   as before, for as long as flap
//	was, applied    well again                    later by as long as it was not applied
//	yes             applied, has lost no Pod      as before
//	yes             applied, but not well         –
func (s *health) bake(w *state.Work, pods int64, now time.Time) {
	switch {
	case w.IsWell():
		s.pods = w.Pods()
		if s.since.IsZero() {
			s.since = now
		} else if !s.failedAt.IsZero() {
			s.since = s.since.Add(now.Sub(s.failedAt))
		}
		s.failedAt = time.Time{}
	case w.State == state.WorkFailed && !s.since.IsZero() && (s.failedAt.IsZero() || now.Sub(s.failedAt) < flap):
		if s.failedAt.IsZero() {
			s.failedAt = now
		}
	case !w.HasKept(pods):
		s.since, s.failedAt = time.Time{}, time.Time{}
	}
}

// AddHealth adds for how long each Work of a source in waves has been well, without those that are not, which have content
// that reports do not tell from the content before, and which have not been seen to be applied. What Works on a cluster that
// is away report is from before.
func (m *Memory) AddHealth(f *judge.Facts, appliedOf func(*state.Work) *state.Applied) {
	f.HealthyFor, f.Ambiguous, f.Unshown = map[string]time.Duration{}, map[string]bool{}, map[string]time.Duration{}
	for cluster, now := range f.Works {
		if m.read(f.ID, cluster).health.then(now, appliedOf(now), f.Now).note(f, now); f.Clusters[cluster].Away {
			delete(f.HealthyFor, cluster)
		}
	}
	if f.StoppedSince = m.source(f.ID).stopped; f.StoppedSince.IsZero() {
		f.StoppedSince = f.Now
	}
}

// Advance remembers what the facts about a source show that will not be seen again.
func (m *Memory) Advance(f judge.Facts, appliedOf func(*state.Work) *state.Applied) {
	inWaves := f.Source != nil && !f.Source.Waves.IsEmpty()
	if !inWaves {
		m.Stopped(f.ID, false)
	}
	m.each(f.ID, func(cluster string, w *work) {
		if !inWaves || f.Works[cluster] == nil && (w.health == nil || !w.strangers.have(w.health.work)) { // else the cache lacks it
			w.health = nil
		}
		if inWaves && w.deleted != nil && f.HasLeft(w.deleted) {
			w.deleted = nil
		}
		if _, isOrphaning := f.Stalls[cluster]; !isOrphaning {
			w.orphaning = orphaning{}
		}
	})
	for cluster := range f.Stalls {
		m.change(f.ID, cluster, func(w *work) { w.orphaning = w.orphaning.then(f.Works[cluster], f.Now) })
	}
	if !inWaves {
		return
	}
	for cluster, now := range f.Works {
		applied := appliedOf(now)
		m.change(f.ID, cluster, func(w *work) {
			if w.health = w.health.then(now, applied, f.Now); f.Clusters[cluster].Away {
				w.health = w.health.ended()
			}
		})
	}
}

// note adds to the Facts what is remembered of a Work.
func (s *health) note(f *judge.Facts, w *state.Work) {
	if w.IsWell() {
		f.HealthyFor[w.Cluster] = f.Now.Sub(s.since)
	}
	if !s.isDated {
		f.Ambiguous[w.Cluster] = true
	}
	if !s.isApplied {
		f.Unshown[w.Cluster] = f.Now.Sub(s.seen)
	}
}

// ended returns what follows when a Work is not well.
func (s *health) ended() *health {
	if s == nil {
		return nil
	}
	next := *s
	next.since, next.failedAt = time.Time{}, time.Time{}
	return &next
}

// Saw notes a state of a Work, even if its source is not looked at meanwhile.
func (m *Memory) Saw(now *state.Work) {
	m.change(now.Source, now.Cluster, func(w *work) {
		if w.health != nil {
			w.health = w.health.then(now, nil, m.clock.Now())
		}
	})
}

// AwaitsApplied reports whether Karmada is yet to be seen to apply a Work.
func (m *Memory) AwaitsApplied(w *state.Work) bool {
	known := m.read(w.Source, w.Cluster).health
	return known != nil && !known.isApplied
}

// markUnreachable notes that a cluster is, or has been, away, even if no source is looked at meanwhile: what its Works
// report is from before.
func (m *Memory) markUnreachable(cluster string) {
	m.all(func(_ render.Identity, of string, w *work) {
		if of == cluster {
			w.health = w.health.ended()
		}
	})
}

// Stopped notes whether a source has a wave that is not through.
func (m *Memory) Stopped(id render.Identity, is bool) {
	m.changeSource(id, func(s *source) {
		switch {
		case !is:
			s.stopped = time.Time{}
		case s.stopped.IsZero():
			s.stopped = m.clock.Now()
		}
	})
}
