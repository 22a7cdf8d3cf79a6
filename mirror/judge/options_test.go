package judge

import (
	"strings"
	"testing"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// TestPreserveBesideOverride: the content of a Work cannot be written now, because of an override policy. The object
// asks to be preserved meanwhile, and is deleted then: it must not be deleted in the member.
func TestPreserveBesideOverride(t *testing.T) {
	for name, tc := range map[string]struct {
		after []*state.Policy
		live  bool
	}{
		"OverrideFailed": {[]*state.Policy{{Meta: state.Meta{Namespace: sample.Page.Namespace, Name: "odd"}, Fault: "cannot decode OverridePolicy/odd"}}, true},
		"Lost":           {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := Facts{ID: sample.Page, Source: NewSource(sample.Object(sample.Annotations{render.ClustersAnnotation: "m1"}), render.Wishes{}), Works: map[string]*state.Work{}, PoliciesLive: true,
				Policies: []*state.Policy{overridePolicy(t, "base", "base")}, Clusters: map[string]ClusterFacts{"m1": {State: ClusterJoined, Member: &render.Member{Name: "m1"}}}}
			carryOut(t, f)
			f.Policies, f.PoliciesLive = tc.after, tc.live
			f.Source = NewSource(sample.Object(sample.Annotations{render.ClustersAnnotation: "m1", render.PreserveOnDeletionAnnotation: "true"}), render.Wishes{})
			v := Decide(f)
			var sent string
			for _, op := range Plan(v, f.Works) {
				body, err := op.Body(v)
				if err != nil {
					t.Fatal(err)
				}
				sent += string(body)
			}
			if strings.Contains(sent, `"preserveResourcesOnDeletion":true`) {
				return
			}
			f.Source, f.Live = nil, true
			for _, op := range Plan(Decide(f), f.Works) {
				t.Errorf("the object asked to be preserved, its Work is never told that, and then: %s, preserves: %v", op.Kind, op.Work.Preserves())
			}
		})
	}
}

// TestPreserveLater: m1 gets fewer replicas once m2 has more, which it cannot get. It is preserved all the same,
// even if its Work does not say how many replicas it has.
func TestPreserveLater(t *testing.T) {
	for name, earlier := range map[string]sample.Annotations{
		"Divided": {render.ClustersAnnotation: "m1,m2", render.ReplicasAnnotation: "m1=5"},
		"Whole":   {render.ClustersAnnotation: "m1"},
	} {
		t.Run(name, func(t *testing.T) {
			before := dividedFacts(t, 6, earlier, joinedClusters("m1", "m2"))
			carryOut(t, before)
			f := dividedFacts(t, 6, sample.Annotations{render.ClustersAnnotation: "m1,m2", render.ReplicasAnnotation: "m2=5", render.PreserveOnDeletionAnnotation: "true"}, joinedClusters("m1", "m2"))
			f.Works = before.Works
			v := Decide(f)
			for _, op := range Plan(v, f.Works) {
				if op.Cluster != "m1" {
					continue
				}
				if body, err := op.Body(v); err == nil && strings.Contains(string(body), `"preserveResourcesOnDeletion":true`) {
					return
				}
			}
			t.Error("m1 is not told to preserve its object until m2 has been written, however long that takes")
		})
	}
}
