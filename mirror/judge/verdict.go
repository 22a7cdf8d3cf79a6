package judge

import (
	"maps"
	"slices"
	"time"

	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// Verdict is the desired state of a source's Works, as far as it is known.
type Verdict struct {
	ID render.Identity
	// Unread: a Work is wanted, but its content is unknown until the source is read.
	Unread bool
	// Targets are the decisions by cluster.
	Targets map[string]Target
	// Refusals are what a user can fix, sorted by Reason.
	Refusals []Refusal
	// Notices are what a user should know although the daemon has done all it can.
	Notices []Refusal
	// Rollout is how far the content has come, for a source in waves; nil for others.
	Rollout *Rollout
	// RecheckAfter is when to judge again without an event; 0 for never.
	RecheckAfter time.Duration
	// NeedsApproval: deletions are due because the definition of the kind was deleted,
	// so an administrator must approve them, however few.
	NeedsApproval bool
}

// AsksBinding reports whether a decision depends on a binding that must be read live.
func (v Verdict) AsksBinding() bool {
	for _, target := range v.Targets {
		if target.AsksBinding {
			return true
		}
	}
	return false
}

// AwaitingNamespace returns the clusters where no Work can be created yet, sorted.
func (v Verdict) AwaitingNamespace() (clusters []string) {
	for _, cluster := range slices.Sorted(maps.Keys(v.Targets)) {
		if v.Targets[cluster].AwaitsNamespace {
			clusters = append(clusters, cluster)
		}
	}
	return clusters
}

// RestsOn returns the clusters on which content rests that is to be written now.
func (j Judgement) RestsOn() []string {
	if j.Verdict.Rollout == nil {
		return nil
	}
	return j.Verdict.Rollout.RestsOn
}

// Lacking returns the clusters that the source chooses and that have no Work, which cannot be created now, sorted; not those that are
// suspended.
func (j Judgement) Lacking() (clusters []string) {
	f, r := j.Facts, renderings{f: j.Facts}
	if f.Source == nil {
		return nil
	}
	for _, cluster := range slices.Sorted(maps.Keys(j.Verdict.Targets)) {
		w := f.Works[cluster]
		if isPending(f, cluster, j.Verdict.Targets[cluster]) && !f.Clusters[cluster].WriteUnderWay && !r.optionsOn(cluster).Suspend && (w == nil || !w.IsOursFor(f.ID)) {
			clusters = append(clusters, cluster)
		}
	}
	return clusters
}

// Hidden returns the clusters without a Work where one is wanted and is not created now, sorted: there may be one that is not
// labelled as ours.
func (j Judgement) Hidden() (clusters []string) {
	for _, cluster := range slices.Sorted(maps.Keys(j.Verdict.Targets)) {
		if t := j.Verdict.Targets[cluster]; t.Decision != Unknown || t.from != nil || j.Facts.Works[cluster] != nil {
			continue
		}
		if wanted, _ := decideTarget(j.Facts, cluster); wanted.Decision == Wanted {
			clusters = append(clusters, cluster)
		}
	}
	return clusters
}

// Lost returns, by cluster, the override policies that no longer apply, but only by the cache; nil
// if there are none.
func (v Verdict) Lost() map[string][]string {
	var lost map[string][]string
	for cluster, target := range v.Targets {
		if target.Lost == nil {
			continue
		}
		if lost == nil {
			lost = map[string][]string{}
		}
		lost[cluster] = target.Lost
	}
	return lost
}

// IsKept reports whether a Work that is not wanted is kept because a workload in waves still needs its object.
func (t Target) IsKept() bool { return t.neededBy }

// Decision says whether a Work is wanted. The zero value is Unknown, which
// keeps whatever exists.
type Decision int

// The decisions. Only Unwanted deletes.
const (
	Unknown Decision = iota
	Wanted
	Unwanted
	// Released belongs to another owner from now on: our marks are removed from it, and
	// the rest stays.
	Released
	// Unneeded duplicates a policy's Work, which carries the same object: the Work is
	// deleted, and the object stays.
	Unneeded
)

// String returns the word that commands print.
func (d Decision) String() string {
	return [...]string{"Unknown", "Wanted", "Unwanted", "Released", "Unneeded"}[d]
}

// Target is the verdict on one cluster.
type Target struct {
	Decision Decision
	// Because is the reason for Wanted, the proof of Unwanted, or what is missing
	// for a decision.
	Because string
	// Unproven: the decision is Unknown because only the cache speaks for a deletion.
	Unproven bool
	// AsksBinding: the decision depends on a live read: whether a policy is still behind the
	// binding that took over the Work, or whether a binding has its own Work for the object.
	AsksBinding bool
	// AwaitsNamespace: the decision is Unknown because the execution namespace does not exist yet.
	AwaitsNamespace bool
	// Lost are the override policies that have changed the Work and no longer apply, but only by
	// the cache: the decision is Unknown.
	Lost []string
	// Keeps: the cluster gets fewer replicas of a divided source once others have more. Their Works are then
	// events.
	Keeps bool
	// Unselected: the source exists and does not exclude the cluster, but its selector does not match the cluster's
	// labels. They may have changed, which no one source tells.
	Unselected bool
	// Replaces: it is deleted, proved or not, to be created again.
	Replaces bool
	// Waits: the decision is Unknown because it is not the turn of the cluster.
	Waits bool
	// Notices are what the notices of the verdict say of this cluster, if they are each about some.
	Notices map[Reason]string
	// Rendering is what a wanted Work, or one that waits, is made from.
	*Rendering
	// Operation is what to write now; its Kind is empty for nothing.
	Operation Operation
	// RecheckAfter is when to decide again without an event; 0 for never.
	RecheckAfter time.Duration
	// Wake is when the cluster that the Work waits for came back, or when the Work was written that Karmada has
	// not been seen to apply; zero if it does not wait. wakeIn is how long to wait before waking it.
	Wake   time.Time
	wakeIn time.Duration
	// amends: the source asks to preserve its object, which the Work must say before it is deleted. adjusts: the Work of
	// a cluster that waits lacks what takes effect at once.
	// neededBy: the decision is Unknown because a workload that waits for its turn still needs it.
	amends, adjusts, neededBy bool
	// from is the Work of another cluster whose content the Work of a cluster that waits gets back; nil for none.
	from *state.Work
}
