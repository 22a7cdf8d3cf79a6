package judge

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// Explanation is a Verdict in steps, for people to read.
type Explanation struct {
	// Steps hold for every cluster, in the order in which they are checked. The last
	// one may be the one that failed.
	Steps []Step
	// Notices are what keeps Karmada from doing what is wanted, and names that no cluster has.
	Notices []Refusal
	// Clusters are the results for each cluster.
	Clusters []ClusterExplanation
}

// Step is a condition for an object to be mirrored.
type Step struct {
	Passed bool
	// What is the condition, or why it is not met; Hint is what to do in that case.
	What, Hint string
}

// ClusterExplanation says what happens to an object on one cluster: its Operation is none if the deletion is held.
type ClusterExplanation struct {
	Cluster string
	Target
	// Hint is what to do if the result is not as expected.
	Hint string
	// Work is the existing Work; nil if there is none. Note is how it differs from others;
	// empty for not at all.
	Work *state.Work
	Note string
	// Differs are what differs from other clusters in the object, and because of what.
	Differs []render.Effect
}

// NoteLong is the note on a Work with the longer name, which Karmada did not find until 1.18.
const NoteLong = "the Work has the longer name: if the object is deleted in the member, Karmada up to 1.18 does not recreate it until the source changes, and goes on reporting it as applied and healthy"

// deletedSource says that what has been deleted in the background is still there.
const deletedSource = "it is being deleted, but " + keptByFinalizer

const keptByFinalizer = "a finalizer in its metadata.finalizers keeps it: its objects in the members stay until it is gone"

// noteKeeps is the note on a cluster whose share becomes smaller.
const noteKeeps = "it gets fewer replicas once the other clusters have more"

// NoteUnreached says why what Karmada reports of a Work does not count.
const NoteUnreached = "the cluster is not ready: what Karmada reports is from before the Work was written"

// NoteAway says why the health that Karmada reports of a Work does not count.
const NoteAway = "the cluster is not ready: what Karmada reports of its health is from before"

// HintApproved is what to do about a deletion that is approved and not carried out.
const HintApproved = "its deletion is approved: if this stays so, the log of karmada-mirror says what refuses it"

// noteOn returns what is special about a cluster.
func noteOn(f Facts, c ClusterExplanation) string {
	switch {
	case c.Work == nil:
		return ""
	case f.IsUnreached(c.Cluster):
		return NoteUnreached
	case f.IsAway(c.Cluster):
		return NoteAway
	case c.Work.IsLong():
		return NoteLong
	case c.Keeps:
		return noteKeeps
	case c.Decision == Wanted && f.Clusters[c.Cluster].ScaledBy != render.Identity{} && f.ID.GroupKind() == retainingKind:
		return fmt.Sprintf("spec.replicas is left to %s, which is mirrored there", f.Clusters[c.Cluster].ScaledBy)
	}
	return ""
}

// hints say what to do about a refusal.
var hints = map[Reason]string{
	InvalidAnnotation: "correct the annotation; until then, the existing Works stay as they are",
	UnknownCluster:    "correct the name (kubectl get clusters lists the valid ones), or join the cluster",
	ForbiddenResource: "remove the annotation: objects like this are never mirrored",
	ReservedNamespace: "move it to another namespace; the configuration says which belong to the system (systemNamespaces, allowNamespaces)",
	ClaimedByPolicy:   "remove the annotation, or move the object while its policy exists: karmada-mirror adopt",
	WorkConflict:      "find out who owns the Work, or stop mirroring the object; if a deleted policy left its ResourceBinding behind, deleting that binding also deletes the object in the members unless its Works preserve it: create the policy again, and move the object by karmada-mirror adopt",
	TooLarge:          "make the object smaller: a Work contains all of it, and etcd accepts 1.5 MiB",
	NotAuthorized:     "ask the administrator of karmada-mirror: its configuration does not allow it, or its own RBAC does not",
	OwnerMirrored:     "mirror only one of the two: opt its owner out with karmada.target/clusters=\"\", or the object, with karmada.target/preserve-on-deletion=true before if the member is to keep it meanwhile",
	RenderFailed:      "correct the field that the message names",
	OverrideFailed:    "correct what the message names: the variable, the Cluster that lacks a value, or the policy; until then, a Work that the cluster has keeps its content",
	KindNotServed:     "install its CustomResourceDefinition in that cluster, with this version",

	NamespaceNotPropagated: "create the Namespace in the members, or remove the label",
	DependencyNotMirrored:  "annotate it, or its Namespace, like the workload; if its resource is not watched, add the resource to the configuration",
	RunsAgain:              "remove the field, or name the clusters that are to run it",
	ReplicasUnplaced:       "see what keeps these clusters from their share, or give them the weight 0",
	WorkContested:          "find the other writer in the managedFields of the Work: a second installation, a daemon whose configuration overlaps, or a mutating webhook",
	MemberContested:        "find the other writer in the managedFields of the object in the member (an autoscaler, an operator, a webhook), and let Karmada keep its fields by a ResourceInterpreterCustomization that retains them, change them here by an override policy, or stop one of the two",
	StatusContested:        "stop the other writer, which may be a controller of the control plane, or remove aggregateStatus from the configuration",
	DeletionPending:        "see what it waits for; with karmada.target/deletion=background, the object goes at once, and its Works are deleted all the same; with foreground, its Works go first",
	ReplicasContested:      "apply a ResourceInterpreterCustomization that retains spec.replicas for this kind",

	WaveHeld:             "see what keeps these clusters (karmada-mirror status); revert the object, which only changes what has been written, or remove karmada.target/waves, which lets all clusters go",
	WaveSkipped:          "nothing: the Work of that cluster is as its source says",
	MoveIncomplete:       "karmada-mirror status says what it waits for, and the log why it fails; it is retried",
	OrphansDeleted:       "next time, annotate it with karmada.target/preserve-on-deletion=true first",
	NamespaceUnprotected: "kubectl label namespace NAME resourcetemplate.karmada.io/deletion-protected=Always",

	DeletionHeld: "karmada-mirror deletions list, then karmada-mirror deletions approve",
}

// Reasons returns all reasons, sorted.
func Reasons() []Reason { return slices.Sorted(maps.Keys(hints)) }

// Hint returns what to do about a refusal.
func (r Reason) Hint() string { return hints[r] }

// Explain explains what Decide makes of the facts, step by step.
func Explain(f Facts) Explanation {
	v := Decide(f)
	e := Explanation{Steps: explainSource(f), Notices: v.Notices}
	if unknown := UnknownNames(f); unknown != nil {
		e.Notices = append([]Refusal{*unknown}, e.Notices...)
	}
	for _, cluster := range slices.Sorted(maps.Keys(v.Targets)) {
		c := ClusterExplanation{Cluster: cluster, Target: v.Targets[cluster], Work: f.Works[cluster]}
		c.Hint = hintFor(f, cluster, c.Target)
		c.Note = strings.Join(slices.DeleteFunc([]string{noteOn(f, c), v.Rollout.noteOn(cluster)}, func(note string) bool { return note == "" }), "; ")
		if c.Rendering != nil {
			c.Differs, _ = c.Manifest.Effects(c.edit) // one that fails has no Rendering
		}
		switch op := c.Operation; {
		case op.IsHeld():
			c.Hint, c.Operation = DeletionHeld.Hint(), Operation{}
		case op.IsApproved():
			c.Hint = HintApproved
		}
		e.Clusters = append(e.Clusters, c)
	}
	return e
}

// hintFor returns what to do if a cluster does not get the object.
func hintFor(f Facts, cluster string, target Target) string {
	wanted, refusal := decideTarget(f, cluster)
	if refusal == nil && wanted.Decision == Wanted && target.Decision == Unknown {
		_, refusal = (&renderings{f: f}).render(cluster, wanted)
	}
	if refusal == nil {
		return ""
	}
	return refusal.Reason.Hint()
}

// freeing says how to let one object go that only our finalizer keeps.
func freeing(id render.Identity) string {
	return fmt.Sprintf("kubectl edit %s, and remove %s from metadata.finalizers: this frees only this object, and leaves its Works", id.Arguments(), render.WorksFinalizer)
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
		if s != nil && s.Asks && f.ID.GroupKind() == (schema.GroupKind{Kind: "Namespace"}) {
			add(true, "its default is "+s.Wishes.String(), "")
			for _, name := range s.Terms.Names() {
				if f.Clusters[name].State == ClusterMissing {
					add(false, fmt.Sprintf("no cluster %q has joined yet", name), UnknownCluster.Hint())
				}
			}
		}
		if s != nil && s.Leaving && s.Finalized {
			add(false, "it is being deleted, and the finalizer "+render.WorksFinalizer+" keeps it: no daemon removes it outside the configuration", freeing(f.ID))
		}
	case !add(true, "its resource is in the configuration", ""):
	case s == nil:
		add(false, "the object does not exist", "its remaining Works are deleted, unless their deletion is held")
	case s.Leaving:
		add(false, "it is being deleted in the foreground: it stays until its Works are gone", "")
	case !s.Asks && s.Refusal != nil && s.Refusal.Reason != ClaimedByPolicy:
		add(false, fmt.Sprintf("%s: %s", s.Refusal.Reason, s.Refusal.Message), s.Refusal.Reason.Hint())
	case !s.Asks && f.ID.GroupKind() == state.DefinitionKind:
		add(false, "no object of its kind is mirrored", "it goes where they go, whatever it says itself")
	case !s.Asks && s.Wishes.HasOptedOut():
		add(false, "it opts out of its Namespace's default", "remove its annotation karmada.target/clusters, or name clusters in it")
	case !s.Asks:
		add(false, "neither the object nor its Namespace says where to mirror it", "annotate it: karmada.target/clusters=<cluster>[,<cluster>...]")
	case !add(true, asksFor(s), ""):
	case s.Refusal != nil:
		add(false, fmt.Sprintf("%s: %s", s.Refusal.Reason, s.Refusal.Message), s.Refusal.Reason.Hint())
	case s.Doubt != "":
		add(false, s.Doubt, InvalidAnnotation.Hint())
	case add(true, "no other controller claims it", "") && s.Deleted.IsZero():
	default:
		add(false, deletedSource, "see what the finalizer waits for; to delete the objects in the members at once, annotate it: "+render.DeletionAnnotation+"=foreground")
	}
	return steps
}

func asksFor(s *Source) string {
	if s.ID.GroupKind() == state.DefinitionKind {
		return "it goes along with objects of its kind: " + strings.Join(s.Terms.Names(), ", ")
	}
	asks := "it asks for " + s.Wishes.String()
	for i, leader := range s.Leaders {
		asks += []string{", and goes where these go: ", ", "}[min(i, 1)] + leader.String()
	}
	return asks
}
