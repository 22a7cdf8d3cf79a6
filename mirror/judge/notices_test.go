package judge

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

func workloadObject(kind string, wishes sample.Annotations) *unstructured.Unstructured {
	u := sample.Object(wishes)
	u.SetAPIVersion("apps/v1")
	u.SetKind(kind)
	u.Object["spec"] = map[string]any{"replicas": int64(3)}
	delete(u.Object, "data")
	return u
}

// TestScaled: where an autoscaler is mirrored, the member keeps its own number of replicas.
func TestScaled(t *testing.T) {
	const retain = "resourcetemplate.karmada.io/retain-replicas"
	asks := sample.Annotations{render.ClustersAnnotation: "m1,m2"}
	byHand := sample.Annotations{render.ClustersAnnotation: "m1,m2", render.ReplicasAnnotation: "retain"}
	scaledInM2 := joinedClusters("m1", "m2")
	scaledInM2["m2"] = ClusterFacts{State: ClusterJoined, ScaledBy: render.Identity{Group: "autoscaling", Kind: "HorizontalPodAutoscaler", Name: "web"}}
	cases := map[string]struct {
		reason   string
		kind     string
		wishes   sample.Annotations
		clusters map[string]ClusterFacts
		retained []string
		told     bool
	}{
		"NotScaled":   {"nothing scales it", "Deployment", asks, joinedClusters("m1", "m2"), nil, false},
		"Scaled":      {"an autoscaler does, in one cluster", "Deployment", asks, scaledInM2, []string{"m2"}, false},
		"ByHand":      {"an annotation says so", "Deployment", byHand, joinedClusters("m1", "m2"), []string{"m1", "m2"}, false},
		"StatefulSet": {"Karmada cannot retain the replicas of other kinds", "StatefulSet", asks, scaledInM2, []string{"m2"}, true},
		"NoneOfThese": {"not even by an annotation", "StatefulSet", byHand, joinedClusters("m1", "m2"), []string{"m1", "m2"}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			id := render.Identity{Group: "apps", Kind: tc.kind, Namespace: sample.Page.Namespace, Name: sample.Page.Name}
			v := Decide(Facts{ID: id, Source: NewSource(workloadObject(tc.kind, tc.wishes), render.Wishes{}), Clusters: tc.clusters})
			var retained []string
			for _, op := range v.Plan() {
				work := &unstructured.Unstructured{}
				body, err := op.Body(v)
				if err != nil {
					t.Fatal(err)
				}
				if err := work.UnmarshalJSON(body); err != nil {
					t.Fatal(err)
				}
				manifests, _, _ := unstructured.NestedSlice(work.Object, "spec", "workload", "manifests")
				if value, _, _ := unstructured.NestedString(manifests[0].(map[string]any), "metadata", "labels", retain); value == "true" {
					retained = append(retained, op.Cluster)
				}
				if observed := state.NewWork(work); observed.Digest != v.Targets[op.Cluster].Digest() {
					t.Errorf("the Work for %s is not as wanted", op.Cluster)
				}
			}
			told := slices.ContainsFunc(v.Notices, func(r Refusal) bool { return r.Reason == ReplicasContested })
			if !slices.Equal(retained, tc.retained) || told != tc.told {
				t.Errorf("%s: retained in %q, reported: %v", tc.reason, retained, told)
			}
		})
	}
}

// TestRunsAgain: a Job that has finished is said to run in clusters that joined after it was created, unless they are named.
func TestRunsAgain(t *testing.T) {
	for clusters, want := range map[string]bool{"*": true, "m1,m2": false} {
		job := workloadObject("Job", sample.Annotations{render.ClustersAnnotation: clusters})
		job.SetAPIVersion("batch/v1")
		s := NewSource(job, render.Wishes{})
		f := Facts{ID: s.ID, Source: s, Clusters: joinedClusters("m1", "m2"), Works: map[string]*state.Work{}}
		late := f.Clusters["m2"]
		late.Joined = sample.Created.Add(time.Hour)
		f.Clusters["m2"] = late
		f.Works["m1"] = state.NewWork(sample.WorkOf(s.Template.Work("m1"), func(u *unstructured.Unstructured) {
			status := map[string]any{"identifier": map[string]any{"kind": "Job"}, "status": map[string]any{"conditions": []any{map[string]any{"type": "Complete", "status": "True"}}}}
			u.Object["status"] = map[string]any{"manifestStatuses": []any{status}}
		}))
		if !f.Works["m1"].IsFinished() {
			t.Fatal("the Job has not finished")
		}
		told := slices.ContainsFunc(Decide(f).Notices, func(r Refusal) bool {
			return r.Reason == RunsAgain && strings.Contains(r.Message, `cluster "m2"`) && !strings.Contains(r.Message, `"m1"`)
		})
		if told != want {
			t.Errorf("%s: %v", clusters, Decide(f).Notices)
		}
	}
}

// TestStalled: a source that a finalizer keeps after its deletion in the background keeps its Works, and that is said.
func TestStalled(t *testing.T) {
	for deletion, want := range map[string]bool{"background": true, "foreground": false} {
		u := sample.Object(sample.Annotations{render.ClustersAnnotation: "m1", render.DeletionAnnotation: deletion})
		u.SetFinalizers([]string{"example.com/cleanup"})
		u.SetDeletionTimestamp(&metav1.Time{Time: sample.Created})
		s := NewSource(u, render.Wishes{})
		v := Decide(Facts{ID: s.ID, Source: s, Live: true, Clusters: joinedClusters("m1"), Works: map[string]*state.Work{"m1": pageWork(pageSource("uid-1", "m1"), "m1")}})
		told := slices.ContainsFunc(v.Notices, func(r Refusal) bool {
			return r.Reason == DeletionPending && strings.Contains(r.Message, "karmada.target/deletion=foreground")
		})
		if told != want || v.Targets["m1"].Decision != map[bool]Decision{true: Wanted, false: Unwanted}[want] {
			t.Errorf("%s: %v, %+v", deletion, v.Notices, v.Targets["m1"])
		}
	}
}
