package judge

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// TestCostOfTerms: as many globs as an object may have make a judgement on a large fleet a few times as
// expensive, not hundreds of times.
func TestCostOfTerms(t *testing.T) {
	var globs, names []string
	for i := range render.MaxAllGlobs / 4 {
		globs = append(globs, fmt.Sprintf("*a*b*%d*c", i))
	}
	for i := range 300 {
		names = append(names, fmt.Sprint("aabababababababababab", i))
	}
	list := strings.Join(globs[1:], ",")
	cost := func(wishes sample.Annotations) (least time.Duration) {
		for range 5 {
			u := workloadObject("Deployment", wishes)
			u.Object["spec"] = map[string]any{"replicas": int64(5)}
			began := time.Now()
			f := Facts{ID: render.Identity{Group: "apps", Kind: "Deployment", Namespace: sample.Page.Namespace, Name: sample.Page.Name}, Source: NewSource(u, render.Wishes{}), Clusters: joinedClusters(names...), Works: map[string]*state.Work{}, PoliciesLive: true}
			if f.Source.Refusal != nil {
				t.Fatal(f.Source.Refusal)
			}
			if f.Source.Differences.Division.Divides() {
				paths, _ := render.ScalePathsOf(f.ID.GroupKind(), "")
				scale, _ := f.Source.Template.Scale(paths)
				f.Scale = &Scale{Paths: paths, Scale: scale}
			}
			On(f)
			if took := time.Since(began); least == 0 || took < least {
				least = took
			}
		}
		return least
	}
	plain := cost(sample.Annotations{render.ClustersAnnotation: "*", render.WavesAnnotation: "*", render.ReplicasAnnotation: "divide"})
	long := cost(sample.Annotations{
		render.ClustersAnnotation: list + ",*", render.SuspendAnnotation: list, render.WavesAnnotation: list + ";*",
		render.ReplicasAnnotation: strings.Join(globs[1:], "=1,") + "=1",
	})
	if long > 10*plain {
		t.Errorf("one judgement takes %s, and %s with plain annotations", long, plain)
	}
}
