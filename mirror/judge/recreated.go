package judge

import (
	"maps"
	"slices"

	"github.com/karmada-target/karmada-mirror/mirror/state"
)

// BecauseReplaced is the proof that a Work of an earlier object has to go before that of the object can be created.
const BecauseReplaced = "the source was recreated, and the earlier object cannot become what it is now: it is deleted and created again"

// isBarred reports whether a Work carries an earlier object of that name, which cannot become what is wanted. What stays in
// the member when the Work is deleted would be in the way, and what admission has made of a Work says nothing about the source.
func (f Facts) isBarred(w *state.Work, t Target) bool {
	_, isAltered := f.Altered[w.Cluster]
	return w.IsOursFor(f.ID) && t.UID() != "" && !w.IsMadeFrom(t.UID()) && w.Bars(t.immutable) && !t.isIn(w) &&
		!w.IsAltered() && !isAltered && !w.Preserves() && !t.options.PreserveOnDeletion
}

// replace decides to delete Works that are barred: as in one cluster, an object that was deleted and created again is another one.
// In waves, each goes when it is its turn.
func (v *Verdict) replace(f Facts) {
	for cluster, t := range v.Targets {
		w := f.Works[cluster]
		switch {
		case w == nil || w.Terminating || t.Decision != Wanted || t.Rendering == nil || !f.Source.Deleted.IsZero() || !f.isBarred(w, t):
		case t.isSuspended():
			v.hold(f, cluster, BecauseReplaced+", once the cluster is no longer suspended")
		default:
			t.Replaces = true
			v.Targets[cluster] = t.unwanted(f, BecauseReplaced)
			v.NeedsApproval = v.NeedsApproval || f.predatesDefinition()
		}
	}
}

// Replaces reports whether a Work is to be deleted to be replaced.
func (v Verdict) Replaces() bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(v.Targets)), func(t Target) bool { return t.Replaces })
}
