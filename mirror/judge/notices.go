package judge

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// notice adds a notice about one cluster.
func (v Verdict) notice(all []Refusal, cluster string, reason Reason, message string) []Refusal {
	t := v.Targets[cluster]
	if t.Notices == nil {
		t.Notices = map[Reason]string{}
	}
	t.Notices[reason] = strings.TrimPrefix(t.Notices[reason]+"; "+message, "; ")
	v.Targets[cluster] = t
	return AddRefusal(all, Refusal{Reason: reason, Message: message, PerCluster: true})
}

// notices returns what keeps Karmada from doing what is wanted.
func notices(f Facts, v Verdict) []Refusal {
	var all []Refusal
	wanted := false
	for _, cluster := range slices.Sorted(maps.Keys(v.Targets)) {
		if v.Targets[cluster].Decision != Wanted {
			continue
		}
		wanted = true
		if lacks := v.Targets[cluster].notServed(f.Clusters[cluster].Kinds); lacks != "" && !f.awaitsDefinition(f.Works[cluster]) {
			all = v.notice(all, cluster, KindNotServed, fmt.Sprintf("cluster %q does not serve %s: Karmada retries until it does", cluster, lacks))
		}
		if f.Works[cluster] != nil && v.Targets[cluster].Size() > EtcdLimit-workRoom {
			all = AddRefusal(all, Refusal{Reason: TooLarge, Message: "its Works take nearly all of the 1.5 MiB that etcd accepts by default: Karmada does not apply a Work that has no room for its status; make the object smaller"})
		}
	}
	if wanted {
		all = append(all, contestedReplicas(f, v)...)
	}
	if wanted {
		all = append(all, runsAgain(f, v)...)
	}
	if waits := cmp.Or(lingering(f), stalled(f)); waits != nil {
		all = append(all, *waits)
	}
	if held := waveHeld(f, v); held != nil {
		all = append(all, *held)
	}
	if lost := cmp.Or(unplaced(f, v), undivided(f, v)); lost != nil {
		all = append(all, *lost)
	}
	for _, d := range f.Dependencies {
		if !wanted {
			break
		}
		if d.Clusters = slices.DeleteFunc(slices.Clone(d.Clusters), func(cluster string) bool { return !isLacking(f, d, cluster) }); len(d.Clusters) == 0 {
			continue
		}
		for _, cluster := range d.Clusters {
			all = v.notice(all, cluster, DependencyNotMirrored, d.message(f.Source.Wishes))
		}
	}
	if wanted && f.NamespaceSkipped {
		notice := NotPropagated(f.ID.Namespace)
		notice.Elsewhere = f.Source.Wishes.InheritsTargets()
		all = append(all, notice)
	}
	return all
}

// undivided reports that an autoscaler sets the replicas of a divided source in each cluster.
func undivided(f Facts, v Verdict) *Refusal {
	if !f.divides() {
		return nil
	}
	for _, cluster := range slices.Sorted(maps.Keys(v.Targets)) {
		if by := f.Clusters[cluster].ScaledBy; (v.Targets[cluster].Decision == Wanted || v.Targets[cluster].Waits) && by != (render.Identity{}) {
			return &Refusal{Reason: ReplicasUnplaced, Message: fmt.Sprintf("its replicas are divided, but %s %q sets them in each cluster that it is in, with limits that are not divided: give it limits for one cluster, or different ones by an override policy", by.Kind, by.Name)}
		}
	}
	return nil
}

// stalled reports that a source is being deleted in the background, and a finalizer of another owner keeps it, with its Works.
func stalled(f Facts) *Refusal {
	s := f.Source
	if f.Unknown != "" || s == nil || s.Deleted.IsZero() || s.Leaving || !s.Asks || s.Refusal != nil || len(f.Works) == 0 {
		return nil
	}
	kept := keptByFinalizer
	if f.ID.GroupKind() == (schema.GroupKind{Kind: "Pod"}) {
		kept = "it waits for the kubelet of its node, which ends its grace period, or for a finalizer: its objects in the members stay until it is gone (kubectl delete --force --grace-period=0)"
	}
	return &Refusal{Reason: DeletionPending, Message: fmt.Sprintf("being deleted since %s, but %s. If what removes it runs in the members alone, annotate the object with %s=foreground, or remove the finalizer",
		s.Deleted.UTC().Format(time.RFC3339), kept, render.DeletionAnnotation)}
}

// runsAgain reports objects that run once and that a member would run again: since it deletes what has finished, and Karmada
// creates it again, or since it has joined after another one had finished.
func runsAgain(f Facts, v Verdict) (all []Refusal) {
	if f.Source.Template == nil {
		return nil
	}
	if field := f.Source.Template.Expires(); field != "" {
		all = append(all, Refusal{Reason: RunsAgain, Message: fmt.Sprintf("by %s, members delete it once it has finished; Karmada then creates it again, and it runs again, without end: remove the field", field)})
	}
	isFinished := func(w *state.Work) bool { return w.IsFinished() && w.IsMadeFrom(f.Source.UID) }
	for _, w := range f.Works {
		if !isFinished(w) {
			continue
		}
		for _, cluster := range slices.Sorted(maps.Keys(v.Targets)) {
			facts, other := f.Clusters[cluster], f.Works[cluster]
			if v.Targets[cluster].Decision == Wanted && facts.Joined.After(w.SourceCreated()) && (other == nil || !other.IsFinished()) && !slices.Contains(f.Source.Terms.Names(), cluster) {
				all = v.notice(all, cluster, RunsAgain, fmt.Sprintf("cluster %q joined after it had been created, and it runs there although it has finished elsewhere", cluster))
			}
		}
		break
	}
	return all
}

// NotPropagated reports that Karmada does not create a Namespace in the members.
func NotPropagated(namespace string) Refusal {
	return Refusal{Reason: NamespaceNotPropagated, Message: fmt.Sprintf("Karmada does not create namespace %q in the members, because of its label namespace.karmada.io/skip-auto-propagation: create it there, or remove the label", namespace)}
}

// notServed returns what an API server that serves these kinds lacks; empty if it serves the kind in the version
// that the Work carries, or that is not known.
func (t Target) notServed(kinds state.Kinds) string {
	gvk := t.Manifest.GroupVersionKind()
	switch versions, isKnown := kinds.Of(gvk.GroupKind()); {
	case !isKnown || slices.Contains(versions, gvk.Version):
		return ""
	case len(versions) == 0:
		return gvk.GroupKind().String()
	default:
		return fmt.Sprintf("version %s of %s, only %s", gvk.Version, gvk.GroupKind(), strings.Join(versions, ", "))
	}
}

// startsWithin is how long a workload may take to become healthy before it is said what it may lack.
const startsWithin = time.Minute

// isLacking reports whether a member may lack what Pods need. It may make itself what is not watched, or not here: then the
// workload becomes healthy there. A Job does not before it has ended.
func isLacking(f Facts, d Dependency, cluster string) bool {
	w, mayMake := f.Works[cluster], d.Unwatched || d.Absent
	switch {
	case !mayMake:
		return true
	case w == nil:
		return !d.Absent
	}
	isKnown := w.State != state.WorkSuspended && !f.IsAway(cluster) && f.ID.GroupKind() != state.JobKind
	return isKnown && !w.IsWell() && f.startsIn(w) == 0
}

// awaitsDefinition reports whether the definition of the source may be on its way to the member of a Work; nil for one not written yet.
func (f Facts) awaitsDefinition(w *state.Work) bool {
	return f.DefinitionFollows && (w == nil || f.startsIn(w) > 0)
}

// startsIn returns how much longer a workload may take to become healthy.
func (f Facts) startsIn(w *state.Work) time.Duration {
	if len(f.Dependencies) == 0 && !f.DefinitionFollows || w == nil || w.IsWell() || f.Now.IsZero() {
		return 0
	}
	return max(0, w.Written().Add(startsWithin).Sub(f.Now))
}

// message says what is missing and where, and gives the command that mirrors it
// there too. The command removes it from no cluster: other workloads may need it.
func (d Dependency) message(wishes render.Wishes) string {
	what := d.ID.Kind + " " + strconv.Quote(d.ID.Name)
	if d.OtherNamespaces {
		return fmt.Sprintf("its Pods need %s, but the configuration does not include namespace %q for %ss: add it there, or create the %s in the members yourself", what, d.ID.Namespace, d.ID.Kind, d.ID.Kind)
	}
	if d.Unwatched {
		return fmt.Sprintf("its Pods need %s, but %ss are not among the resources of the configuration: add them there, or create it in the members yourself", what, d.ID.Kind)
	}
	if d.Absent {
		return fmt.Sprintf("its Pods need %s, which does not exist on the Karmada API server: create it and mirror it to %s, unless it is there", what, strings.Join(d.Clusters, ", "))
	}
	message := fmt.Sprintf("its Pods need %s, which is not mirrored to %s: they wait there until it is", what, strings.Join(d.Clusters, ", "))
	command := wishes.Command()
	if d.Wishes.Ask() {
		if command = d.Wishes.CommandToAdd(d.Clusters); command == "" {
			return message + ". It has " + d.Wishes.String() + ": remove the exclusion"
		}
	}
	return fmt.Sprintf("%s. Run: kubectl -n %s annotate --overwrite %s %s %s", message, d.ID.Namespace, strings.ToLower(d.ID.Kind), d.ID.Name, command)
}

const (
	// EtcdLimit is what etcd accepts by default (--max-request-bytes).
	EtcdLimit = 1536 << 10
	// workRoom is plenty for everything in a Work besides its manifest, unless the object's
	// status is large.
	workRoom = 4 << 10
)

// retainingKind is the only kind whose replicas Karmada leaves to the member if the
// manifest says so (pkg/resourceinterpreter/default/native/retain.go, v1.18.2).
var retainingKind = schema.GroupKind{Group: "apps", Kind: "Deployment"}

// contestedReplicas reports where Karmada should leave the number of replicas to the member,
// but does not. A Namespace's default is not meant for kinds without replicas.
func contestedReplicas(f Facts, v Verdict) []Refusal {
	if f.ID.GroupKind() == retainingKind {
		return nil
	}
	const cure = "Karmada keeps resetting them: it leaves replicas to the member for Deployments only; apply a ResourceInterpreterCustomization that retains spec.replicas for this kind"
	_, isScaled := render.ScalePathsOf(f.ID.GroupKind(), "")
	mayBeScaled := isScaled || strings.Contains(f.ID.Group, ".") && !f.Source.Wishes.InheritsReplicas()
	var all []Refusal
	for _, cluster := range slices.Sorted(maps.Keys(v.Targets)) {
		by := f.Clusters[cluster].ScaledBy
		switch {
		case v.Targets[cluster].Decision != Wanted:
		case by != render.Identity{}:
			all = v.notice(all, cluster, ReplicasContested, fmt.Sprintf("%s %q sets its replicas in cluster %q, but %s", by.Kind, by.Name, cluster, cure))
		case f.Source.Options.RetainReplicas && mayBeScaled:
			all = AddRefusal(all, Refusal{Reason: ReplicasContested, Message: fmt.Sprintf("%s says to retain its replicas, but %s", render.ReplicasAnnotation, cure)})
		}
	}
	return all
}
