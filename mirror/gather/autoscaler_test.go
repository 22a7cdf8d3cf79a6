package gather

import (
	"iter"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

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
			if f.Clusters["m1"].ScaledBy.Name != tc.want || f.Clusters["m2"].ScaledBy.Name != "" {
				t.Errorf("%s: %+v", tc.reason, f.Clusters)
			}
		})
	}
}

// TestScaledByOne: of two autoscalers, always the same is named, and none in a member that lacks its kind.
func TestScaledByOne(t *testing.T) {
	keda := render.Identity{Group: state.ScaledObjectKind.Group, Kind: state.ScaledObjectKind.Kind, Namespace: "shop", Name: "web"}
	hpa := render.Identity{Group: state.AutoscalerKind.Group, Kind: state.AutoscalerKind.Kind, Namespace: "shop", Name: "web"}
	for _, order := range [][]render.Identity{{keda, hpa}, {hpa, keda}} {
		f := judge.Facts{Clusters: map[string]judge.ClusterFacts{"m1": {}, "m2": {Kinds: "\nDeployment.apps v1\n"}}}
		for _, id := range order {
			scale(&f, "m1", id)
			scale(&f, "m2", id)
		}
		if f.Clusters["m1"].ScaledBy != hpa || f.Clusters["m2"].ScaledBy != (render.Identity{}) {
			t.Errorf("%v", f.Clusters)
		}
	}
}

// autoscaled is a store that knows one autoscaler, and nothing else.
type autoscaled struct {
	store
	by *state.Object
}

func (autoscaled) inForce() *config.Configuration { return &config.Configuration{} }

func (s autoscaled) autoscalersOf(render.Identity) iter.Seq[*state.Object] {
	return slices.Values([]*state.Object{s.by})
}

// TestScalable: of the core group, a ReplicationController can be scaled.
func TestScalable(t *testing.T) {
	for version, kind := range map[string]string{"apps/v1": "Deployment", "v1": "ReplicationController"} {
		group, _ := schema.ParseGroupVersion(version)
		f := judge.Facts{ID: render.Identity{Group: group.Group, Kind: kind, Namespace: "shop", Name: "web"}, Clusters: map[string]judge.ClusterFacts{"m1": {}}}
		f.Source = &judge.Source{ID: f.ID, Asks: true}
		s := autoscaled{by: state.NewObject(sample.Autoscaler(sample.Annotations{render.ClustersAnnotation: "m1"}, version, kind, "web"))}
		if addAutoscalers(&f, &state.Namespace{}, s); f.Clusters["m1"].ScaledBy.Name == "" {
			t.Errorf("%s: its autoscaler is not known", kind)
		}
	}
}
