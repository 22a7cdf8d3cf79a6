package mirror

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/karmada-target/karmada-mirror/render"
)

// Facts are all that a Verdict rests on.
type Facts struct {
	ID render.Identity
	// Unknown is why nothing can be said of the source: its resource is not
	// watched, or not synced. Empty if Source may be relied on.
	Unknown string
	// Source is the object; nil if there is none.
	Source *Source
	// Live: Source was read from the API server just now, by a quorum read, and
	// not from the cache. Only then does its absence prove anything.
	Live bool
	// Definition is what is known of the CustomResourceDefinition of its kind.
	Definition DefinitionState
	// DefinitionCreated is when that was created; zero if there is none.
	DefinitionCreated time.Time
	// Clusters are the member clusters that matter to the source, by name.
	Clusters map[string]ClusterFacts
	// Works are the Works that bear the name that ours would have, by cluster.
	Works map[string]*Work
	// NamespaceSkipped: Karmada does not make the source's Namespace in the members.
	NamespaceSkipped bool
	// Wishes are what the source and its Namespace ask for, for explanations: the daemon
	// leaves them out.
	Wishes render.Wishes
	// outdated: Source is of before its Namespace got the defaults that it has now,
	// and proves nothing.
	outdated bool
}

// DefinitionState is what matters of a kind's CustomResourceDefinition. When it
// is deleted, all its objects go with it.
type DefinitionState int

// The states of a definition. The zero value says nothing.
const (
	DefinitionServed DefinitionState = iota
	DefinitionTerminating
	DefinitionDeleted
)

// ClusterState is what matters of a member cluster. The zero value is a cluster
// that does not exist.
type ClusterState int

// The states of a cluster.
const (
	ClusterMissing ClusterState = iota
	ClusterJoined
	ClusterTerminating
)

// ClusterFacts are what matters of a member cluster. The zero value is one that does
// not exist.
type ClusterFacts struct {
	State ClusterState
	// Labels are those that a selector may choose it by.
	Labels labels.Set
	// Forbidden: the configuration does not allow the source to be mirrored there.
	Forbidden bool
	// Recovery is when the cluster came back.
	Recovery Recovery
	// LacksKind: its API server is known not to serve the source's kind.
	LacksKind bool
}

// Decision says whether a Work is wanted. The zero value is Unknown, which
// keeps what is there.
type Decision int

// The decisions. Only Unwanted deletes.
const (
	Unknown Decision = iota
	Wanted
	Unwanted
	// Released is somebody else's from now on: our name is taken off it, and the
	// rest stays.
	Released
)

func (d Decision) String() string {
	return [...]string{"Unknown", "Wanted", "Unwanted", "Released"}[d]
}

// Target is the verdict on one cluster.
type Target struct {
	Decision Decision
	// Because is the reason of Wanted, the proof of Unwanted, or what is missing
	// for a decision.
	Because string
	// Wake: the Work waits for a cluster that has come back.
	Wake bool
}

// Verdict is what should be, as far as it is known.
type Verdict struct {
	ID render.Identity
	// Template is what each wanted Work is made from; nil if none is wanted.
	Template *render.Template
	// Targets are the decisions by cluster.
	Targets map[string]Target
	// Refusals are what a user can mend, in order of Reason.
	Refusals []Refusal
	// Notices are what a user should know though everything is done that can be.
	Notices []Refusal
	// works are made of Template when the first Work is needed.
	works func() render.Works
	// NeedsApproval: what is deleted goes because its kind's definition does, so
	// that an administrator must approve it whatever the number.
	NeedsApproval bool
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
		v.Template, v.works = f.Source.Template, sync.OnceValue(f.Source.Template.Works)
		if f.Source.Refusal != nil && f.Source.Asks {
			v.Refusals = append(v.Refusals, *f.Source.Refusal)
		}
	}
	for _, cluster := range clustersOf(f) {
		target, refusal := decideTarget(f, cluster)
		if w, ok := f.Works[cluster]; ok && f.Unknown == "" && w.Source == f.ID { // another daemon may see to the others
			target.Wake = f.Clusters[cluster].Recovery.awaits(w)
		}
		v.Targets[cluster] = target
		if refusal != nil {
			v.Refusals = addRefusal(v.Refusals, *refusal)
		}
	}
	v.Notices = notices(f, v)
	slices.SortFunc(v.Refusals, func(a, b Refusal) int { return cmp.Compare(a.Reason, b.Reason) })
	return v
}

const (
	// etcdLimit is what etcd accepts by default (--max-request-bytes).
	etcdLimit = 1536 << 10
	// workRoom is ample for what a Work has besides its manifest, unless the object's
	// status is large.
	workRoom = 4 << 10
)

// notices are what keeps Karmada from carrying out what is wanted.
func notices(f Facts, v Verdict) []Refusal {
	var all []Refusal
	wanted := false
	for _, cluster := range slices.Sorted(maps.Keys(v.Targets)) {
		if v.Targets[cluster].Decision != Wanted {
			continue
		}
		wanted = true
		if f.Clusters[cluster].LacksKind {
			all = addRefusal(all, Refusal{Reason: KindNotServed, Message: fmt.Sprintf("cluster %q does not serve %s: Karmada tries again and again until it does", cluster, f.ID.GroupKind())})
		}
		if f.Works[cluster] != nil && v.Template.Size() > etcdLimit-workRoom {
			all = addRefusal(all, Refusal{Reason: TooLarge, Message: "its Works take nearly all of the 1.5 MiB that etcd accepts by default: where there is no room for their status, Karmada does not apply them; make the object smaller"})
		}
	}
	if wanted && f.NamespaceSkipped {
		all = append(all, Refusal{Reason: NamespaceNotPropagated, Message: fmt.Sprintf("Karmada does not make namespace %q in the members, for it is labelled so: make it there", f.ID.Namespace)})
	}
	return all
}

// outlived reports whether the source that a Work was made from is older than the
// definition of its kind: it went with an earlier definition of that name.
func (f Facts) outlived() bool {
	for _, w := range f.Works {
		if w.Source == f.ID && w.sourceCreated.time().Before(f.DefinitionCreated) {
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

// unproven is the decision on what the cache alone speaks against.
var unproven = Target{Decision: Unknown, Because: "the cache says that it is not wanted, and no live read has confirmed it"}

func (t Target) isUnproven() bool {
	return t.Decision == unproven.Decision && t.Because == unproven.Because
}

func decideTarget(f Facts, cluster string) (Target, *Refusal) {
	switch {
	case f.Unknown != "":
		return Target{Decision: Unknown, Because: f.Unknown}, nil
	case f.Source == nil && f.Definition == DefinitionDeleted:
		return unwanted(f, cluster, "the CustomResourceDefinition of the source has been deleted"), nil
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
	if w, ok := f.Works[cluster]; ok && w.handedBy(f.ID) && w.Foreign != "" && (w.Source == f.ID || !w.names()) {
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
	if f.Source.Refusal == noOptOut && isOf(f, cluster) {
		return noOptOut
	}
	return nil
}

// unwanted is the one place that a deletion can come from, and it needs a live
// read. A Work of somebody else is not this source's to delete.
func unwanted(f Facts, cluster, proof string) Target {
	if owner := foreignOwner(f, cluster); owner != "" {
		return Target{Decision: Unknown, Because: owner}
	}
	if !f.Live {
		return unproven
	}
	return Target{Decision: Unwanted, Because: proof}
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
