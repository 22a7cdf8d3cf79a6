package judge

import (
	"encoding/json"
	"testing"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// overriddenFacts are the facts about the page, which is mirrored to m1 and which policies change.
func overriddenFacts(wishes sample.Annotations, policies ...*state.Policy) Facts {
	return Facts{ID: sample.Page, Source: NewSource(sample.Object(wishes), render.Wishes{}), Works: map[string]*state.Work{}, PoliciesLive: true,
		Policies: policies, Clusters: map[string]ClusterFacts{"m1": {State: ClusterJoined, Member: &render.Member{Name: "m1"}}}}
}

// stayings are what makes the content of a Work stay as it is: its policy cannot be read any more, or has gone by
// the cache alone.
var stayings = map[string]func(*Facts){
	"OverrideFailed": func(f *Facts) {
		f.Policies = []*state.Policy{{Meta: state.Meta{Namespace: sample.Page.Namespace, Name: "base"}, Fault: "cannot decode OverridePolicy/base"}}
	},
	"Lost": func(f *Facts) { f.Policies, f.PoliciesLive = nil, false },
}

// TestStaysSuspended: what a suspended Work carries may never have reached the member. A user corrects that and resumes in
// one edit, and the correction cannot be written yet: Karmada must not apply what was there before.
func TestStaysSuspended(t *testing.T) {
	for name, stay := range stayings {
		t.Run(name, func(t *testing.T) {
			f := overriddenFacts(sample.Annotations{render.ClustersAnnotation: "m1", render.SuspendAnnotation: "true"}, overridePolicy(t, "base", "base"))
			carryOut(t, f)
			f.Source = overriddenFacts(sample.Annotations{render.ClustersAnnotation: "m1"}).Source
			stay(&f)
			for _, op := range Decide(f).Plan() {
				t.Errorf("%s: %s", op.Kind, op.Because)
			}
		})
	}
}

// TestLongWorkIsAdjusted: a patch of a Work with the longer name says so. The API server refuses another one.
func TestLongWorkIsAdjusted(t *testing.T) {
	for name, stay := range stayings {
		t.Run(name, func(t *testing.T) {
			f := overriddenFacts(sample.Annotations{render.ClustersAnnotation: "m1"}, overridePolicy(t, "base", "base"))
			f.Taken = map[string]bool{"m1": true}
			carryOut(t, f)
			f.Source = overriddenFacts(sample.Annotations{render.ClustersAnnotation: "m1", render.PreserveOnDeletionAnnotation: "true"}).Source
			stay(&f)
			v := Decide(f)
			plan := v.Plan()
			if len(plan) != 1 || !f.Works["m1"].IsLong() {
				t.Fatalf("planned %+v for %s", plan, f.Works["m1"].Name)
			}
			body, err := plan[0].Body(v)
			if err != nil {
				t.Fatal(err)
			}
			var sent struct{ Metadata struct{ Name string } }
			if err := json.Unmarshal(body, &sent); err != nil || sent.Metadata.Name != f.Works["m1"].Name {
				t.Errorf("%s of %s says %q: %v", plan[0].Kind, f.Works["m1"].Name, sent.Metadata.Name, err)
			}
		})
	}
}
