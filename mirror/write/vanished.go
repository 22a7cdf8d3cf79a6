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
	// ours are those that we have deleted ourselves, and theirs those that another user has, while we
	// were looking. They may not be gone yet.
	ours, theirs byWork[types.UID]
}

// Vanished returns the Works of a source that another user has deleted, by cluster.
func (v *vanished) Vanished(id render.Identity) map[string]*state.Work {
	v.by.mu.Lock()
	defer v.by.mu.Unlock()
	return maps.Clone(v.by.of[id])
}

// Go notes that the deletion of a Work has begun.
func (v *vanished) Go(w *state.Work) {
	if uid, ok := v.ours.get(w.Source, w.Cluster); !ok || uid != w.UID {
		v.theirs.set(w.Source, w.Cluster, w.UID)
	}
}

// Vanish notes that a Work has left the cache. It does not count if we have deleted it, or if someone
// had before we looked: that may have been the last leader.
func (v *vanished) Vanish(w *state.Work) {
	ours, _ := v.ours.get(w.Source, w.Cluster)
	theirs, _ := v.theirs.get(w.Source, w.Cluster)
	if ours != w.UID && (!w.Terminating || theirs == w.UID) {
		v.by.set(w.Source, w.Cluster, w)
	}
}

// deletes notes that we delete a Work: the watch may show it before the answer. It returns what takes that back, if a
// request that was not answered has not noted it before.
func (v *vanished) deletes(w *state.Work) (takeBack func()) {
	if uid, ok := v.ours.get(w.Source, w.Cluster); ok && uid == w.UID {
		return func() {}
	}
	v.ours.set(w.Source, w.Cluster, w.UID)
	return func() { v.ours.drop(w.Source, w.Cluster) }
}

// Return forgets that the Work on a cluster was deleted, as when the cluster itself has left.
func (v *vanished) Return(id render.Identity, cluster string) { v.by.drop(id, cluster) }
