package write

import (
	"maps"

	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// vanished are Works that another user has deleted, as they were seen last. A source in waves gives
// them back what they had, whether or not it is their turn; after a restart, they wait for it.
type vanished struct {
	by byWork[*state.Work]
}

// Vanished returns the Works of a source that another user has deleted, by cluster.
func (v *vanished) Vanished(id render.Identity) map[string]*state.Work {
	v.by.mu.Lock()
	defer v.by.mu.Unlock()
	return maps.Clone(v.by.of[id])
}

// Vanish notes that a Work has left the cache, unless we have deleted it.
func (l *Ledger) Vanish(w *state.Work) {
	if last, ok := l.echoes.by.get(w.Source, w.Cluster); ok && last.kind.Deletes() && last.work == w.UID {
		return
	}
	l.vanished.by.set(w.Source, w.Cluster, w)
}
