package judge

import (
	"slices"
	"testing"

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
	scaledInM2["m2"] = ClusterFacts{State: ClusterJoined, ScaledBy: "web"}
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
