package gather

import (
	"time"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// advance adds how far the Works of a source in waves have come.
func (c *Caches) advance(f *judge.Facts) {
	if f.Source != nil && (c.Aggregates(f.ID.GroupKind()) || !f.Source.Waves.IsEmpty()) {
		f.Altered = c.options.Memory.Altered(f.Works)
	}
	if f.Source == nil || f.Source.Waves.IsEmpty() {
		return
	}
	f.LeastBake = c.options.LeastBake
	c.options.Memory.AddHealth(f, c.appliedOf)
	if f.UnshownBecause = c.appliedFault(); c.options.WavesWithoutEvents {
		f.Unshown = nil
	}
	for name := range f.Works {
		if now := c.Cluster(name); now != nil && c.options.Memory.IsReturning(now) { // its bakes are about to begin again
			delete(f.HealthyFor, name)
		}
	}
	f.Vanished, f.Replaced = c.options.Memory.Vanished(f.ID), c.options.Memory.Replaced(f.ID, f.Works)
	for cluster, w := range f.Vanished {
		if f.HasLeft(w) {
			delete(f.Vanished, cluster)
		}
	}
}

// Remember remembers what facts show that will not be seen again: call it before they are judged.
func (c *Caches) Remember(f judge.Facts) { c.options.Memory.Advance(f, c.appliedOf) }

// NoteRollout notes whether all waves of a source are through.
func (c *Caches) NoteRollout(j judge.Judgement) {
	c.noteAwaited(j.Verdict.Rollout)
	c.options.Memory.Stopped(j.Facts.ID, j.Verdict.Rollout.Current() != nil)
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
func (r *reading) advance(f *judge.Facts) {
	f.Now, f.HealthyFor, f.LeastBake = time.Now(), map[string]time.Duration{}, judge.DefaultLeastBake
	for cluster, w := range f.Works {
		if w.IsWell() {
			f.HealthyFor[cluster] = max(0, f.Now.Sub(w.Written()))
		}
	}
	if f.Source != nil && !f.Source.Waves.IsEmpty() {
		f.Unshown = r.unshown(f.Works, f.Now)
	}
}
