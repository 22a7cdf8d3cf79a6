package memory

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// deletionSent is a Work whose deletion was requested, when, and whether to replace it.
type deletionSent struct {
	work     types.UID
	at       time.Time
	replaces bool
	// absent is since when nothing asks for it, if it replaces; zero if something does.
	absent time.Time
}

// isGivenUp reports whether nothing has asked for long for what is replaced.
func (d *deletionSent) isGivenUp(now time.Time) bool {
	return d != nil && !d.absent.IsZero() && now.Sub(d.absent) >= maxAbsence
}

// since returns the deletion with another time since when nothing asks for it.
func (d *deletionSent) since(absent time.Time) *deletionSent {
	next := *d
	next.absent = absent
	return &next
}

// maxAbsence is how long a Work that was deleted to be replaced is remembered while its source, or its cluster, is not asked for.
const maxAbsence = time.Minute

// maxDeletionSent is how long a deletion without an answer may still be carried out.
const maxDeletionSent = 10 * time.Minute

// isOf reports whether a Work that is being deleted, or has gone, was deleted by us.
func (d *deletionSent) isOf(w *state.Work, now time.Time) bool {
	return d != nil && d.work == w.UID && now.Sub(d.at) < maxDeletionSent
}

// isToReplace reports whether we have deleted a Work to replace it.
func (d *deletionSent) isToReplace(w *state.Work) bool {
	return d != nil && d.replaces && w != nil && d.work == w.UID
}

// Vanished returns the Works of a source that another user has deleted, or that we have to replace them, as they were seen last,
// by cluster. A source in waves gives them back what they had, whether or not it is their turn.
func (m *Memory) Vanished(id render.Identity) map[string]*state.Work {
	var all map[string]*state.Work // rarely needed
	m.each(id, func(cluster string, w *work) {
		if w.deleted == nil || w.ours.isToReplace(w.deleted) && w.ours.isGivenUp(m.clock.Now()) {
			return
		}
		if all == nil {
			all = map[string]*state.Work{}
		}
		all[cluster] = w.deleted
	})
	return all
}

// Replaced returns the clusters of a source whose Work we have deleted to replace it, and that have no other yet.
func (m *Memory) Replaced(id render.Identity, works map[string]*state.Work) map[string]bool {
	var all map[string]bool // rarely needed
	m.each(id, func(cluster string, w *work) {
		if !w.ours.isToReplace(cmp.Or(works[cluster], w.deleted)) || w.ours.isGivenUp(m.clock.Now()) {
			return
		}
		if all == nil {
			all = map[string]bool{}
		}
		all[cluster] = true
	})
	return all
}

// Go notes that the deletion of a Work has begun.
func (m *Memory) Go(gone *state.Work) {
	m.change(gone.Source, gone.Cluster, func(w *work) {
		if !w.ours.isOf(gone, m.clock.Now()) {
			w.theirs = gone.UID
		}
	})
}

// Vanish notes that a Work has left the cache. It does not count if we have deleted it for good, or if someone
// had before we looked: that may have been the last leader. Another user's deletion counts if it restores what the Work had.
func (m *Memory) Vanish(gone *state.Work, restores bool) {
	m.change(gone.Source, gone.Cluster, func(w *work) {
		isTheirs := w.theirs == gone.UID || !gone.Terminating && !w.ours.isOf(gone, m.clock.Now())
		if w.ours.isToReplace(gone) || restores && isTheirs {
			w.deleted = gone
		}
	})
}

// Deleting notes that we delete a Work: the watch may show it before the answer. It returns what takes that back, if a
// request that was not answered has not noted it before.
func (m *Memory) Deleting(gone *state.Work, replaces bool) (takeBack func()) {
	var last *deletionSent
	m.change(gone.Source, gone.Cluster, func(w *work) {
		if w.ours != nil && w.ours.work == gone.UID {
			last = w.ours
		}
		w.ours = &deletionSent{work: gone.UID, at: m.clock.Now(), replaces: replaces}
	})
	return func() { m.change(gone.Source, gone.Cluster, func(w *work) { w.ours = last }) }
}
