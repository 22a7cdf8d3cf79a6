package judge

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// Judgement is what is known about a source, and what follows from it.
type Judgement struct {
	Facts   Facts
	Verdict Verdict
	// Plan is what to write: creates and updates before deletes, each sorted by cluster. Due are the Works to delete by
	// the verdict, proved or not.
	Plan []Operation
	Due  []Due
}

// IsOpen reports whether it is not known now if the deletion of a Work is due.
func (j Judgement) IsOpen(cluster string) bool {
	_, exists := j.Facts.Works[cluster]
	return exists && (j.Facts.Unknown != "" || j.Facts.Clusters[cluster].WriteUnderWay)
}

// On judges a source by the facts about it.
func On(f Facts) Judgement {
	v := Decide(f)
	return Judgement{Facts: f, Verdict: v, Plan: v.Plan(), Due: dueDeletions(v, f.Works)}
}

// Decide decides, for every cluster that the source asks for or that has a Work
// of the source, whether that Work is wanted:
//
//	source                      asks for it    cluster      Work     decision
//	nothing known               –              –            –        Unknown
//	absent, by the cache        –              –            ours     Unknown, unproven
//	absent, by a live read      –              –            ours     Unwanted
//	definition deleted, live    –              –            ours     Unwanted, NeedsApproval
//	absent, definition newer    –              –            ours     Unwanted, NeedsApproval
//	leaving, by the cache       –              –            ours     Unknown, unproven
//	leaving, by a live read     –              –            ours     Unwanted
//	anything known              –              –            another object  Released
//	claimed by a policy         –              –            ours, bound     Released
//	claimed by a policy         –              –            ours     Unknown
//	claimed by a policy         –              –            ours, beside the policy's  Unneeded
//	refused                     –              –            –        Unknown
//	present, not authorized     yes            –            –        Unknown
//	present, as its owner there  yes           –            –        Unknown
//	present                     yes            missing      –        Unknown
//	present                     by labels      missing      ours     Unknown
//	present                     yes            terminating  –        Unknown
//	present                     yes            no namespace –        Unknown
//	present, being deleted      yes            joined       –        Unknown
//	present                     yes            joined       foreign  Unknown
//	present                     yes            joined       bound, unbound by a live read  Wanted
//	recreated, cannot be changed into it  yes  joined       ours     as not asked for, and then Wanted
//	present                     yes            joined       ours/–   Wanted
//	not wanted                  –              a workload in waves needs it  ours  Unknown
//	present, a definition       no             –            ours     Unknown
//	present, a leader not known, or with a Work there  no  –  ours   Unknown
//	present, by the cache       no             –            ours     Unknown, unproven
//	present, by a live read     no             –            ours     Unwanted
func Decide(f Facts) Verdict {
	v := Verdict{ID: f.ID, Targets: map[string]Target{}, NeedsApproval: f.Definition != DefinitionServed || f.Source == nil && f.predatesDefinition()}
	if f.Unknown == "" && f.Source != nil {
		if f.Source.Refusal != nil && (f.Source.Asks || f.Source.Refusal == noOptOut) {
			v.Refusals = append(v.Refusals, *f.Source.Refusal)
		}
	}
	r := renderings{f: f}
	for _, cluster := range f.Targets() {
		target, refusal := decideTarget(f, cluster)
		if target.Decision == Wanted {
			target, refusal = r.render(cluster, target)
			v.Unread = v.Unread || target.Decision == Unknown && refusal == nil && target.Lost == nil && !target.Waits
		}
		if w, ok := f.Works[cluster]; ok && w.Source == f.ID {
			if r := f.Clusters[cluster].Recovery; f.Unknown == "" && r.Awaits(w) { // another daemon may look after the others
				target.Wake, target.wakeIn = r.At, r.In
			}
		}
		target.adjusts = target.adjusts || f.isBack(cluster, target)
		v.Targets[cluster] = target
		if refusal != nil {
			v.Refusals = AddRefusal(v.Refusals, *refusal)
		}
	}
	if f.Unknown == "" && f.Source != nil && f.Source.Asks && f.Source.Foreground && f.Source.UID == "" {
		v.Unread = true // its finalizer is for one UID
	}
	if unknown := UnknownNames(f); unknown != nil {
		v.Refusals = AddRefusal(v.Refusals, *unknown)
	}
	if f.Unknown == "" && f.Source != nil && f.Source.Doubt != "" {
		v.Refusals = AddRefusal(v.Refusals, Refusal{Reason: InvalidAnnotation, Message: render.FollowsAnnotation + ": " + f.Source.Doubt})
	}
	rollOut(f, &r, &v)
	v.replace(f)
	v.decideOperations(f)
	v.Notices = append(v.Notices, notices(f, v)...)
	slices.SortFunc(v.Refusals, func(a, b Refusal) int { return cmp.Compare(a.Reason, b.Reason) })
	return v
}

// UnknownNames refuses names in annotations that choose no clusters, if no cluster has them: they may be misspelt, and then
// nothing is suspended, or no cluster goes first; and a choice of clusters that matches none. No Target says so. It returns nil if there
// are none.
func UnknownNames(f Facts) *Refusal {
	if f.Unknown != "" || f.Source == nil || !f.Source.Asks || f.Source.Refusal != nil {
		return nil
	}
	var all []Refusal
	for _, named := range f.Source.Wishes.Named() {
		var unknown []string
		for _, name := range named.Names {
			if f.Clusters[name].State == ClusterMissing {
				unknown = append(unknown, strconv.Quote(name))
			}
		}
		if unknown != nil {
			all = AddRefusal(all, Refusal{Reason: UnknownCluster, Message: fmt.Sprintf("%s: no cluster %s has joined yet", named.Annotation, strings.Join(unknown, " or ")), Elsewhere: named.Inherited})
		}
	}
	matches := func(cluster string) bool { return f.Source.Terms.Matches(cluster, f.Clusters[cluster].Labels) }
	isKnown := f.Source.Doubt == "" && (!f.ClustersHidden || !f.Source.Terms.IsOpen())
	if isKnown && f.ID.GroupKind() != state.DefinitionKind && !slices.ContainsFunc(f.Targets(), matches) { // a missing one has a refusal of its own
		all = AddRefusal(all, Refusal{Reason: UnknownCluster, Message: "it asks for " + f.Source.Wishes.Targets() + ", which matches no cluster", Elsewhere: f.Source.Wishes.InheritsTargets()})
	}
	if all == nil {
		return nil
	}
	return &all[0]
}

// isLong reports whether the Work on a cluster has, or is to have, the longer name.
func (f Facts) isLong(cluster string) bool {
	if w, ok := f.Works[cluster]; ok {
		return w.IsLong()
	}
	return f.Taken[cluster]
}

// isBack reports whether a deletion that was held is not due any more, although nothing is to be written: of a source that is
// there again, but refused. An approval would cover the next one otherwise.
func (f Facts) isBack(cluster string, t Target) bool {
	w := f.Works[cluster]
	return f.Unknown == "" && f.Source != nil && t.Decision == Unknown && !t.Unproven && isOf(f, cluster) && w.Held != nil && w.Foreign == "" && !f.Clusters[cluster].WriteUnderWay
}

// predatesDefinition reports whether the source that a Work was made from is older than the
// definition of its kind: it was deleted with an earlier definition of that name. Both times are in seconds.
func (f Facts) predatesDefinition() bool {
	for _, w := range f.Works {
		created := w.SourceCreated()
		if w.Source == f.ID && (created.Before(f.DefinitionCreated) || f.Redefined && created.Equal(f.DefinitionCreated)) {
			return true
		}
	}
	return false
}

// Targets lists every cluster that needs a decision, sorted.
func (f Facts) Targets() []string {
	clusters := map[string]bool{}
	for cluster := range f.Works {
		clusters[cluster] = true
	}
	if f.Source != nil {
		for _, cluster := range f.Source.Terms.Names() {
			clusters[cluster] = true
		}
		for cluster, facts := range f.Clusters {
			if facts.State != ClusterMissing && f.Source.Terms.Matches(cluster, facts.Labels) { // another annotation may name what does not exist
				clusters[cluster] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(clusters))
}

// The proofs that an object was, or is being, deleted with the definition of its kind. Marks on
// Works contain them.
const (
	BecauseDefinitionDeleted     = "the CustomResourceDefinition of the source has been deleted"
	BecauseDefinitionTerminating = "the source does not exist, and the CustomResourceDefinition of it is being deleted"
)

// IsOfDefinition reports whether a proof is one of those.
func IsOfDefinition(because string) bool {
	return because == BecauseDefinitionDeleted || because == BecauseDefinitionTerminating
}

// BecauseLeaving is the proof that a source is to be deleted in the foreground.
const BecauseLeaving = "the source is being deleted"

func decideTarget(f Facts, cluster string) (Target, *Refusal) {
	switch {
	case f.Unknown != "":
		return Target{Decision: Unknown, Because: f.Unknown}, nil
	case f.Clusters[cluster].WriteUnderWay:
		return Target{Decision: Unknown, Because: "the last write is not in the cache yet"}, nil
	case isOf(f, cluster) && f.Works[cluster].IsOverwritten():
		return Target{Decision: Released, Because: f.Works[cluster].Foreign}, nil
	case f.Source == nil && f.Definition == DefinitionDeleted:
		return unwanted(f, cluster, BecauseDefinitionDeleted), nil
	case f.Source == nil && f.Definition == DefinitionTerminating:
		return unwanted(f, cluster, BecauseDefinitionTerminating), nil
	case f.Source == nil:
		return unwanted(f, cluster, "the source does not exist"), nil
	case f.Source.Leaving && f.Definition != DefinitionServed:
		return unwanted(f, cluster, BecauseDefinitionTerminating), nil
	case f.Source.Leaving:
		return unwanted(f, cluster, BecauseLeaving), nil
	case f.Source.Refusal != nil && f.Source.Refusal.Reason == ClaimedByPolicy && isOf(f, cluster) && f.Works[cluster].Bound():
		return Target{Decision: Released, Because: f.Source.Refusal.Message}, nil
	case f.Source.Refusal != nil:
		return refused(f, cluster), refusalOf(f, cluster)
	case !f.Source.Terms.Matches(cluster, f.Clusters[cluster].Labels) && f.ID.GroupKind() == state.DefinitionKind:
		return Target{Decision: Unknown, Because: "a definition stays as long as it exists"}, nil
	case !f.Source.Terms.Matches(cluster, f.Clusters[cluster].Labels) && f.Source.Doubt != "":
		return Target{Decision: Unknown, Because: f.Source.Doubt}, nil
	case !f.Source.Terms.Matches(cluster, f.Clusters[cluster].Labels) && f.Source.Led[cluster]:
		return Target{Decision: Unknown, Because: "what it follows still has a Work there"}, nil
	case !f.Source.Terms.Matches(cluster, f.Clusters[cluster].Labels):
		if f.Source.Terms.HasSelector() && f.Clusters[cluster].State == ClusterMissing {
			return Target{Decision: Unknown, Because: "there is no such cluster, so its labels are unknown"}, nil
		}
		if f.Source.Terms.HasSelector() && !f.Source.Terms.Excludes(cluster) {
			target := unwanted(f, cluster, "the source's selector does not match the labels of this cluster")
			target.Unselected = true
			return target, nil
		}
		return unwanted(f, cluster, "the source does not ask for this cluster"), nil
	}
	if f.Clusters[cluster].Forbidden {
		return Target{Decision: Unknown, Because: notAuthorized(cluster).Message}, new(notAuthorized(cluster))
	}
	if owner := f.Clusters[cluster].Owner; owner != (render.Identity{}) {
		return madeBy(f, cluster, owner)
	}
	switch f.Clusters[cluster].State {
	case ClusterMissing:
		return Target{Decision: Unknown, Because: "there is no such cluster"}, &Refusal{Reason: UnknownCluster, Message: fmt.Sprintf("no cluster %q has joined yet", cluster), Elsewhere: f.Source.Wishes.InheritsClusters()}
	case ClusterTerminating:
		return Target{Decision: Unknown, Because: "the cluster is being removed"}, nil
	}
	if !f.Source.Deleted.IsZero() && f.Works[cluster] == nil {
		return Target{Decision: Unknown, Because: "the source is being deleted, so nothing new is written"}, nil
	}
	if w, ok := f.Works[cluster]; ok && wasOurs(w, f.ID) && w.Foreign != "" && w.Carries() == f.ID && (w.Source == f.ID || !w.NamesSource()) {
		return takeBack(f, w)
	}
	if owner := foreignOwner(f, cluster); owner != "" {
		return Target{Decision: Unknown, Because: owner}, &Refusal{Reason: WorkConflict, Message: owner}
	}
	if f.Clusters[cluster].LacksNamespace && f.Works[cluster] == nil {
		return Target{Decision: Unknown, Because: "its execution namespace " + render.ExecutionNamespace(cluster) + " does not exist yet", AwaitsNamespace: true}, nil
	}
	return Target{Decision: Wanted, Because: "the source asks for this cluster"}, nil
}

// wasOurs reports whether a Work that a binding took over was the source's: it says so, or it
// still has all our marks because no one noticed the claim while it lasted.
func wasOurs(w *state.Work, id render.Identity) bool {
	return w.HandedBy(id) || w.Source == id && w.Bound()
}

// takeBack decides on a Work that was ours until a policy claimed its source.
func takeBack(f Facts, w *state.Work) (Target, *Refusal) {
	if w.Bound() && !f.Clusters[w.Cluster].Unbound {
		owner := foreignOwner(f, w.Cluster)
		return Target{Decision: Unknown, Because: owner, AsksBinding: true}, &Refusal{Reason: WorkConflict, Message: owner}
	}
	return Target{Decision: Wanted, Because: "the policy that took it over no longer exists"}, nil
}

// madeBy leaves an object to the controller in a member that makes it, too. A Work that is there stays, since that controller
// may not run.
func madeBy(f Facts, cluster string, owner render.Identity) (Target, *Refusal) {
	target := Target{Decision: Unknown, Because: fmt.Sprintf("its owner %s is mirrored there, whose controller makes it", owner)}
	if !isOf(f, cluster) {
		return target, nil
	}
	return target, &Refusal{Reason: OwnerMirrored, Message: fmt.Sprintf("its owner %s is mirrored to cluster %q, too, whose controller makes it there: its Work stays as it is", owner, cluster)}
}

func notAuthorized(cluster string) Refusal {
	return Refusal{Reason: NotAuthorized, Message: fmt.Sprintf("no authorization rule in the configuration allows mirroring it to cluster %q", cluster)}
}

// refused keeps the Work of a refused source. The exception is a Work with the longer name: the
// binding of a policy takes over only the Work with Karmada's name, so ours would stay beside
// it, and Karmada applies both, in any order, whenever it starts.
func refused(f Facts, cluster string) Target {
	target := Target{Decision: Unknown, Because: string(f.Source.Refusal.Reason) + ": " + f.Source.Refusal.Message}
	if f.Source.Refusal.Reason != ClaimedByPolicy || !isOf(f, cluster) || f.Works[cluster].Foreign != "" || !f.Works[cluster].IsLong() {
		return target
	}
	if target.AsksBinding = true; f.Clusters[cluster].Doubled {
		target.Decision, target.Because = Unneeded, "a policy propagates this object with its own Work"
	}
	return target
}

// refusalOf returns the refusal of a source that does not ask, but whose Work stays because
// what the source says may be a mistake, or false.
func refusalOf(f Facts, cluster string) *Refusal {
	if !f.Source.Asks && isOf(f, cluster) {
		return f.Source.Refusal
	}
	return nil
}

// unwanted is the only place where a deletion can start, and it needs a live
// read. It never deletes a Work that belongs to another owner.
func unwanted(f Facts, cluster, proof string) Target {
	if owner := foreignOwner(f, cluster); owner != "" {
		return Target{Decision: Unknown, Because: owner}
	}
	target := Target{amends: asksToPreserve(f, cluster)}
	if by, is := f.NeededBy[cluster]; is {
		target.Decision, target.Because, target.neededBy = Unknown, fmt.Sprintf("%s: the Pods of %s need it there until its waves are through", proof, by), true
		return target
	}
	return target.unwanted(f, proof)
}

// unwanted is Unwanted for a reason, if that was read live.
func (t Target) unwanted(f Facts, proof string) Target {
	if t.Decision, t.Because = Unwanted, proof; !f.Live {
		t.Decision, t.Unproven = Unknown, true
		t.Because = "the cache says that it is not wanted, but no live read has confirmed that yet"
	}
	return t
}

// asksToPreserve reports whether the source of a Work asks to preserve its object, and the Work
// does not say so yet. A Work that preserves stays so while its cluster is not asked for: an
// object that is left behind can be deleted, one that is deleted cannot be brought back. An
// object that was recreated does not speak for the Works of the earlier one.
func asksToPreserve(f Facts, cluster string) bool {
	w := f.Works[cluster]
	return f.Source != nil && w != nil && f.Source.Options.PreserveOnDeletion && !w.Preserves() && w.IsMadeFrom(f.Source.UID)
}

// isOf reports whether the Work on a cluster says that it belongs to this source,
// even if others have marked it too.
func isOf(f Facts, cluster string) bool {
	w, ok := f.Works[cluster]
	return ok && w.Source == f.ID
}

// foreignOwner returns why the Work on a cluster does not belong to this source; empty if
// it does, or if no Work exists.
func foreignOwner(f Facts, cluster string) string {
	w, ok := f.Works[cluster]
	switch {
	case !ok:
		return ""
	case w.Foreign != "":
		return fmt.Sprintf("Work %s/%s is not managed by karmada-mirror: %s", w.Namespace, w.Name, w.Foreign)
	case w.Source != f.ID:
		return fmt.Sprintf("Work %s/%s belongs to %s", w.Namespace, w.Name, w.Source)
	}
	return ""
}
