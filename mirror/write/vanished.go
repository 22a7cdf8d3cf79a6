package write

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// vanished are Works that another user has deleted, as they were seen last. A source in waves gives
// them back what they had, whether or not it is their turn; after a restart, they wait for it.
type vanished struct {
	clock clock.PassiveClock
	by    byWork[*state.Work]
	// ours are those that we have deleted ourselves, and theirs those that another user has, while we
	// were looking. They may not be gone yet.
	ours   byWork[deletionSent]
	theirs byWork[types.UID]
}

// deletionSent is a Work whose deletion was requested, and when.
type deletionSent struct {
	work types.UID
	at   time.Time
}

// maxDeletionSent is how long a deletion without an answer may still be carried out.
const maxDeletionSent = 10 * time.Minute

// isOurs reports whether a Work that is being deleted, or has gone, was deleted by us.
func (v *vanished) isOurs(w *state.Work) bool {
	sent, _ := v.ours.get(w.Source, w.Cluster)
	return sent.work == w.UID && v.clock.Since(sent.at) < maxDeletionSent
}

// Vanished returns the Works of a source that another user has deleted, by cluster.
func (v *vanished) Vanished(id render.Identity) map[string]*state.Work {
	v.by.mu.Lock()
	defer v.by.mu.Unlock()
	return maps.Clone(v.by.of[id])
}

// Go notes that the deletion of a Work has begun.
func (v *vanished) Go(w *state.Work) {
	if !v.isOurs(w) {
		v.theirs.set(w.Source, w.Cluster, w.UID)
	}
}

// Vanish notes that a Work has left the cache. It does not count if we have deleted it, or if someone
// had before we looked: that may have been the last leader.
func (v *vanished) Vanish(w *state.Work) {
	theirs, _ := v.theirs.get(w.Source, w.Cluster)
	if theirs == w.UID || !w.Terminating && !v.isOurs(w) {
		v.by.set(w.Source, w.Cluster, w)
	}
}

// deletes notes that we delete a Work: the watch may show it before the answer. It returns what takes that back, if a
// request that was not answered has not noted it before.
func (v *vanished) deletes(w *state.Work) (takeBack func()) {
	last, _ := v.ours.get(w.Source, w.Cluster)
	v.ours.set(w.Source, w.Cluster, deletionSent{w.UID, v.clock.Now()})
	if last.work == w.UID {
		return func() { v.ours.set(w.Source, w.Cluster, last) }
	}
	return func() { v.ours.drop(w.Source, w.Cluster) }
}

// Return forgets that the Work on a cluster was deleted, as when the cluster itself has left.
func (v *vanished) Return(id render.Identity, cluster string) { v.by.drop(id, cluster) }
