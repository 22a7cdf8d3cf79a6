package judge

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/karmada-target/karmada-mirror/mirror/state"
)

// repair decides on the Work of a cluster that waits, and that another user has edited or deleted: it
// gets back what it had. That is what its source says, or what the Work of another cluster still has. If
// none has it, a deleted Work gets the new content before its turn, and an edited one stays as it is:
// the edit may be that of an admission webhook, on another user's write.
func (v *Verdict) repair(f Facts, cluster string) {
	t, had := v.Targets[cluster], f.had(cluster, v.Targets[cluster])
	switch {
	case had == nil, f.Replaced[cluster] && t.isSuspended(): // it would stay suspended until its turn
	case f.hadContent(cluster, t):
		v.letThrough(cluster, f.whyGone(cluster))
	case !t.isOf(had) || had.IsAltered():
		v.restore(f, cluster, had)
	}
}

// isOf reports whether a Work has the content, or notes that it was written to it.
func (t Target) isOf(w *state.Work) bool {
	return t.isIn(w) || w.Notes().Written != "" && w.Notes().Written == t.notes.Written
}

// hadContent reports whether a cluster had the content until another user edited or deleted its Work. If that was suspended,
// its member may never have had it, and what admission had made of the content was other content.
func (f Facts) hadContent(cluster string, t Target) bool {
	had := f.had(cluster, t)
	return had != nil && t.isOf(had) && !had.IsAltered() && (!had.IsSuspended() || t.isSuspended())
}

// letThrough takes back that a cluster waits.
func (v *Verdict) letThrough(cluster, because string) {
	t := v.Targets[cluster]
	t.Decision, t.Because, t.Waits, t.adjusts = Wanted, because, false, false
	v.Targets[cluster] = t
}

// whyGone says what has become of a Work that a cluster had.
func (f Facts) whyGone(cluster string) string {
	switch {
	case f.Works[cluster] != nil:
		return "another user has edited the Work"
	case f.Replaced[cluster]:
		return "the Work was deleted to be replaced, and its turn is over"
	}
	return "another user has deleted the Work"
}

// restore gives a Work the content that it had.
func (v *Verdict) restore(f Facts, cluster string, had *state.Work) {
	t := v.Targets[cluster]
	from, isComing := v.sibling(f, cluster, had)
	switch {
	case from != nil:
		if had.IsSuspended() { // as in hasOptions
			suspended := *t.Rendering
			suspended.options.Suspend = true
			t.Rendering = &suspended
		}
		t.from, t.Because = from, "its previous content is restored from cluster "+strconv.Quote(from.Cluster)+": its wave has not started"
		v.Targets[cluster] = t
	case isComing, t.isSuspended(), had.IsSuspended(): // what is suspended is not applied
	case f.Works[cluster] != nil:
		t.Because = "another user has edited the Work, and no other cluster has the content that it had: " + t.Because
		v.Targets[cluster] = t
	default:
		v.letThrough(cluster, "no other cluster has the content that it had")
		v.Notices = AddRefusal(v.Notices, Refusal{Reason: WaveSkipped, Message: fmt.Sprintf(
			"%s for cluster %q, and no other cluster has the content that it had: it gets the new content before its wave", f.whyGone(cluster), cluster)})
	}
}

// sibling returns a Work that has the content that another one had, and is not about to be overwritten;
// nil for none. isComing: the cache does not show yet whether one of them still has it.
func (v *Verdict) sibling(f Facts, cluster string, had *state.Work) (from *state.Work, isComing bool) {
	for _, other := range slices.Sorted(maps.Keys(f.Works)) {
		w, t := f.Works[other], v.Targets[other]
		isSame := w.Digest == had.Digest && !had.IsEdited()
		switch {
		case other == cluster || !w.IsOursFor(f.ID) || w.Terminating || !isSame && !hasNotedOf(w, had):
		case f.Clusters[other].WriteUnderWay:
			isComing = true
		case t.Decision == Wanted && t.lacksContent(w):
		case isSame:
			return w, false
		case from == nil:
			from = w
		}
	}
	return from, isComing
}

// hasNotedOf reports whether a Work has the content that another one notes, before a user edited that. What admission has made
// of a Work for one cluster is not for another.
func hasNotedOf(w, had *state.Work) bool {
	noted := had.Notes().Written
	return noted != "" && w.Notes().Written == noted && w.IsAsWritten()
}

// had returns the state of a Work that another user has edited or deleted: the Work itself, if it
// notes what was written, or the last that was seen of it; nil if no one has, or if it was that of an
// earlier source.
func (f Facts) had(cluster string, t Target) *state.Work {
	w, last := f.Works[cluster], f.Vanished[cluster]
	switch {
	case w == nil && f.Replaced[cluster] && f.Source.Template != nil && f.Source.Template.RunsOnce(): // what it had is not to run again, and what it is to have runs when it is its turn
	case w == nil && last != nil && (last.IsMadeFrom(t.UID()) || f.Replaced[cluster]) && !f.Changed[cluster]:
		return last
	case w != nil && w.IsOursFor(f.ID) && w.IsEdited():
		return w
	}
	return nil
}
