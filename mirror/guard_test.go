package mirror

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/render"
)

const confidential = "a part of a Secret"

func TestGuardedSource(t *testing.T) {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"namespace": page.Namespace, "name": page.Name, "annotations": map[string]any{render.ClustersAnnotation: "m1"}},
	}}
	for cause, poison := range map[string]func() *Source{
		"a panic with a string": func() *Source { panic(confidential) },
		"interface conversion":  func() *Source { return any(confidential).(*Source) },
	} {
		s := newSource(u.DeepCopy(), render.Wishes{}, func(u *unstructured.Unstructured, _ render.Wishes, _ Source) *Source {
			u.SetAnnotations(nil) // as rendering does before it goes on
			return poison()
		})
		if s.ID != page || !s.Asks || s.Template != nil || s.Refusal == nil || s.Refusal.Reason != RenderFailed {
			t.Fatalf("a poison object became %+v", s)
		}
		if !strings.Contains(s.Refusal.Message, cause) || strings.Contains(s.Refusal.Message, confidential) {
			t.Errorf("the message is %q", s.Refusal.Message)
		}
	}
}

// TestGuardedWork: what cannot be read is not touched, whoever it says it is of.
func TestGuardedWork(t *testing.T) {
	source := pageSource("1", "m1")
	ours := &unstructured.Unstructured{}
	if err := ours.UnmarshalJSON(source.Template.Work("m1")); err != nil {
		t.Fatal(err)
	}
	w := newWork(ours, func(*unstructured.Unstructured, Work) *Work { panic(confidential) })
	if w.Cluster != "m1" || w.Name != page.WorkName() || w.Foreign == "" || strings.Contains(w.Foreign, confidential) {
		t.Errorf("a poison Work became %+v", w)
	}
	f := Facts{ID: page, Live: true, Clusters: joinedClusters("m1"), Works: map[string]*Work{"m1": w}}
	for _, f.Source = range []*Source{nil, source, pageSource("1", "m2")} {
		if plan := Plan(Decide(f), f.Works); len(plan) > 0 && plan[0].Cluster == "m1" {
			t.Errorf("of %+v follows %+v", f.Source, plan)
		}
	}
}
