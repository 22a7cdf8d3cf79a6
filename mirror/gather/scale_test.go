package gather

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// TestScaled: an autoscaler scales where it is wanted, and where it still exists unwanted.
func TestScaled(t *testing.T) {
	autoscaler := func(wishes sample.Annotations) *unstructured.Unstructured {
		return sample.Autoscaler(wishes, "v1", "ConfigMap", "page")
	}
	m1 := sample.Annotations{render.ClustersAnnotation: "m1"}
	mistaken := sample.Annotations{render.ClustersAnnotation: "m1", render.SuspendAnnotation: "Perhaps"}
	work := func(changes ...sample.Change) *state.Work {
		return state.NewWork(sample.Work(autoscaler(m1), "m1", changes...))
	}
	cases := map[string]struct {
		reason string
		wishes sample.Annotations
		works  []*state.Work
		want   string
	}{
		"Nowhere":  {"there is no autoscaler", nil, nil, ""},
		"Wanted":   {"it is about to be mirrored", m1, nil, "autoscaler"},
		"There":    {"it no longer asks, but its deletion may be held", nil, []*state.Work{work()}, "autoscaler"},
		"Going":    {"it scales until it is deleted", nil, []*state.Work{work(sample.Terminating)}, "autoscaler"},
		"Mistaken": {"it is refused and was never mirrored", mistaken, nil, ""},
		"Refused":  {"it was mirrored before it was refused", mistaken, []*state.Work{work()}, "autoscaler"},
		"Foreign":  {"another controller looks after its own", nil, []*state.Work{work(sample.Bound)}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := judge.Facts{ID: sample.Page, Clusters: map[string]judge.ClusterFacts{"m1": {}, "m2": {}}}
			scaleBy(&f, judge.NewSource(autoscaler(tc.wishes), render.Wishes{}), &config.Configuration{}, config.Source{})
			scaleByWorks(&f, slices.Values(tc.works))
			if f.Clusters["m1"].ScaledBy != tc.want || f.Clusters["m2"].ScaledBy != "" {
				t.Errorf("%s: %+v", tc.reason, f.Clusters)
			}
		})
	}
}
