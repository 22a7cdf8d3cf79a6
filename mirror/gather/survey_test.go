package gather

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// TestSurveyUpdate: after each change of a Work, the Survey knows what one that starts then does.
func TestSurveyUpdate(t *testing.T) {
	source := sample.Object(sample.Annotations{render.ClustersAnnotation: "m1,m2"})
	id := IdentityOf(source)
	unnamed := func(u *unstructured.Unstructured) {
		annotations := u.GetAnnotations()
		delete(annotations, render.SourceAnnotation)
		u.SetAnnotations(annotations)
	}
	first, second := sample.Work(source, "m1"), sample.Work(source, "m2")
	s := &Survey{Reader: &Reader{}, of: map[render.Identity][]*state.Work{}, at: map[types.NamespacedName]*state.Work{}, scaling: map[render.Identity][]*state.Work{}}
	steps := []struct {
		reason    string
		work      *unstructured.Unstructured
		isDeleted bool
		sources   []render.Identity
		clusters  []string // of the source's Works
		works     int
	}{
		{"a new Work", first, false, []render.Identity{id}, []string{"m1"}, 1},
		{"another", second, false, []render.Identity{id}, []string{"m1", "m2"}, 2},
		{"it changes", second, false, []render.Identity{id, id}, []string{"m1", "m2"}, 2},
		{"it no longer names the source, which should know", sample.Work(source, "m2", unnamed), false, []render.Identity{id, {}}, []string{"m1"}, 2},
		{"it is deleted", second, true, []render.Identity{{}}, []string{"m1"}, 1},
		{"it was never known", second, true, nil, []string{"m1"}, 1},
		{"the last is deleted", first, true, []render.Identity{id}, nil, 0},
	}
	for _, step := range steps {
		sources := s.Update(step.work, step.isDeleted)
		var clusters []string
		for _, w := range s.of[id] {
			clusters = append(clusters, w.Cluster)
		}
		if diff := cmp.Diff(step.sources, sources); diff != "" {
			t.Errorf("%s: sources -want +got:\n%s", step.reason, diff)
		}
		if slices.Sort(clusters); !slices.Equal(clusters, step.clusters) || len(s.at) != step.works {
			t.Errorf("%s: %v, %d Works", step.reason, clusters, len(s.at))
		}
	}
	if len(s.of) != 0 {
		t.Errorf("sources without Works are remembered: %v", s.of)
	}
}
