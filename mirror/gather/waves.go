package gather

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
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
	// isDated: what is reported of this generation is about this content.
	isDated bool
}

// then returns what follows when a Work is seen after s. A report names the generation of the source
// from which the content was made, and so tells contents apart that were made from different ones. The
// first content of a Work has none before it.
func (s steady) then(w *state.Work, now time.Time) steady {
	next := steady{work: w.UID, digest: w.Digest, generation: w.SourceGeneration(), since: s.since, isDated: s.isDated}
	next.highest = next.generation
	if s.work == w.UID {
		next.highest = max(s.highest, next.generation)
	}
	if s.work != w.UID || s.digest != w.Digest {
		next.since = time.Time{}
		next.isDated = w.Generation == 1 || s.work == w.UID && s.generation > 0 && next.generation > s.highest
	}
	switch {
	case !w.IsWell():
		next.since = time.Time{}
	case next.since.IsZero():
		next.since = now
	}
	return next
}

// note returns for how long each Work of a source has been well, without those that are not, and which
// have content that reports do not tell from the content before.
func (s *steadiness) note(id render.Identity, works map[string]*state.Work, now time.Time) (lasts map[string]time.Duration, undated map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	current := map[string]steady{}
	lasts, undated = map[string]time.Duration{}, map[string]bool{}
	for cluster, w := range works {
		as := s.of[id][cluster].then(w, now)
		current[cluster] = as
		if !as.since.IsZero() {
			lasts[cluster] = now.Sub(as.since)
		}
		if !as.isDated {
			undated[cluster] = true
		}
	}
	if s.of == nil {
		s.of = map[render.Identity]map[string]steady{}
	}
	s.of[id] = current
	return lasts, undated
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
	s.of = maps.Clone(s.of)
}

// Unwell notes that a Work is no longer well.
func (c *Caches) Unwell(w *state.Work) { c.steadiness.end(w) }

// advance adds how far the Works of a source in waves have come.
func (c *Caches) advance(f *judge.Facts) {
	f.Now = c.options.Clock.Now()
	if f.Source != nil && c.Aggregates(f.ID.GroupKind()) {
		f.Altered = c.options.Writes.Altered(f.ID, f.Works)
	}
	if f.Source == nil || f.Source.Waves.IsEmpty() {
		c.steadiness.forget(f.ID)
		c.stopped.forget(f.ID)
		return
	}
	f.LeastBake = c.options.LeastBake
	f.Steady, f.Undated = c.steadiness.note(f.ID, f.Works, f.Now)
	for cluster, w := range f.Works {
		if f.Clusters[cluster].Away { // what is reported is from before
			c.steadiness.end(w)
			delete(f.Steady, cluster)
		}
	}
	f.StoppedSince = c.stopped.get(f.ID, f.Now)
	f.Vanished = c.options.Writes.Vanished(f.ID)
	for cluster := range f.Vanished {
		if f.Clusters[cluster].State != judge.ClusterJoined { // its Works have left with it
			c.options.Writes.Return(f.ID, cluster)
			delete(f.Vanished, cluster)
		}
	}
}

// NoteRollout notes whether all waves of a source are through.
func (c *Caches) NoteRollout(j judge.Judgement) {
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

// advanceSince adds the same for a reader who has not followed the Works: they count as well since
// they were last written.
func advanceSince(f *judge.Facts, now time.Time) {
	f.Now, f.Steady, f.LeastBake = now, map[string]time.Duration{}, judge.DefaultLeastBake
	for cluster, w := range f.Works {
		if w.IsWell() {
			f.Steady[cluster] = max(0, now.Sub(w.Written()))
		}
	}
}
