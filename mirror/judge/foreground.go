package judge

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/render/aggregate"
)

// FinalizerChange is what to do about our finalizer on a source.
type FinalizerChange int

// The changes.
const (
	LeaveFinalizer FinalizerChange = iota
	AddFinalizer
	RemoveFinalizer
)

// Finalizer returns what to do about our finalizer: a source has it while it asks to be deleted in
// the foreground, and until its last Work is gone. What may be a mistake changes nothing.
func (j Judgement) Finalizer() FinalizerChange {
	s := j.Facts.Source
	switch {
	case j.Facts.Unknown != "" || s == nil:
	case !s.Finalized:
		if s.Foreground && s.Asks && s.Refusal == nil {
			return AddFinalizer
		}
	case !s.Foreground:
		return RemoveFinalizer
	case !s.Asks && (s.Refusal == nil || s.Refusal.Reason == ClaimedByPolicy) && j.Facts.remaining() == nil:
		return RemoveFinalizer
	}
	return LeaveFinalizer
}

// ShowsFinalizer reports whether our finalizer is on the source, or that there is no source to have it.
func (j Judgement) ShowsFinalizer() bool {
	return j.Facts.Unknown == "" && (j.Facts.Source == nil || j.Facts.Source.Finalized)
}

// AwaitsWorks reports whether the source keeps our finalizer for its Works, so that a Work that the cache
// does not show would be missed if the finalizer were removed.
func (j Judgement) AwaitsWorks() bool { return j.Facts.Source != nil && j.Facts.Source.Foreground }

// Lingers reports whether a source that is being deleted waits for Works whose deletion the breaker does not hold.
func (j Judgement) Lingers() bool {
	return j.Facts.Source != nil && j.Facts.Source.Leaving &&
		slices.ContainsFunc(j.Facts.remaining(), func(w *state.Work) bool { return w.Held == nil || w.Terminating })
}

// remaining lists the Works of the source that still exist, sorted by cluster.
func (f Facts) remaining() (works []*state.Work) {
	for _, cluster := range slices.Sorted(maps.Keys(f.Works)) {
		if w := f.Works[cluster]; w.IsOursFor(f.ID) {
			works = append(works, w)
		}
	}
	return works
}

// lingering reports what a source that is being deleted in the foreground waits for; nil if it is not,
// or waits for nothing.
func lingering(f Facts) *Refusal {
	if f.Unknown != "" || f.Source == nil || !f.Source.Leaving {
		return nil
	}
	clusters := map[string][]string{}
	for _, w := range f.remaining() {
		why := f.delays(w)
		clusters[why] = append(clusters[why], w.Cluster)
	}
	if len(clusters) == 0 {
		return nil
	}
	var waits []string
	for _, why := range slices.Sorted(maps.Keys(clusters)) {
		waits = append(waits, fmt.Sprintf("%s (%s)", aggregate.SomeOf(clusters[why]), why))
	}
	return &Refusal{Reason: DeletionPending, Message: fmt.Sprintf("being deleted since %s; its Works remain for %s",
		f.Source.Deleted.UTC().Format(time.RFC3339), strings.Join(waits, "; "))}
}

// delays returns why a Work of a source that is being deleted still exists.
func (f Facts) delays(w *state.Work) string {
	switch {
	case w.Held.Holds() && !w.Terminating:
		return "the deletion breaker holds their deletion: karmada-mirror deletions list"
	case !w.Terminating && f.NeededBy[w.Cluster] != render.Identity{}:
		return fmt.Sprintf("the Pods of %s need it until its waves are through", f.NeededBy[w.Cluster])
	case !w.Terminating:
		return "not deleted yet"
	case f.Clusters[w.Cluster].State == ClusterMissing:
		return "there is no such cluster any more"
	case f.Clusters[w.Cluster].Away:
		return "the cluster is not ready"
	case w.Preserves() && slices.Contains(w.Finalizers, render.ExecutionFinalizer):
		return "Karmada has not parted them from the objects that they preserve"
	}
	return "Karmada has not reported yet that the member has accepted the deletion"
}
