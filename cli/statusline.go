package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	workv1alpha1 "github.com/karmada-io/api/work/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// mirrorStatus is the status of a source on a cluster, or on all of its clusters.
type mirrorStatus struct {
	metav1.TypeMeta `json:",inline"`
	Source          sourceName `json:"source"`
	// Cluster is empty if the source is refused whatever its clusters, and in a line that sums up others.
	Cluster string `json:"cluster,omitempty"`
	// Clusters is set in a line that sums up others, and then Decision, Operation and Work are not.
	Clusters *clustersStatus `json:"clusters,omitempty"`
	// Decision is Wanted, Unwanted, Unknown or Released.
	Decision string `json:"decision,omitempty"`
	// Operation is what the daemon would do now; empty for nothing.
	Operation string      `json:"operation,omitempty"`
	Work      *workStatus `json:"work,omitempty"`
	// Waits is true if it is not the turn of the cluster: the object reaches its clusters in waves, or it
	// has a Job of which others are to get their part first.
	Waits bool `json:"waits,omitempty"`
	// Message says what is not as expected.
	Message string `json:"message,omitempty"`
	// Overdue: the Work should have been written by now, and something may refuse that, or a wave waits for it for too long, or its
	// object should be healthy by now.
	Overdue bool `json:"overdue,omitempty"`
	// isHidden: the user may not read its Work. isKept: a workload in waves still needs it there. lacksCluster: there is no such cluster.
	isHidden, isKept, lacksCluster bool `json:"-"`
}

// overdueAfter is how long after the object was written the write of a Work is overdue. What the API server refuses, only the
// daemon knows.
const overdueAfter = time.Minute

type sourceName struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// workStatus is the status that a Work reports.
type workStatus struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// State is the state label of the metric karmada_mirror_works.
	State string `json:"state"`
	// Applied is the status of the condition of that name; empty if there is none.
	Applied string `json:"applied,omitempty"`
	// Reason is why it is not applied, in Karmada's words.
	Reason string `json:"reason,omitempty"`
	// Health is the health of the object in the member, as Karmada reports it.
	Health string `json:"health,omitempty"`
	// Ailment is what the reported status says about an object that is not healthy.
	Ailment string `json:"ailment,omitempty"`
	// Ready and Wanted are the numbers of the column READY; nil if they are not known, and Wanted alone if an autoscaler in the member
	// sets it and some Pods are missing.
	Ready             *int64      `json:"ready,omitempty"`
	Wanted            *int64      `json:"wanted,omitempty"`
	CreationTimestamp metav1.Time `json:"creationTimestamp"`
	// DeletionHeld is true if the breaker holds the Work's deletion.
	DeletionHeld bool `json:"deletionHeld,omitempty"`
	// Reported is when Karmada last reported something, and downSince since when too little of it has been available for it to be rolling
	// out, or scaling; zero if enough is.
	Reported  time.Time `json:"-"`
	downSince time.Time `json:"-"`
}

// ails reports whether the object has not been healthy for a while: since Karmada reported something else, or since it is down. Its
// reports may change all the time, as when its Pods crash.
func (w *workStatus) ails(now time.Time) bool {
	if w == nil || w.Health != string(workv1alpha1.ResourceUnhealthy) {
		return false
	}
	return now.Sub(w.Reported) > overdueAfter || !w.downSince.IsZero() && now.Sub(w.downSince) > overdueAfter
}

func readWorkStatus(obj *unstructured.Unstructured) *workStatus {
	s := &workStatus{Namespace: obj.GetNamespace(), Name: obj.GetName(), CreationTimestamp: obj.GetCreationTimestamp()}
	if applied := state.AppliedCondition(obj); applied != nil {
		s.Applied = string(applied.Status)
		if applied.Status != metav1.ConditionTrue {
			s.Reason = oneLine(applied.Message)
		}
	}
	s.Health, s.Reported = state.HealthOf(obj), state.ReportedAt(obj)
	s.Ready, s.Wanted = readiness(obj)
	if s.Health == string(workv1alpha1.ResourceUnhealthy) {
		status := state.ReportedBy(obj)
		s.Ailment = oneLine(ailmentOf(status))
		s.downSince = unavailableSince(status)
	}
	return s
}

// oneLine keeps text from elsewhere from breaking a table.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// workStates are the statuses of the Works that were read.
type workStates map[types.NamespacedName]*workStatus

func (s workStates) note(obj *unstructured.Unstructured) {
	s[nameOfWork(obj)] = readWorkStatus(obj)
}

func nameOfWork(obj *unstructured.Unstructured) types.NamespacedName {
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

func (s workStates) of(w *state.Work) *workStatus {
	status, ok := s[types.NamespacedName{Namespace: w.Namespace, Name: w.Name}]
	if !ok {
		return nil
	}
	status.State, status.DeletionHeld = w.State.String(), w.Held.Holds() && !w.Terminating
	return status
}

func newStatusLine(id render.Identity) mirrorStatus {
	return mirrorStatus{TypeMeta: metav1.TypeMeta{APIVersion: statusVersion, Kind: "MirrorStatus"}, Source: nameOf(id)}
}

func nameOf(id render.Identity) sourceName {
	return sourceName{Group: id.Group, Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}
}

func (s sourceName) String() string {
	return render.Identity{Group: s.Group, Kind: s.Kind, Namespace: s.Namespace, Name: s.Name}.String()
}

// needsAttention reports whether a line is about something that does not resolve itself.
func (s mirrorStatus) needsAttention() bool {
	return s.Decision == judge.Unknown.String() && !s.Waits && !s.isKept || s.Overdue || s.Work != nil && (s.Work.DeletionHeld || s.Work.State == state.WorkFailed.String())
}

// statusesOf returns the lines of a source, sorted by cluster. The user may not be allowed to
// read the Works for some clusters.
func statusesOf(j judge.Judgement, states workStates, hidden func(cluster string) bool) []mirrorStatus {
	f, v := j.Facts, j.Verdict
	operations := map[string]judge.Operation{}
	for _, op := range j.Plan {
		operations[op.Cluster] = op
	}
	var lines []mirrorStatus
	for _, cluster := range slices.Sorted(maps.Keys(v.Targets)) {
		line := newStatusLine(f.ID)
		line.Cluster, line.Decision, line.Waits = cluster, v.Targets[cluster].Decision.String(), v.Targets[cluster].Waits
		line.isKept, line.lacksCluster = v.Targets[cluster].IsKept(), f.Clusters[cluster].State == judge.ClusterMissing
		op := operations[cluster]
		if w := f.Works[cluster]; w != nil {
			line.Work = states.of(w)
		}
		switch {
		case f.IsUnreached(cluster):
			line.Work = line.Work.unreached()
		case f.IsAway(cluster):
			line.Work = line.Work.away()
		}
		line.isHidden = hidden(cluster) && line.Work == nil
		if hidden(cluster) && (v.Targets[cluster].Decision == judge.Wanted || line.Waits) {
			line.Message = "you may not read its Work"
		} else {
			message := strings.Replace(messageOf(v, cluster, op, line.Work), fmt.Sprintf("cluster %q: ", cluster), "", 1)
			line.Operation, line.Message = string(op.Kind), oneLine(message)
		}
		isHeld := line.Work != nil && line.Work.DeletionHeld
		if line.Operation != "" && op.Kind != judge.Wake && !isHeld && (isOverdue(j) || op.IsApproved()) {
			line.Overdue, line.Message = true, line.Message+"; if this stays so, the log says why, or an Event of the object"
		}
		line.Overdue = line.Overdue || v.IsHeldUpBy(cluster) || line.Work.ails(f.Now) || isIgnored(f, cluster)
		if w := f.Works[cluster]; line.Message == "" && w != nil && w.IsLong() {
			line.Message = judge.NoteLong
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 && len(v.Refusals) > 0 {
		lines = append(lines, refusedLine(f.ID, v.Refusals[0]))
	}
	return lines
}

// isIgnored reports whether Karmada has said nothing of a Work for a while: since 1.19, it does not of a kind that the member does not know.
func isIgnored(f judge.Facts, cluster string) bool {
	w := f.Works[cluster]
	return w != nil && w.State == state.WorkPending && w.Foreign == "" && !f.IsAway(cluster) && f.Now.Sub(w.Written()) > overdueAfter
}

// refusedLine returns the line of a source for a refusal that is not about one of its clusters.
func refusedLine(id render.Identity, r judge.Refusal) mirrorStatus {
	line := newStatusLine(id)
	line.Decision, line.Message = judge.Unknown.String(), refusalText(r)
	return line
}

// isOverdue reports whether what is to be written of a source should have been by now. What is to be deleted of one that
// is gone always counts: nothing says since when, and it takes seconds.
func isOverdue(j judge.Judgement) bool {
	if j.Facts.Source == nil {
		return true
	}
	if j.Facts.Source.Written.IsZero() {
		return false
	}
	since, after := j.Facts.Source.Written, overdueAfter
	if r := j.Verdict.Rollout; r != nil { // after a restart, a bake has begun again
		since, after = slices.MaxFunc([]time.Time{since, r.Since}, time.Time.Compare), after+j.Facts.Source.Waves.Bake+j.Facts.Source.Waves.Deadline
	}
	return j.Facts.Now.Sub(since) > after
}

// messageOf returns what is not as expected with a Work; empty if nothing.
func messageOf(v judge.Verdict, cluster string, op judge.Operation, w *workStatus) string {
	switch target := v.Targets[cluster]; {
	case w != nil && w.DeletionHeld:
		return "its deletion is held: karmada-mirror deletions list"
	case op.IsApproved():
		return "its deletion is approved, and not carried out yet"
	case op.Kind == judge.Create:
		return "its Work does not exist yet"
	case op.Kind == judge.Update, op.Kind == judge.Adjust:
		return "its Work is out of date: " + op.Because
	case op.Kind.Deletes(), op.Kind == judge.Detach, op.Kind == judge.Release:
		return "its Work is about to be removed: " + op.Because
	case target.Decision != judge.Wanted:
		return target.Because
	case w != nil && noticeOf(v, cluster, w) != "":
		return noticeOf(v, cluster, w)
	}
	return w.message()
}

// noticeOf returns the first notice that concerns a Work. Most concern only one of which Karmada says nothing yet. What an unhealthy one
// may lack says more than its conditions, which follow.
func noticeOf(v judge.Verdict, cluster string, w *workStatus) string {
	for _, n := range v.Notices {
		own, isOwn := v.Targets[cluster].Notices[n.Reason]
		switch {
		case isOwn:
			n.Message = own
		case n.PerCluster: // of others
			continue
		}
		text := string(n.Reason) + ": " + n.Message
		lasts := n.Reason == judge.NamespaceNotPropagated || n.Reason == judge.ReplicasContested || n.Reason == judge.WaveHeld && v.IsHeldUpBy(cluster)
		switch {
		case lasts, w.Applied == "" && w.State != state.WorkSuspended.String():
			return text
		case n.Reason == judge.DependencyNotMirrored && w.Applied == string(metav1.ConditionTrue) && w.Health == string(workv1alpha1.ResourceUnhealthy):
			return strings.TrimSuffix(text+"; "+w.Ailment, "; ")
		}
	}
	return ""
}

func (w *workStatus) message() string {
	switch {
	case w == nil:
		return ""
	case w.State == state.WorkDeleting.String():
		return "its Work is being deleted"
	case w.State == state.WorkSuspended.String():
		return "it is suspended"
	case w.Applied == "":
		return "Karmada has not applied it yet"
	}
	return cmp.Or(w.Reason, w.Ailment)
}

// unreached returns the status of a Work that Karmada cannot have applied since it was written.
func (w *workStatus) unreached() *workStatus {
	if w == nil || w.Applied == "" {
		return w
	}
	unknown := *w
	unknown.Applied, unknown.Reason, unknown.Health = string(metav1.ConditionUnknown), judge.NoteUnreached, string(workv1alpha1.ResourceUnknown)
	unknown.Ready, unknown.Wanted, unknown.Ailment = nil, nil, ""
	return &unknown
}

// away returns the status of a Work whose member Karmada cannot see.
func (w *workStatus) away() *workStatus {
	if w == nil || w.Applied == "" {
		return w
	}
	unknown := *w
	unknown.Reason, unknown.Health = cmp.Or(w.Reason, judge.NoteAway), string(workv1alpha1.ResourceUnknown)
	unknown.Ready, unknown.Wanted, unknown.Ailment = nil, nil, ""
	return &unknown
}

// age formats an age as kubectl does.
func age(since *metav1.Time) string {
	if since.IsZero() {
		return "-"
	}
	return duration.HumanDuration(time.Since(since.Time))
}
