package judge

import (
	"fmt"
	"maps"
	"slices"

	"github.com/karmada-target/karmada-mirror/mirror/state"
)

// Explanation is a Verdict in steps, for a person.
type Explanation struct {
	// Steps are those that hold for every cluster, in the order in which they are
	// taken. The last may be the one that is not passed.
	Steps []Step
	// Notices are what keeps Karmada from carrying out what is wanted.
	Notices []Refusal
	// Clusters are what follows for each.
	Clusters []ClusterExplanation
}

// Step is a condition for an object to be mirrored.
type Step struct {
	Passed bool
	// What is the condition, or what is not fulfilled of it; Hint is what to do then.
	What, Hint string
}

// ClusterExplanation is what becomes of an object on one cluster.
type ClusterExplanation struct {
	Cluster string
	Target
	// Hint is what to do if it is not as one would expect.
	Hint string
	// Work is what there is; nil if there is none.
	Work *state.Work
	// Operations are what the daemon would do.
	Operations []OperationKind
}

// hints are what to do about a refusal.
var hints = map[Reason]string{
	InvalidAnnotation: "correct the annotation; until then everything stays as it is",
	UnknownCluster:    "correct the name, or let the cluster join: kubectl get clusters",
	ForbiddenResource: "such an object is never mirrored",
	ReservedNamespace: "move it to a namespace that is not of the system",
	ClaimedByPolicy:   "remove either the policy or the annotation",
	WorkConflict:      "find out whose Work it is, or stop mirroring the object; where a deleted policy has left its ResourceBinding, deleting that deletes the object in the members unless they preserve it",
	TooLarge:          "make it smaller: a Work holds the whole object, and etcd takes 1.5 MiB",
	NotAuthorized:     "ask who runs karmada-mirror: it is in its configuration, or in its own rights",
	RenderFailed:      "the message says which field",
	KindNotServed:     "install its CustomResourceDefinition in that cluster",

	NamespaceNotPropagated: "make the Namespace in the members, or take the label off",
	DependencyNotMirrored:  "annotate it as the workload is, or its Namespace; of a resource that is not watched, add that to the configuration",
	ReplicasContested:      "apply a ResourceInterpreterCustomization that retains spec.replicas of the kind",

	MoveIncomplete:       "the log of karmada-mirror says why it fails",
	NamespaceUnprotected: "kubectl label namespace NAME resourcetemplate.karmada.io/deletion-protected=Always",

	DeletionHeld: "karmada-mirror deletions list, then karmada-mirror deletions approve",
}

// Reasons are all that there are, sorted.
func Reasons() []Reason { return slices.Sorted(maps.Keys(hints)) }

// Hint is what to do about a refusal.
func (r Reason) Hint() string { return hints[r] }

// Explain takes the steps of Decide and Plan one by one.
func Explain(f Facts) Explanation {
	v := Decide(f)
	e := Explanation{Steps: explainSource(f), Notices: v.Notices}
	for _, cluster := range slices.Sorted(maps.Keys(v.Targets)) {
		c := ClusterExplanation{Cluster: cluster, Target: v.Targets[cluster], Work: f.Works[cluster]}
		if _, refusal := decideTarget(f, cluster); refusal != nil {
			c.Hint = refusal.Reason.Hint()
		}
		for _, op := range Plan(v, f.Works) {
			switch {
			case op.Cluster != cluster:
			case op.IsHeld():
				c.Hint = DeletionHeld.Hint()
			default:
				c.Operations = append(c.Operations, op.Kind)
			}
		}
		e.Clusters = append(e.Clusters, c)
	}
	return e
}

func explainSource(f Facts) []Step {
	var steps []Step
	add := func(passed bool, what, hint string) bool {
		steps = append(steps, Step{Passed: passed, What: what, Hint: hint})
		return passed
	}
	switch s := f.Source; {
	case f.Unknown != "":
		add(false, f.Unknown, f.Hint)
	case !add(true, "its resource is in the configuration", ""):
	case s == nil:
		add(false, "the object does not exist", "what is left of it is deleted")
	case !s.Asks && s.Refusal != nil:
		add(false, fmt.Sprintf("%s: %s", s.Refusal.Reason, s.Refusal.Message), s.Refusal.Reason.Hint())
	case !s.Asks:
		add(false, "neither the object nor its Namespace says where to mirror it to", "kubectl annotate it: karmada.target/clusters=<cluster>[,<cluster>...]")
	case !add(true, "it asks for "+s.Wishes.String(), ""):
	case s.Refusal != nil:
		add(false, fmt.Sprintf("%s: %s", s.Refusal.Reason, s.Refusal.Message), s.Refusal.Reason.Hint())
	default:
		add(true, "it can be rendered, and no other controller claims it", "")
	}
	return steps
}
