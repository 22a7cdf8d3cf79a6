package bench

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/render"
)

func TestTurns(t *testing.T) {
	want := []portion{{0, turn}, {turn, turn}, {2 * turn, 7}}
	if diff := cmp.Diff(want, turns(2*turn+7), cmp.AllowUnexported(portion{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestDisown: the Work of a bare POST has the same size, and the daemon beside it does not see
// it.
func TestDisown(t *testing.T) {
	source := makeDeployment("web")
	annotated.put(source)
	source.SetUID("4f6c0d3e-0f1c-4a53-9d52-7a4f0d7b0f11")
	source.SetCreationTimestamp(metav1.Unix(1, 0))
	work := judge.NewSource(source, render.Wishes{}).Template.Work(clusterName(0))
	ours, err := labels.Parse(render.OurWorks)
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]bool{string(work): true, string(disown(work)): false} {
		var u unstructured.Unstructured
		if err := u.UnmarshalJSON([]byte(body)); err != nil {
			t.Fatal(err)
		}
		if got := ours.Matches(labels.Set(u.GetLabels())); got != want || len(body) != len(work) {
			t.Errorf("a Work of %d bytes with the labels %v: seen %t, want %d bytes and %t", len(body), u.GetLabels(), got, len(work), want)
		}
	}
}
