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

func TestExplainNotes(t *testing.T) {
	source := NewSource(sample.Object(sample.Annotations{render.ClustersAnnotation: "m1"}), render.Wishes{})
	for name, c := range map[string]struct {
		reason string
		change []sample.Change
		want   string
	}{
		"Short": {"Karmada finds the Work by its name", nil, ""},
		"Long":  {"Karmada does not", []sample.Change{sample.Long}, NoteLong},
	} {
		t.Run(name, func(t *testing.T) {
			e := Explain(Facts{
				ID: sample.Page, Source: source, Clusters: joinedClusters("m1"),
				Works: map[string]*state.Work{"m1": pageWork(source, "m1", c.change...)},
			})
			if len(e.Clusters) != 1 || e.Clusters[0].Note != c.want {
				t.Errorf("%s: %+v", c.reason, e.Clusters)
			}
		})
	}
}

// TestExplainStuck: outside the configuration, no daemon removes the finalizer of an object.
func TestExplainStuck(t *testing.T) {
	finalized := func(u *unstructured.Unstructured) { u.SetFinalizers([]string{render.WorksFinalizer}) }
	deleted := func(u *unstructured.Unstructured) { u.SetDeletionTimestamp(&metav1.Time{Time: sample.Created}) }
	for name, c := range map[string]struct {
		changes []sample.Change
		unknown string
		want    int // steps
	}{
		"Stuck":      {[]sample.Change{finalized, deleted}, "not among the resources of the configuration", 2},
		"Configured": {[]sample.Change{finalized, deleted}, "", 2},
		"Stays":      {[]sample.Change{finalized}, "not among the resources of the configuration", 1},
		"Others":     {[]sample.Change{deleted}, "not among the resources of the configuration", 1},
	} {
		u := sample.Object(sample.Annotations{render.ClustersAnnotation: "m1"})
		for _, change := range c.changes {
			change(u)
		}
		steps := Explain(Facts{ID: sample.Page, Unknown: c.unknown, Source: NewSource(u, render.Wishes{})}).Steps
		stuck := strings.Contains(steps[len(steps)-1].Hint, "kubectl edit configmap page -n shop, and remove karmada.target/works from metadata.finalizers")
		if len(steps) != c.want || stuck != (name == "Stuck") {
			t.Errorf("%s: %+v", name, steps)
		}
	}
}

// TestExplainDeleted: a finalizer of another controller keeps a source that is being deleted.
func TestExplainDeleted(t *testing.T) {
	object := sample.Object(sample.Annotations{render.ClustersAnnotation: "m1"})
	last := func(changes ...sample.Change) Step {
		u := object.DeepCopy()
		for _, change := range changes {
			change(u)
		}
		steps := Explain(Facts{ID: sample.Page, Source: NewSource(u, render.Wishes{}), Clusters: joinedClusters("m1")}).Steps
		return steps[len(steps)-1]
	}
	if step := last(); !step.Passed {
		t.Errorf("it is not being deleted: %+v", step)
	}
	step := last(sample.Terminating)
	if step.Passed || step.What != deletedSource || !strings.Contains(step.Hint, render.DeletionAnnotation+"=foreground") {
		t.Errorf("it is being deleted: %+v", step)
	}
	if step := last(sample.Terminating, func(u *unstructured.Unstructured) { sample.Annotate(u, render.DeletionAnnotation, "foreground") }); step.What == deletedSource {
		t.Errorf("in the foreground: %+v", step)
	}
}

// TestExplainScaled: who scales the Deployment at its source learns why nothing happens.
func TestExplainScaled(t *testing.T) {
	clusters := joinedClusters("m1", "m2")
	clusters["m2"] = ClusterFacts{State: ClusterJoined, ScaledBy: render.Identity{Group: "autoscaling", Kind: "HorizontalPodAutoscaler", Namespace: "shop", Name: "web"}}
	f := dividedFacts(t, 3, sample.Annotations{render.ClustersAnnotation: "m1,m2"}, clusters)
	f.Works["m1"], f.Works["m2"] = pageWork(f.Source, "m1"), pageWork(f.Source, "m2")
	var notes []string
	for _, c := range Explain(f).Clusters {
		notes = append(notes, c.Note)
	}
	if want := "spec.replicas is left to HorizontalPodAutoscaler.autoscaling/shop/web, which is mirrored there"; len(notes) != 2 || notes[0] != "" || notes[1] != want {
		t.Errorf("%q", notes)
	}
}
