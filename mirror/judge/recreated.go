package judge

import "github.com/karmada-target/karmada-mirror/mirror/state"

// BecauseReplaced is the proof that a Work of an earlier object has to go before that of the object can be created.
const BecauseReplaced = "the source was recreated, and the earlier object cannot become what it is now: it is deleted and created again"

// isBarred reports whether a Work carries an earlier object of that name, which cannot become what is wanted. What stays in
// the member when the Work is deleted would be in the way.
func (f Facts) isBarred(w *state.Work, t Target) bool {
	return w != nil && w.IsOursFor(f.ID) && t.Rendering != nil && t.UID() != "" && !w.IsMadeFrom(t.UID()) &&
		w.Bars(t.immutable) && !w.Preserves() && !t.options.PreserveOnDeletion
}

// replace decides to delete Works whose turn it is and that are barred: as in one cluster, an object that was deleted and created
// again is another one.
func (v *Verdict) replace(f Facts) {
	for cluster, t := range v.Targets {
		w := f.Works[cluster]
		switch {
		case t.Decision != Wanted || !f.isBarred(w, t) || w.Terminating:
		case t.isSuspended():
			v.hold(f, cluster, BecauseReplaced+", once the cluster is no longer suspended")
		default:
			t.Replaces = true
			v.Targets[cluster] = t.unwanted(f, BecauseReplaced)
		}
	}
}
