package judge

import (
	"strings"
	"testing"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/render"
)

// TestPreserveBesideOverride: the content of a Work cannot be written now, because of an override policy. The object
// asks to be preserved meanwhile, and is deleted then: it must not be deleted in the member.
func TestPreserveBesideOverride(t *testing.T) {
	for name, stay := range stayings {
		t.Run(name, func(t *testing.T) {
			f := overriddenFacts(sample.Annotations{render.ClustersAnnotation: "m1"}, overridePolicy(t, "base", "base"))
			carryOut(t, f)
			stay(&f)
			f.Source = overriddenFacts(sample.Annotations{render.ClustersAnnotation: "m1", render.PreserveOnDeletionAnnotation: "true"}).Source
			v := Decide(f)
			var sent string
			for _, op := range v.Plan() {
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
			for _, op := range Decide(f).Plan() {
				t.Errorf("the object asked to be preserved, its Work is never told that, and then: %s, preserves: %v", op.Kind, op.Work.Preserves())
			}
		})
	}
}

// TestPreserveLater: m1 gets fewer replicas once m2 has more, which it cannot get. It is preserved all the same,
// even if it is a Job, which waits with all of a change.
func TestPreserveLater(t *testing.T) {
	for name, earlier := range map[string]sample.Annotations{
		"Divided": {render.ClustersAnnotation: "m1,m2", render.ReplicasAnnotation: "m1=5"},
		"Job":     {render.ClustersAnnotation: "m1,m2", render.ReplicasAnnotation: "m1=5"},
	} {
		t.Run(name, func(t *testing.T) {
			before := dividedFacts(t, 6, earlier, joinedClusters("m1", "m2"))
			carryOut(t, before)
			f := dividedFacts(t, 6, sample.Annotations{render.ClustersAnnotation: "m1,m2", render.ReplicasAnnotation: "m2=5", render.PreserveOnDeletionAnnotation: "true"}, joinedClusters("m1", "m2"))
			f.Works = before.Works
			f.Scale.HasCompletions = name == "Job"
			v := Decide(f)
			for _, op := range v.Plan() {
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
