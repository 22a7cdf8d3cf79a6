package judge

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// foreground asks to be deleted in the foreground, besides what it asks for.
func foreground(wishes sample.Annotations) sample.Annotations {
	asks := sample.Annotations{render.DeletionAnnotation: "foreground"}
	for key, value := range wishes {
		asks[key] = value
	}
	return asks
}

func finalized(u *unstructured.Unstructured) *unstructured.Unstructured {
	u.SetFinalizers([]string{"example.io/other", render.WorksFinalizer})
	return u
}

func deleted(u *unstructured.Unstructured) *unstructured.Unstructured {
	u.SetDeletionTimestamp(&metav1.Time{Time: sample.Created})
	return u
}

// TestFinalizer: a source has our finalizer exactly as long as a Work may need it.
func TestFinalizer(t *testing.T) {
	m1 := sample.Annotations{render.ClustersAnnotation: "m1"}
	none := sample.Annotations{}
	misspelt := sample.Annotations{render.ClustersAnnotation: "m1", render.SuspendAnnotation: "yes"}
	work := func(changes ...sample.Change) *unstructured.Unstructured {
		return sample.Work(sample.Asking("1", "m1"), "m1", changes...)
	}
	unlabelled := func(u *unstructured.Unstructured) { u.SetLabels(nil) }
	cases := map[string]struct {
		reason  string
		source  *unstructured.Unstructured
		work    *unstructured.Unstructured
		unknown string
		want    FinalizerChange
	}{
		"Asks":            {"it asks for it", sample.Object(foreground(m1)), nil, "", AddFinalizer},
		"Has":             {"it has it", finalized(sample.Object(foreground(m1))), work(), "", LeaveFinalizer},
		"Background":      {"it does not ask for it", sample.Object(m1), work(), "", LeaveFinalizer},
		"NoClusters":      {"nothing is mirrored", sample.Object(foreground(none)), nil, "", LeaveFinalizer},
		"TooLate":         {"a finalizer cannot be added any more", deleted(sample.Object(foreground(m1))), work(), "", LeaveFinalizer},
		"Refused":         {"it is not mirrored, by a mistake", sample.Object(foreground(misspelt)), nil, "", LeaveFinalizer},
		"RefusedHas":      {"a mistake changes nothing", finalized(sample.Object(foreground(misspelt))), work(), "", LeaveFinalizer},
		"MisspeltHas":     {"a misspelt deletion is one", finalized(sample.Object(sample.Annotations{render.ClustersAnnotation: "m1", render.DeletionAnnotation: "orphan"})), work(), "", LeaveFinalizer},
		"NoLonger":        {"the annotation is gone", finalized(sample.Object(m1)), work(), "", RemoveFinalizer},
		"NeverAsked":      {"another user has copied the finalizer", finalized(sample.Object(none)), nil, "", RemoveFinalizer},
		"StopsAsking":     {"its Works are being deleted", finalized(sample.Object(foreground(none))), work(), "", LeaveFinalizer},
		"HasStopped":      {"its Works are gone", finalized(sample.Object(foreground(none))), nil, "", RemoveFinalizer},
		"Leaving":         {"its Work is there", deleted(finalized(sample.Object(foreground(m1)))), work(), "", LeaveFinalizer},
		"LeavingWork":     {"and so is one that is being deleted", deleted(finalized(sample.Object(foreground(m1)))), work(sample.Terminating), "", LeaveFinalizer},
		"Left":            {"its Works are gone", deleted(finalized(sample.Object(foreground(m1)))), nil, "", RemoveFinalizer},
		"LeftMisspelt":    {"an annotation that cannot be read keeps nothing", deleted(finalized(sample.Object(foreground(misspelt)))), nil, "", RemoveFinalizer},
		"LetGo":           {"the annotation was removed while a member was away", deleted(finalized(sample.Object(m1))), work(sample.Terminating), "", RemoveFinalizer},
		"OfAnother":       {"the Work is a policy's now", deleted(finalized(sample.Object(foreground(m1)))), work(sample.Bound), "", RemoveFinalizer},
		"WithoutOurLabel": {"no one would ever delete the Work", deleted(finalized(sample.Object(foreground(m1)))), work(unlabelled), "", RemoveFinalizer},
		"Unknown":         {"nothing is known", finalized(sample.Object(m1)), nil, "its resource has not synced", LeaveFinalizer},
		"Absent":          {"it does not exist", nil, work(), "", LeaveFinalizer},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := Facts{ID: sample.Page, Unknown: tc.unknown, Clusters: joinedClusters("m1"), Works: map[string]*state.Work{}}
			if tc.source != nil {
				f.Source = NewSource(tc.source, render.Wishes{})
			}
			if tc.work != nil {
				f.Works["m1"] = state.NewWork(tc.work)
			}
			if got := On(f).Finalizer(); got != tc.want {
				t.Errorf("%s: got %d, want %d", tc.reason, got, tc.want)
			}
		})
	}
}

// TestLeaving: a source that is deleted in the foreground wants no Works, whatever it says, and only
// a live read proves that.
func TestLeaving(t *testing.T) {
	m1 := sample.Annotations{render.ClustersAnnotation: "m1,m2"}
	cases := map[string]struct {
		reason   string
		source   *unstructured.Unstructured
		live     bool
		work     sample.Change
		decision Decision
		plan     string
	}{
		"Live":       {"its Work is deleted", deleted(finalized(sample.Object(foreground(m1)))), true, nil, Unwanted, "delete m1"},
		"Cached":     {"the cache proves nothing", deleted(finalized(sample.Object(foreground(m1)))), false, nil, Unknown, ""},
		"Misspelt":   {"a mistake keeps no Work of what is deleted", deleted(finalized(sample.Object(foreground(sample.Annotations{render.ClustersAnnotation: "!"})))), true, nil, Unwanted, "delete m1"},
		"Background": {"what is there stays until it is gone, and nothing is added", deleted(sample.Object(m1)), true, nil, Wanted, ""},
		"OursIsGone": {"another finalizer keeps it after ours", deleted(sample.Object(foreground(m1))), true, nil, Unwanted, "delete m1"},
		"Preserve": {"it asks to preserve its objects, which the Work does not say yet",
			deleted(finalized(sample.Object(foreground(sample.Annotations{render.ClustersAnnotation: "m1", render.PreserveOnDeletionAnnotation: "true"})))), true, nil, Unwanted, "amend m1"},
		"Bound": {"the Work is a policy's", deleted(finalized(sample.Object(foreground(m1)))), true, sample.Bound, Unknown, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var changes []sample.Change
			if tc.work != nil {
				changes = append(changes, tc.work)
			}
			f := Facts{ID: sample.Page, Live: tc.live, Clusters: joinedClusters("m1", "m2"), Source: NewSource(tc.source, render.Wishes{}),
				Works: map[string]*state.Work{"m1": state.NewWork(sample.Work(sample.Object(m1), "m1", changes...))}}
			j := On(f)
			var plan []string
			for _, op := range j.Plan {
				plan = append(plan, string(op.Kind)+" "+op.Cluster)
			}
			if got := j.Verdict.Targets["m1"].Decision; got != tc.decision || strings.Join(plan, ", ") != tc.plan {
				t.Errorf("%s: got %s, plan %v", tc.reason, got, plan)
			}
		})
	}
}

// TestLingering: the notice says for which clusters a source waits, and why.
func TestLingering(t *testing.T) {
	f := Facts{ID: sample.Page, Clusters: joinedClusters(), Works: map[string]*state.Work{},
		Source: NewSource(deleted(finalized(sample.Object(foreground(sample.Annotations{render.ClustersAnnotation: "*"})))), render.Wishes{})}
	add := func(cluster string, facts ClusterFacts, changes ...sample.Change) {
		f.Clusters[cluster] = facts
		f.Works[cluster] = state.NewWork(sample.Work(sample.Asking("1", "*"), cluster, changes...))
	}
	ready, away := ClusterFacts{State: ClusterJoined}, ClusterFacts{State: ClusterJoined, Away: true}
	held := func(u *unstructured.Unstructured) {
		sample.Annotate(u, render.HeldKey, "2026-01-02T03:04:05.000Z configmaps many")
	}
	for _, cluster := range []string{"a1", "a2", "a3", "a4", "a5", "a6", "a7"} {
		add(cluster, away, sample.Terminating)
	}
	add("b", ready, sample.Terminating)
	add("c", ready, sample.Terminating, sample.Preserving)
	add("d", ready, held)
	add("e", ready)
	notices := Decide(f).Notices
	if len(notices) != 1 || notices[0].Reason != DeletionPending {
		t.Fatalf("got %+v", notices)
	}
	for _, part := range []string{
		"since 2026-01-02T03:04:05Z", "a1, a2, a3, a4, a5 and 2 others (the cluster is not ready)",
		"b (Karmada has not reported yet that the member has accepted the deletion)", "c (Karmada has not parted", "d (the deletion breaker", "e (not deleted yet)",
	} {
		if !strings.Contains(notices[0].Message, part) {
			t.Errorf("%q is missing in %q", part, notices[0].Message)
		}
	}
}
