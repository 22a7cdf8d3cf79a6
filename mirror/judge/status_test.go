package judge

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// webDeployment is a Deployment of one replica in the third generation, of which the second was
// observed.
func webDeployment(clusters string) *unstructured.Unstructured {
	u := sample.Object(sample.Annotations{render.ClustersAnnotation: clusters})
	u.SetAPIVersion("apps/v1")
	u.SetKind("Deployment")
	u.SetName("web")
	u.SetGeneration(3)
	delete(u.Object, "data")
	u.Object["spec"] = map[string]any{"replicas": int64(1)}
	u.Object["status"] = map[string]any{"observedGeneration": int64(2)}
	return u
}

// reports makes a Work one that is applied, and whose member has completely rolled out what was
// made of a generation of the source.
func reports(generation int64) sample.Change {
	return func(u *unstructured.Unstructured) {
		u.SetCreationTimestamp(metav1.NewTime(sample.Created)) // with the source
		u.Object["status"] = map[string]any{
			"conditions": []any{map[string]any{"type": render.AppliedCondition, "status": "True"}},
			"manifestStatuses": []any{map[string]any{"status": map[string]any{
				"replicas": int64(1), "updatedReplicas": int64(1), "readyReplicas": int64(1), "availableReplicas": int64(1),
				"generation": int64(7), "observedGeneration": int64(7), "resourceTemplateGeneration": generation,
			}}},
		}
	}
}

// TestObserved: a source has been observed when the last of its targets has what it should have.
func TestObserved(t *testing.T) {
	joined := ClusterFacts{State: ClusterJoined}
	older := webDeployment("m1,m2")
	older.SetGeneration(2)
	other := webDeployment("m1,m2")
	other.Object["spec"] = map[string]any{"replicas": int64(1), "paused": true}
	suspended := func(u *unstructured.Unstructured) {
		if err := unstructured.SetNestedField(u.Object, true, "spec", "suspendDispatching"); err != nil {
			panic(err)
		}
	}
	failed := func(u *unstructured.Unstructured) {
		u.Object["status"].(map[string]any)["conditions"] = []any{map[string]any{"type": render.AppliedCondition, "status": "False"}}
	}
	cases := map[string]struct {
		reason string
		source *unstructured.Unstructured
		// second is the Work for m2; that for m1 is complete.
		second *unstructured.Unstructured
		// renewed: Karmada has reported something else on m2 since the Work is made from this source.
		renewed bool
		// facts change what is known; nil for nothing.
		facts func(*Facts)
		want  int64 // observedGeneration; 0: nothing is said
		// replicas is the sum, if that matters.
		replicas int64
	}{
		"Complete": {reason: "both members have it", second: sample.Work(webDeployment("m1,m2"), "m2", reports(3)), want: 3},
		"Stale":    {reason: "a member has what was made of an earlier generation", second: sample.Work(webDeployment("m1,m2"), "m2", reports(2)), want: 2},
		"Stripped": {reason: "the Work is older than an edit that changes nothing in it", second: sample.Work(older, "m2", reports(2)), want: 3},
		"NotWritten": {reason: "the Work has not the wanted content, though the member has all of it",
			second: sample.Work(other, "m2", reports(3)), want: 2},
		"NoWork": {reason: "the Work has not been created", want: 2},
		"Failed": {reason: "Karmada cannot apply the Work", second: sample.Work(webDeployment("m1,m2"), "m2", reports(3), failed), want: 2},
		"Silent": {reason: "Karmada has reported nothing", second: sample.Work(webDeployment("m1,m2"), "m2"), want: 2},
		"Terminating": {reason: "the Work is being deleted, and must be created again",
			second: sample.Work(webDeployment("m1,m2"), "m2", reports(3), sample.Terminating), want: 2},
		"SuspendedBefore": {reason: "a suspended member lacks what was edited since",
			source: suspending("m1,m2", "m2"), second: sample.Work(webDeployment("m1,m2"), "m2", reports(2), suspended), want: 2},
		"SuspendedAfter": {reason: "a member that was suspended when it had everything does not hold up the source",
			source: suspending("m1,m2", "m2"), second: sample.Work(webDeployment("m1,m2"), "m2", reports(3), suspended), want: 3},
		"Missing": {reason: "a cluster that does not exist does not count",
			facts: func(f *Facts) { delete(f.Clusters, "m2") }, want: 3},
		"Forbidden": {reason: "one that the configuration forbids does not either",
			facts: func(f *Facts) { f.Clusters["m2"] = ClusterFacts{State: ClusterJoined, Forbidden: true} }, want: 3},
		"Failing": {reason: "one where the source cannot be edited does",
			facts: func(f *Facts) { f.Scale = &Scale{Fault: "no number"} }, want: 2},
		"UnderWay": {reason: "our last write is not in the cache yet",
			second: sample.Work(webDeployment("m1,m2"), "m2", reports(3)),
			facts:  func(f *Facts) { f.Clusters["m2"] = ClusterFacts{State: ClusterJoined, WriteUnderWay: true} }, want: 2},
		"Removed": {reason: "a member that is no longer asked for does not count",
			source: webDeployment("m1"), second: sample.Work(webDeployment("m1,m2"), "m2", reports(2)), want: 3},
		"Foreign": {reason: "the report of another owner's Work does not count, and ours is missing",
			second: sample.Work(webDeployment("m1,m2"), "m2", reports(3), sample.Bound), want: 2, replicas: 1},
		"Unlabelled": {reason: "a Work without our marks belongs to another owner",
			second: sample.Work(webDeployment("m1,m2"), "m2", reports(3), sample.Relabelled, unmarked), want: 2},
		"Newer": {reason: "the status is that of a newer version than the judged one",
			second: sample.Work(webDeployment("m1,m2"), "m2", reports(3)),
			facts:  func(f *Facts) { f.Source.ResourceVersion = "older" }},
		"Recreated": {reason: "the report is about an earlier object of that name",
			second: sample.Work(webDeployment("m1,m2"), "m2", reports(9), earlier), want: 2},
		"RecreatedEqual": {reason: "so it is if the earlier one was edited as often",
			second: sample.Work(webDeployment("m1,m2"), "m2", reports(3), earlier), want: 2},
		"RecreatedLongAgo": {reason: "Karmada has reported something else, no matter when the Work was last written",
			second: sample.Work(webDeployment("m1,m2"), "m2", reports(3), earlier), renewed: true, want: 3},
		"RecreatedNow": {reason: "it has reported something else before it applied the new content: the generation is the earlier object's",
			second: sample.Work(webDeployment("m1,m2"), "m2", reports(9), earlier), renewed: true, want: 2},
		"OfAnother": {reason: "the Work was made from an earlier object of that name",
			second: sample.Work(withUID(webDeployment("m1,m2"), "0"), "m2", reports(3)), want: 2},
		"Unknown": {reason: "nothing is known about the source",
			facts: func(f *Facts) { f.Unknown = "not synced" }},
		"Refused": {reason: "the annotation cannot be read", source: webDeployment("m1,m_2")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			source := tc.source
			if source == nil {
				source = webDeployment("m1,m2")
			}
			works := map[string]*unstructured.Unstructured{"m1": sample.Work(source, "m1", reports(3))}
			if tc.second != nil {
				works["m2"] = tc.second
			}
			f := Facts{Works: map[string]*state.Work{}, Clusters: map[string]ClusterFacts{"m1": joined, "m2": joined}, PoliciesLive: true}
			r := Reports{Source: state.NewSourceStatus(source), Works: map[string]*state.Report{}}
			for cluster, work := range works {
				f.Works[cluster], r.Works[cluster] = state.NewWork(work), state.NewReport(work)
			}
			if tc.renewed {
				r.Works["m2"].Renewed = true
			}
			f.Source = NewSource(source.DeepCopy(), render.Wishes{})
			f.ID = f.Source.ID
			if tc.facts != nil {
				tc.facts(&f)
			}
			status, err := On(f).Status(r, sample.Created)
			if err != nil {
				t.Fatal(err)
			}
			got, _ := status["observedGeneration"].(int64)
			replicas, _ := status["replicas"].(int64)
			if got != tc.want || tc.replicas > 0 && replicas != tc.replicas {
				t.Errorf("%s: got %d, want %d: %v", tc.reason, got, tc.want, status)
			}
		})
	}
}

// unmarked takes our annotations from a Work.
func unmarked(u *unstructured.Unstructured) { u.SetAnnotations(nil) }

// earlier makes a Work one that was created for an earlier object, and adopted when the source was created.
func earlier(u *unstructured.Unstructured) {
	u.SetCreationTimestamp(metav1.NewTime(sample.Created.Add(-time.Hour)))
	u.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "karmada-mirror", Time: new(metav1.NewTime(sample.Created))}})
}

// adopted are the facts and reports of a source that was recreated, and whose Work on m1 was updated in
// place.
func adopted(source *unstructured.Unstructured, changes ...sample.Change) (Facts, Reports) {
	work := sample.Work(source, "m1", changes...)
	f := Facts{Works: map[string]*state.Work{"m1": state.NewWork(work)}, Clusters: map[string]ClusterFacts{"m1": {State: ClusterJoined}}, PoliciesLive: true}
	f.Source = NewSource(source.DeepCopy(), render.Wishes{})
	f.ID = f.Source.ID
	return f, Reports{Source: state.NewSourceStatus(source), Works: map[string]*state.Report{"m1": state.NewReport(work)}}
}

// TestRecreatedAsItWas: Karmada writes no report that is the same as the last, so the status of the
// recreated object comes from that, but not at once, and not if nothing may have been applied.
func TestRecreatedAsItWas(t *testing.T) {
	ready := ClusterFacts{State: ClusterJoined}
	for name, tc := range map[string]struct {
		after   time.Duration
		cluster ClusterFacts
		suspend string
		seen    time.Duration
		want    int64
		trustIn time.Duration
	}{
		"Soon":       {4 * time.Minute, ready, "false", 4 * time.Minute, 2, time.Minute},
		"Late":       {6 * time.Minute, ready, "false", time.Minute, 3, 0},
		"Away":       {time.Hour, ClusterFacts{State: ClusterJoined, Away: true}, "false", time.Hour, 2, 0},
		"Suspended":  {time.Hour, ready, "true", time.Hour, 2, 0},
		"Back":       {time.Hour, ClusterFacts{State: ClusterJoined, Recovery: Recovery{At: sample.Created.Add(58 * time.Minute)}}, "false", time.Hour, 2, 3 * time.Minute},
		"BackAhead":  {6 * time.Minute, ClusterFacts{State: ClusterJoined, Recovery: Recovery{At: sample.Created.Add(time.Hour), Seen: sample.Created}}, "false", 6 * time.Minute, 3, 0}, // Karmada's clock
		"JustAhead":  {time.Hour, ClusterFacts{State: ClusterJoined, Recovery: Recovery{At: sample.Created.Add(time.Hour + time.Second)}}, "false", time.Hour, 2, trustAfter},            // and no one saw it
		"ClockAhead": {-time.Hour, ready, "false", 6 * time.Minute, 3, 0},                                                                                                                // the API server's
	} {
		source := webDeployment("m1")
		sample.Annotate(source, render.SuspendAnnotation, tc.suspend)
		f, r := adopted(source, reports(3), earlier)
		f.Clusters["m1"] = tc.cluster
		now := sample.Created.Add(tc.after)
		r.Works["m1"].Seen = now.Add(-tc.seen)
		status, err := On(f).Status(r, now)
		if err != nil || status["observedGeneration"] != tc.want {
			t.Errorf("%s: want generation %d observed: %v, %v", name, tc.want, status, err)
		}
		if in := On(f).TrustIn(r, now); in != tc.trustIn {
			t.Errorf("%s: looks again in %s, want %s", name, in, tc.trustIn)
		}
	}
}

// TestRecall: a source was recreated long ago, its member's report is believed, and so its status counts it. Then
// another process leads, which has not seen that.
func TestRecall(t *testing.T) {
	failed := func(u *unstructured.Unstructured) {
		u.Object["status"].(map[string]any)["conditions"] = []any{map[string]any{"type": render.AppliedCondition, "status": "False"}}
	}
	for name, tc := range map[string]struct {
		reason      string
		isBelieved  bool
		away        bool
		suspend     string
		changes     []sample.Change
		wantRecalls bool
	}{
		"Away":      {reason: "its member went away", isBelieved: true, away: true, suspend: "false", wantRecalls: true},
		"Suspended": {reason: "it was suspended", isBelieved: true, suspend: "true", wantRecalls: true},
		"Failed":    {reason: "its last apply failed", isBelieved: true, suspend: "false", changes: []sample.Change{failed}, wantRecalls: true},
		"Applied":   {reason: "it is believed by its age", isBelieved: true, suspend: "false"},
		"Never":     {reason: "the report was never believed", away: true, suspend: "false"},
	} {
		source := webDeployment("m1")
		sample.Annotate(source, render.SuspendAnnotation, tc.suspend)
		f, r := adopted(source, append([]sample.Change{reports(3), earlier}, tc.changes...)...)
		f.Clusters["m1"] = ClusterFacts{State: ClusterJoined, Away: tc.away}
		now := sample.Created.Add(30 * 24 * time.Hour)
		r.Works["m1"].Renewed = tc.isBelieved // as the last leader had it
		before, err := On(f).Status(r, now)
		if err != nil {
			t.Fatal(err)
		}
		source.Object["status"] = before
		r.Source, r.Works["m1"].Renewed = state.NewSourceStatus(source), false
		r, recalled := On(f).Recall(r, now)
		after, err := On(f).Status(r, now)
		if err != nil || after["readyReplicas"] != before["readyReplicas"] || len(recalled) > 0 != tc.wantRecalls {
			t.Errorf("%s: %s: %v ready, and %v before; %d recalled, %v", name, tc.reason, after["readyReplicas"], before["readyReplicas"], len(recalled), err)
		}
	}
}

// TestRecreatedJob: a Job is recreated while its Work exists. What is reported of the earlier one would end
// it for good.
func TestRecreatedJob(t *testing.T) {
	fresh := func(u *unstructured.Unstructured) { u.SetCreationTimestamp(metav1.NewTime(sample.Created)) }
	unapplied := func(u *unstructured.Unstructured) {
		fresh(u)
		delete(u.Object["status"].(map[string]any), "conditions")
	}
	for name, tc := range map[string]struct {
		reason  string
		ended   time.Duration // after the source was created
		renewed bool
		after   time.Duration
		want    bool
		work    sample.Change
		ran     bool
	}{
		"Earlier": {"it had ended before", -time.Minute, false, time.Hour, false, earlier, false},
		"Late":    {"the report of that came late", -time.Second, true, time.Second, false, earlier, false},
		"Runs":    {"the object in the member is the source's since it was created", time.Minute, true, 2 * time.Minute, true, earlier, false},
		"Unseen":  {"who reported was not seen, but the time tells", time.Minute, false, time.Hour, true, earlier, false},
		"Unsure":  {"but not at once", time.Minute, false, 2 * time.Minute, false, earlier, false},
		"Adopted": {"its Work is new, but the member had preserved the earlier one", -2 * time.Minute, true, time.Hour, false, fresh, false},
		"Behind":  {"it was seen to run, so only the member's clock can be behind", -3 * time.Minute, false, time.Second, true, fresh, true},
		"Held":    {"its Work is new and was never applied, and the member had preserved the earlier one", time.Minute, true, time.Hour, false, unapplied, true},
		"Paused":  {"its Work was applied before it was suspended", time.Minute, true, time.Hour, true, fresh, true},
		"Skewed":  {"the member's clock may be behind", -maxSkew / 2, false, time.Second, true, fresh, false},
	} {
		source := sample.Object(sample.Annotations{render.ClustersAnnotation: "m1", render.SuspendAnnotation: strconv.FormatBool(name == "Held" || name == "Paused")})
		source.SetAPIVersion("batch/v1")
		source.SetKind("Job")
		source.SetGeneration(1)
		source.SetUID("2")
		delete(source.Object, "data")
		source.Object["spec"], source.Object["status"] = map[string]any{"parallelism": int64(1)}, map[string]any{}
		ended := sample.Created.Add(tc.ended).UTC().Format(time.RFC3339)
		f, r := adopted(source, func(u *unstructured.Unstructured) {
			u.Object["status"] = map[string]any{
				"conditions": []any{map[string]any{"type": render.AppliedCondition, "status": "True"}},
				"manifestStatuses": []any{map[string]any{"health": "Healthy", "status": map[string]any{
					"succeeded": int64(1), "startTime": "2026-01-02T03:00:00Z", "completionTime": ended,
					"conditions": []any{map[string]any{"type": "Complete", "status": "True", "lastTransitionTime": ended}},
				}}},
			}
		}, tc.work)
		r.Works["m1"].Renewed, r.Works["m1"].Ran = tc.renewed, tc.ran
		j := On(f)
		status, err := j.Status(r, sample.Created.Add(tc.after))
		if err != nil || len(j.Plan) > 0 {
			t.Fatal(err, j.Plan)
		}
		if conditions, _ := status["conditions"].([]any); len(conditions) > 0 != tc.want {
			t.Errorf("%s: %s: %v", name, tc.reason, status)
		}
	}
}

// TestChosenReplicas: the status does not miss replicas where the Work leaves their number to the member.
func TestChosenReplicas(t *testing.T) {
	for value, want := range map[string]bool{"retain": true, "divide": false} {
		u := webDeployment("m1")
		u.SetAnnotations(map[string]string{render.ClustersAnnotation: "m1", render.ReplicasAnnotation: value})
		f, r := adopted(u, func(work *unstructured.Unstructured) { work.SetCreationTimestamp(metav1.NewTime(sample.Created)) })
		if m := On(f).member("m1", r.Works["m1"], r.Source, sample.Created); m.ChoosesReplicas != want {
			t.Errorf("%s: %+v", value, m)
		}
	}
}

// TestIdleJob: a member without a share of a Job's Pods is passed over, unless it may have some, or be about to.
func TestIdleJob(t *testing.T) {
	for name, tc := range map[string]struct {
		reason        string
		written, want int64  // Pods that the Work, and the source, want
		applied       string // as Karmada reports it; empty if it does not
		status        any
		idle          bool
	}{
		"Idle":     {"it has applied that there are none", 0, 0, "True", map[string]any{"startTime": "2026-01-02T03:00:00Z"}, true},
		"Away":     {"it has never applied anything", 0, 0, "", nil, true},
		"Refusing": {"it cannot", 0, 0, "False", nil, true},
		"Before":   {"it may still have some", 0, 0, "False", map[string]any{"active": int64(1)}, false},
		"Growing":  {"it is about to get some", 0, 1, "", nil, false},
		"Working":  {"it has some", 1, 1, "True", map[string]any{"active": int64(1)}, false},
	} {
		job := func(pods int64) *unstructured.Unstructured {
			u := webDeployment("m1")
			u.SetGroupVersionKind(state.JobKind.WithVersion("v1"))
			u.Object["spec"] = map[string]any{"parallelism": pods}
			return u
		}
		f, r := adopted(job(tc.written), func(u *unstructured.Unstructured) {
			var conditions, manifests []any
			if tc.applied != "" {
				conditions = []any{map[string]any{"type": render.AppliedCondition, "status": tc.applied, "reason": "x", "message": "", "lastTransitionTime": "2026-01-02T03:00:00Z"}}
			}
			if tc.status != nil {
				manifests = []any{map[string]any{"status": tc.status}}
			}
			u.Object["status"] = map[string]any{"conditions": conditions, "manifestStatuses": manifests}
			u.SetCreationTimestamp(metav1.NewTime(sample.Created))
		})
		f.Source = NewSource(job(tc.want), render.Wishes{})
		if m := On(f).member("m1", r.Works["m1"], r.Source, sample.Created); m.Idle != tc.idle {
			t.Errorf("%s: %s: idle %t, settled %t", name, tc.reason, m.Idle, m.Settled)
		}
	}
}

func withUID(u *unstructured.Unstructured, uid types.UID) *unstructured.Unstructured {
	u.SetUID(uid)
	return u
}

// suspending is a Deployment that is suspended on some clusters.
func suspending(clusters, on string) *unstructured.Unstructured {
	u := webDeployment(clusters)
	sample.Annotate(u, render.SuspendAnnotation, on)
	return u
}

// TestReporting: whose reports count, whatever they say. Those of a Job do for as long as it may run there.
func TestReporting(t *testing.T) {
	for kind, want := range map[string]string{"apps/v1 Deployment": "m1", "batch/v1 Job": "m1,m3,m4,m5"} {
		asks := func(clusters string) *unstructured.Unstructured {
			u := webDeployment(clusters)
			u.SetGroupVersionKind(schema.FromAPIVersionAndKind(strings.Fields(kind)[0], strings.Fields(kind)[1]))
			return u
		}
		works := map[string]*state.Work{}
		for _, cluster := range []string{"m3", "m4", "m5"} { // that of m5 is about to be deleted
			works[cluster] = state.NewWork(sample.Work(asks(cluster), cluster, reports(3)))
		}
		f := Facts{Source: NewSource(asks("m1,m2,m3,m4"), render.Wishes{}), PoliciesLive: true, Works: works, Clusters: map[string]ClusterFacts{
			"m1": {State: ClusterJoined}, "m2": {State: ClusterTerminating}, "m4": {State: ClusterJoined, Forbidden: true}, "m5": {State: ClusterJoined},
		}}
		f.ID = f.Source.ID
		if got := strings.Join(On(f).Reporting(), ","); got != want {
			t.Errorf("%s: got %q", kind, got)
		}
	}
}

// TestJobEndsWhereItIsLeft: a Job ends once it has in all members with a Work of it, one of which is not to have it any more.
func TestJobEndsWhereItIsLeft(t *testing.T) {
	source := sample.Object(sample.Annotations{render.ClustersAnnotation: "m1,m2"})
	source.SetGroupVersionKind(state.JobKind.WithVersion("v1"))
	source.SetGeneration(1)
	delete(source.Object, "data")
	source.Object["spec"], source.Object["status"] = map[string]any{"parallelism": int64(1)}, map[string]any{}
	started, ended := sample.Created.UTC().Format(time.RFC3339), sample.Created.Add(time.Minute).UTC().Format(time.RFC3339)
	complete := map[string]any{"succeeded": int64(1), "startTime": started, "completionTime": ended,
		"conditions": []any{map[string]any{"type": "Complete", "status": "True", "lastTransitionTime": ended}}}
	runs := map[string]any{"active": int64(1), "startTime": started}
	ofEarlier := func(u *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(u.Object, "earlier", "metadata", "annotations", render.SourceUIDAnnotation)
	}
	for what, tc := range map[string]struct {
		onM2    map[string]any
		changes []sample.Change
		want    bool
	}{
		"It runs": {runs, nil, false}, "It has ended": {complete, nil, true}, "Another owner took it over": {runs, []sample.Change{sample.Bound}, true},
		"An earlier one runs": {runs, []sample.Change{ofEarlier}, false}, "An earlier one has ended": {complete, []sample.Change{ofEarlier}, true},
	} {
		f := Facts{PoliciesLive: true, Source: NewSource(source.DeepCopy(), render.Wishes{}), Works: map[string]*state.Work{},
			Clusters: map[string]ClusterFacts{"m1": {State: ClusterJoined}, "m2": {State: ClusterJoined, Forbidden: true}}}
		f.ID = f.Source.ID
		r := Reports{Source: state.NewSourceStatus(source), Works: map[string]*state.Report{}}
		for cluster, status := range map[string]any{"m1": complete, "m2": tc.onM2} {
			changes := append([]sample.Change{reports(1)}, tc.changes...)
			if cluster == "m1" {
				changes = changes[:1]
			}
			work := sample.Work(source, cluster, append(changes, func(u *unstructured.Unstructured) {
				u.Object["status"] = map[string]any{
					"conditions":       []any{map[string]any{"type": render.AppliedCondition, "status": "True"}},
					"manifestStatuses": []any{map[string]any{"health": "Healthy", "status": status}},
				}
			})...)
			f.Works[cluster], r.Works[cluster] = state.NewWork(work), state.NewReport(work)
		}
		status, err := On(f).Status(r, sample.Created.Add(time.Hour))
		if conditions, _ := status["conditions"].([]any); err != nil || len(conditions) > 0 != tc.want {
			t.Errorf("%s: %v, %v", what, status, err)
		}
	}
}

// TestAlteredIsObserved: admission alters each Work that is written. The waves take such a Work for
// one that has the content, and come through; but the generation of the source is never observed, so that
// Argo CD and `kubectl rollout status` wait for ever.
func TestAlteredIsObserved(t *testing.T) {
	source := webDeployment("m1")
	sample.Annotate(source, render.WavesAnnotation, "m1")
	written := ""
	alter := func(u *unstructured.Unstructured) {
		manifest, _ := render.ManifestOf(u.Object)
		manifest["spec"].(map[string]any)["priorityClassName"] = "by-a-webhook"
		sample.Annotate(u, render.WrittenAnnotation, fmt.Sprintf("1-%s-%d", written, u.GetGeneration()+1))
	}
	f, _ := adopted(source, reports(3), alter)
	written = On(f).Verdict.Targets["m1"].notes.Written
	f, r := adopted(source, reports(3), alter)
	f.Now, f.HealthyFor = sample.Created.Add(time.Hour), map[string]time.Duration{"m1": time.Hour}
	f.Altered = map[string]Altered{"m1": {Digest: On(f).Verdict.Targets["m1"].Digest()}}
	j := On(f)
	if j.Verdict.Rollout.Current() != nil {
		t.Fatal(j.Verdict.Rollout.Current())
	}
	status, err := j.Status(r, f.Now)
	if err != nil || status["observedGeneration"] != int64(3) {
		t.Errorf("all waves are through, and it is not observed: %v, %v", status, err)
	}
}
