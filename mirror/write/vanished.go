package write

import (
	"maps"

	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// vanished are Works that another user has deleted, as they were seen last. A source in waves gives
// them back what they had, whether or not it is their turn; after a restart, they wait for it.
type vanished struct {
	by byWork[*state.Work]
	// ours are those that we have deleted ourselves, and that may not be gone yet.
	ours byWork[types.UID]
}

// Vanished returns the Works of a source that another user has deleted, by cluster.
func (v *vanished) Vanished(id render.Identity) map[string]*state.Work {
	v.by.mu.Lock()
	defer v.by.mu.Unlock()
	return maps.Clone(v.by.of[id])
}

// Vanish notes that a Work has left the cache, unless we have deleted it.
func (l *Ledger) Vanish(w *state.Work) {
	if uid, ok := l.vanished.ours.get(w.Source, w.Cluster); ok && uid == w.UID {
		return
	}
	l.vanished.by.set(w.Source, w.Cluster, w)
}

// Return forgets that the Work on a cluster was deleted, as when the cluster itself has left.
func (v *vanished) Return(id render.Identity, cluster string) { v.by.drop(id, cluster) }
