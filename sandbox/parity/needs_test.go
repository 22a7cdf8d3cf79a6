package parity

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/karmada-io/karmada/pkg/resourceinterpreter/default/native"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/randfill"

	"github.com/karmada-target/karmada-mirror/render"
)

// TestNeeds compares what Pods need with the dependencies that Karmada's interpreter
// propagates (propagateDeps). Those include optional ones, which this test omits.
func TestNeeds(t *testing.T) {
	interpreter := native.NewDefaultInterpreter()
	random := rand.New(rand.NewPCG(5, 6))
	filler := randfill.NewWithSeed(7).NilChance(0.5).NumElements(0, 3).MaxDepth(9).Funcs(
		func(s *string, _ randfill.Continue) { *s = text(random, 1, 8) },
		func(v *corev1.VolumeSource, c randfill.Continue) { // an API server accepts only one of its fields
			fields := reflect.ValueOf(v).Elem()
			source := fields.Field(random.IntN(fields.NumField()))
			source.Set(reflect.New(source.Type().Elem()))
			c.Fill(source.Interface())
		},
		func(optional **bool, _ randfill.Continue) { *optional = nil },
	)
	found := 0
	for range manyPods {
		deployment := &appsv1.Deployment{}
		filler.Fill(&deployment.Spec.Template.Spec)
		deployment.APIVersion, deployment.Kind, deployment.Namespace, deployment.Name = "apps/v1", "Deployment", "shop", "web"
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(deployment)
		if err != nil {
			t.Fatal(err)
		}
		object := &unstructured.Unstructured{Object: fields}
		references, err := interpreter.GetDependencies(object)
		if err != nil {
			t.Fatal(err)
		}
		var want, got []string
		for _, r := range references {
			want = append(want, render.Identity{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}.String())
		}
		manifest, err := render.NewManifest(object.DeepCopy(), render.Identity{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}, "u")
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range manifest.Needs() {
			got = append(got, id.String())
		}
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("-Karmada's +ours:\n%s", diff)
		}
		found += len(got)
	}
	if found < manyPods {
		t.Errorf("%d Pods need %d objects: too few to compare", manyPods, found)
	}
}
