package gather

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/memory"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// steadiness remembers since when the Works of sources in waves have had their content and been well,
// by the local clock, and whether reports tell it from the content before. A new process does not know
// it: each bake then begins again.
type steadiness struct {
	mu sync.Mutex
	of map[render.Identity]map[string]steady
}

// steady is a Work with some content, and since when it has been well; zero if it is not.
type steady struct {
	work       types.UID
	digest     render.Digest
	generation int64
	// highest is the highest generation that was seen in this Work.
	highest int64
	since   time.Time
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
func (s steady) then(w *state.Work, applied *state.Applied, now time.Time) steady {
	next := s
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
		applied.IsAfter(w, next.version) || next.isFound && (applied.IsLater(w) || next.seen.Sub(w.Written()) > eventTTL)
	if !isSame || next.isApplied && !s.isApplied {
		next.since = time.Time{}
	}
	switch {
	case w.IsWell():
		next.pods = w.Pods()
		if next.since.IsZero() {
			next.since = now
		}
	case !w.HasKept(s.pods):
		next.since = time.Time{}
	}
	return next
}

// note adds for how long each Work of a source has been well, without those that are not, which have content
// that reports do not tell from the content before, and which have not been seen to be applied.
func (s *steadiness) note(f *judge.Facts, appliedOf func(*state.Work) *state.Applied) {
	s.mu.Lock()
	defer s.mu.Unlock()
	current := map[string]steady{}
	f.Steady, f.Undated, f.Unshown = map[string]time.Duration{}, map[string]bool{}, map[string]time.Duration{}
	for cluster, w := range f.Works {
		as := s.of[f.ID][cluster].then(w, appliedOf(w), f.Now)
		current[cluster] = as
		if w.IsWell() {
			f.Steady[cluster] = f.Now.Sub(as.since)
		}
		if !as.isDated {
			f.Undated[cluster] = true
		}
		if !as.isApplied {
			f.Unshown[cluster] = f.Now.Sub(as.seen)
		}
	}
	if s.of == nil {
		s.of = map[render.Identity]map[string]steady{}
	}
	s.of[f.ID] = current
}

// saw notes a state of a Work, even if its source is not looked at meanwhile.
func (s *steadiness) saw(w *state.Work, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if as, isKnown := s.of[w.Source][w.Cluster]; isKnown {
		s.of[w.Source][w.Cluster] = as.then(w, nil, now)
	}
}

// awaits reports whether Karmada is yet to be seen to apply a Work.
func (s *steadiness) awaits(w *state.Work) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	as, isKnown := s.of[w.Source][w.Cluster]
	return isKnown && !as.isApplied
}

// end notes that a Work is not well, even if its source is not looked at meanwhile.
func (s *steadiness) end(w *state.Work) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if as, isKnown := s.of[w.Source][w.Cluster]; isKnown {
		as.since = time.Time{}
		s.of[w.Source][w.Cluster] = as
	}
}

// unreached notes that a cluster has been away: what its Works report is from before.
func (s *steadiness) unreached(cluster string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, works := range s.of {
		if as, isKnown := works[cluster]; isKnown {
			as.since = time.Time{}
			works[cluster] = as
		}
	}
}

// Unreached notes that a cluster is, or has been, away, even if no source is looked at meanwhile.
func (c *Caches) Unreached(cluster string) { c.steadiness.unreached(cluster) }

// forget forgets a source that is not in waves.
func (s *steadiness) forget(id render.Identity) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.of, id)
}

// prune frees the memory that the map keeps for deleted entries.
func (s *steadiness) prune() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of = memory.Shrink(s.of)
}

// Saw notes a state of a Work.
func (c *Caches) Saw(w *state.Work) { c.steadiness.saw(w, c.options.Clock.Now()) }

// advance adds how far the Works of a source in waves have come.
func (c *Caches) advance(f *judge.Facts) {
	f.Now = c.options.Clock.Now()
	if f.Source != nil && c.Aggregates(f.ID.GroupKind()) {
		f.Altered = c.options.Memory.Altered(f.Works)
	}
	if f.Source == nil || f.Source.Waves.IsEmpty() {
		c.steadiness.forget(f.ID)
		c.stopped.forget(f.ID)
		return
	}
	f.LeastBake = c.options.LeastBake
	c.steadiness.note(f, c.appliedOf)
	if f.UnshownBecause = c.appliedFault(); c.options.WavesWithoutEvents {
		f.Unshown = nil
	}
	for cluster, w := range f.Works {
		if f.Clusters[cluster].Away { // what is reported is from before
			c.steadiness.end(w)
			delete(f.Steady, cluster)
		}
	}
	f.StoppedSince = c.stopped.get(f.ID, f.Now)
	f.Vanished = c.options.Memory.Vanished(f.ID)
	for cluster, w := range f.Vanished {
		if facts := f.Clusters[cluster]; f.Unknown == "" && (facts.State != judge.ClusterJoined || !w.Written().After(facts.Joined)) { // it has left with its cluster
			c.options.Memory.Return(f.ID, cluster)
			delete(f.Vanished, cluster)
		}
	}
}

// NoteRollout notes whether all waves of a source are through.
func (c *Caches) NoteRollout(j judge.Judgement) {
	c.noteAwaited(j.Verdict.Rollout)
	if j.Verdict.Rollout.Current() == nil {
		c.stopped.forget(j.Facts.ID)
		return
	}
	c.stopped.note(j.Facts.ID, c.options.Clock.Now())
}

// InWaves reports whether a change reaches the clusters of a source in waves, by the caches.
func (c *Caches) InWaves(id render.Identity) bool {
	w, _ := c.watchOf(id)
	if w == nil {
		return false
	}
	obj, exists, _ := w.Get(id.Namespace, id.Name)
	if !exists {
		return false
	}
	namespace, _ := c.namespaceOf(id)
	waves, err := obj.(*state.Object).Wishes().Over(namespace.Wishes).Waves()
	return err == nil && !waves.IsEmpty()
}

// advance adds the same for a reader who has not followed the Works: they count as well since they were last
// written.
func (r *Reader) advance(ctx context.Context, f *judge.Facts) (err error) {
	f.Now, f.Steady, f.LeastBake = time.Now(), map[string]time.Duration{}, judge.DefaultLeastBake
	for cluster, w := range f.Works {
		if w.IsWell() {
			f.Steady[cluster] = max(0, f.Now.Sub(w.Written()))
		}
	}
	if f.Source != nil && !f.Source.Waves.IsEmpty() {
		f.Unshown, err = r.unshown(ctx, f.Works, f.Now)
	}
	return err
}
