package memory

import (
	"maps"
	"slices"
	"time"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// manyEdits in editsAge is more than an autoscaler makes, which looks every 15 seconds (kube-controller-manager's
// --horizontal-pod-autoscaler-sync-period, v1.35). What someone edits in a member, Karmada writes back at once, so that each such edit
// counts twice; one report of more covers a time in which Karmada did not look.
const (
	manyEdits = 45
	editsAge  = 10 * time.Minute
	perReport = 2
)

// edits counts how often the object of a Work was edited in its member while the Work was not. Do not change it.
type edits struct {
	since time.Time
	n     int
	// many is when there were many last; zero if there never were.
	many time.Time
}

func (e *edits) isOver(now time.Time) bool {
	return now.Sub(e.since) > editsAge && now.Sub(e.many) > editsAge
}

// and returns the count after some more edits.
func (e *edits) and(n int, now time.Time) *edits {
	next := edits{since: now}
	if e != nil && !e.isOver(now) {
		next.many = e.many
	}
	if e != nil && now.Sub(e.since) <= editsAge {
		next.since, next.n = e.since, e.n
	}
	if next.n += min(n, perReport); next.n >= manyEdits {
		next = edits{since: now, many: now}
	}
	return &next
}

// Followed notes that a state of a Work has followed another.
func (m *Memory) Followed(before, after *state.Work) {
	n, isOther := after.EditsInMember(before), after.Generation != before.Generation
	if n == 0 && !isOther {
		return
	}
	m.change(after.Source, after.Cluster, func(w *work) {
		if w.edits = w.edits.and(n, m.clock.Now()); isOther {
			w.edits = nil
		}
	})
}

// EditedInMembers returns the clusters where the object of a source is edited again and again, sorted, and for how long that counts,
// from now, if there is peace.
func (m *Memory) EditedInMembers(id render.Identity, targets map[string]judge.Target) (clusters []string, left time.Duration) {
	now := m.clock.Now()
	for _, cluster := range slices.Sorted(maps.Keys(targets)) {
		if e := m.read(id, cluster).edits; e != nil && !e.many.IsZero() && !e.isOver(now) {
			clusters, left = append(clusters, cluster), max(left, e.since.Add(editsAge+1).Sub(now))
		}
	}
	return clusters, left
}
