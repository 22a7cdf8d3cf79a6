package judge

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/karmada-target/karmada-mirror/mirror/state"
)

// Judgement is what is known of a source, and what follows from it.
type Judgement struct {
	Facts   Facts
	Verdict Verdict
	// Plan is what to write, and Due what the verdict speaks against, proved or not.
	Plan []Operation
	Due  []*state.Work
}

// On judges by facts.
func On(f Facts) Judgement {
	v := Decide(f)
	return Judgement{Facts: f, Verdict: v, Plan: Plan(v, f.Works), Due: dueDeletions(v, f.Works)}
}

// Decide judges, for every cluster that the source asks for or that has a Work
// of it, whether that Work is wanted:
//
//	source                      asks for it    cluster      Work     decision
//	nothing known               –              –            –        Unknown
//	absent, by the cache        –              –            ours     Unknown, unproven
//	absent, by a live read      –              –            ours     Unwanted
//	definition deleted, live    –              –            ours     Unwanted, NeedsApproval
//	absent, definition newer    –              –            ours     Unwanted, NeedsApproval
//	claimed by a policy         –              –            ours     Released
//	refused                     –              –            –        Unknown
//	present, not authorized     yes            –            –        Unknown
//	present                     yes            missing      –        Unknown
//	present                     by labels      missing      ours     Unknown
//	present                     yes            terminating  –        Unknown
//	present                     yes            joined       foreign  Unknown
//	present                     yes            joined       ours/–   Wanted
//	present, by the cache       no             –            ours     Unknown, unproven
//	present, by a live read     no             –            ours     Unwanted
func Decide(f Facts) Verdict {
	v := Verdict{ID: f.ID, Targets: map[string]Target{}, NeedsApproval: f.Definition != DefinitionServed || f.Source == nil && f.outlived()}
	if f.Unknown == "" && f.Source != nil {
		v.Preserve = f.Source.Options.PreserveOnDeletion
		if f.Source.Refusal != nil && f.Source.Asks {
			v.Refusals = append(v.Refusals, *f.Source.Refusal)
		}
	}
	render := renderer(f.Source)
	for _, cluster := range clustersOf(f) {
		target, refusal := decideTarget(f, cluster)
		if target.Decision == Wanted {
			target.Rendering = render(f.Clusters[cluster].ScaledBy != "")
		}
		if target.Decision == Wanted && target.Rendering == nil {
			v.Unread, target = true, Target{Decision: Unknown, Because: "its content has not been read"}
		}
		if w, ok := f.Works[cluster]; ok && f.Unknown == "" && w.Source == f.ID { // another daemon may see to the others
			if r := f.Clusters[cluster].Recovery; r.Awaits(w) {
				target.Wake, target.WakeIn = r.At, r.In
			}
		}
		v.Targets[cluster] = target
		if refusal != nil {
			v.Refusals = AddRefusal(v.Refusals, *refusal)
		}
	}
	v.Notices = notices(f, v)
	slices.SortFunc(v.Refusals, func(a, b Refusal) int { return cmp.Compare(a.Reason, b.Reason) })
	return v
}

// renderer makes what the Works of a source are made from, once for all clusters where it
// is scaled and once for the others; nil for a source whose content is not known.
func renderer(s *Source) func(isScaled bool) *Rendering {
	var made [2]*Rendering
	return func(isScaled bool) *Rendering {
		if s == nil || s.Template == nil {
			return nil
		}
		template, i := s.Template, 0
		if isScaled { // the number of replicas is the autoscaler's
			options := s.Options
			options.RetainReplicas = true
			template, i = s.Template.With(options), 1
		}
		if made[i] == nil {
			made[i] = &Rendering{template, sync.OnceValue(template.Works)}
		}
		return made[i]
	}
}

// outlived reports whether the source that a Work was made from is older than the
// definition of its kind: it went with an earlier definition of that name.
func (f Facts) outlived() bool {
	for _, w := range f.Works {
		if w.Source == f.ID && w.SourceCreated().Before(f.DefinitionCreated) {
			return true
		}
	}
	return false
}

// clustersOf lists every cluster that has to be decided on, sorted.
func clustersOf(f Facts) []string {
	clusters := map[string]bool{}
	for cluster := range f.Works {
		clusters[cluster] = true
	}
	if f.Source != nil {
		for _, cluster := range f.Source.Terms.Names() {
			clusters[cluster] = true
		}
		for cluster, facts := range f.Clusters {
			if f.Source.Terms.Matches(cluster, facts.Labels) {
				clusters[cluster] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(clusters))
}

// BecauseDefinitionDeleted is the proof that an object has gone with the definition of its kind.
const BecauseDefinitionDeleted = "the CustomResourceDefinition of the source has been deleted"

func decideTarget(f Facts, cluster string) (Target, *Refusal) {
	switch {
	case f.Unknown != "":
		return Target{Decision: Unknown, Because: f.Unknown}, nil
	case f.Clusters[cluster].WriteUnderWay:
		return Target{Decision: Unknown, Because: "what was written last has not come back yet"}, nil
	case f.Source == nil && f.Definition == DefinitionDeleted:
		return unwanted(f, cluster, BecauseDefinitionDeleted), nil
	case f.Source == nil:
		return unwanted(f, cluster, "the source does not exist"), nil
	case f.Source.Refusal != nil && f.Source.Refusal.Reason == ClaimedByPolicy && isOf(f, cluster):
		return Target{Decision: Released, Because: f.Source.Refusal.Message}, nil
	case f.Source.Refusal != nil:
		return Target{Decision: Unknown, Because: string(f.Source.Refusal.Reason) + ": " + f.Source.Refusal.Message}, refusalOf(f, cluster)
	case !f.Source.Terms.Matches(cluster, f.Clusters[cluster].Labels):
		if f.Source.Terms.HasSelector() && f.Clusters[cluster].State == ClusterMissing {
			return Target{Decision: Unknown, Because: "there is no such cluster, whose labels would tell"}, nil
		}
		return unwanted(f, cluster, "the source does not ask for this cluster"), nil
	}
	if f.Clusters[cluster].Forbidden {
		return Target{Decision: Unknown, Because: notAuthorized(cluster).Message}, new(notAuthorized(cluster))
	}
	switch f.Clusters[cluster].State {
	case ClusterMissing:
		return Target{Decision: Unknown, Because: "there is no such cluster"}, &Refusal{Reason: UnknownCluster, Message: fmt.Sprintf("no cluster %q has joined yet", cluster)}
	case ClusterTerminating:
		return Target{Decision: Unknown, Because: "the cluster is being removed"}, nil
	}
	if w, ok := f.Works[cluster]; ok && w.HandedBy(f.ID) && w.Foreign != "" && (w.Source == f.ID || !w.NamesSource()) {
		return Target{Decision: Wanted, Because: "the policy that it was handed over to is gone"}, nil
	}
	if owner := foreignOwner(f, cluster); owner != "" {
		return Target{Decision: Unknown, Because: owner}, &Refusal{Reason: WorkConflict, Message: owner}
	}
	return Target{Decision: Wanted, Because: "the source asks for this cluster"}, nil
}

func notAuthorized(cluster string) Refusal {
	return Refusal{Reason: NotAuthorized, Message: fmt.Sprintf("no rule of the configuration's authorization allows it to be mirrored to cluster %q", cluster)}
}

// refusalOf is that of a source that does not ask, but whose Works stay since what it
// says may be a mistake.
func refusalOf(f Facts, cluster string) *Refusal {
	if !f.Source.Asks && f.Source.Refusal != claimed && isOf(f, cluster) {
		return f.Source.Refusal
	}
	return nil
}

// unwanted is the one place that a deletion can come from, and it needs a live
// read. A Work of somebody else is not this source's to delete.
func unwanted(f Facts, cluster, proof string) Target {
	if owner := foreignOwner(f, cluster); owner != "" {
		return Target{Decision: Unknown, Because: owner}
	}
	target := Target{Decision: Unwanted, Because: proof, Amend: f.Source != nil && f.Works[cluster] != nil && f.Works[cluster].Preserves() != f.Source.Options.PreserveOnDeletion}
	if !f.Live {
		target.Decision, target.Unproven = Unknown, true
		target.Because = "the cache says that it is not wanted, and no live read has confirmed it"
	}
	return target
}

// isOf reports whether the Work on a cluster says that it is of this source,
// whoever else has marked it.
func isOf(f Facts, cluster string) bool {
	w, ok := f.Works[cluster]
	return ok && w.Source == f.ID
}

// foreignOwner tells why the Work on a cluster is not of this source; empty if
// it is, or if there is none.
func foreignOwner(f Facts, cluster string) string {
	w, ok := f.Works[cluster]
	switch {
	case !ok:
		return ""
	case w.Foreign != "":
		return fmt.Sprintf("Work %s/%s is somebody else's: %s", w.Namespace, w.Name, w.Foreign)
	case w.Source != f.ID:
		return fmt.Sprintf("Work %s/%s carries %s, which maps to the same name", w.Namespace, w.Name, w.Source)
	}
	return ""
}
