package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	workv1alpha1 "github.com/karmada-io/api/work/v1alpha1"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/render"
)

// measureRender compares the cost of one more cluster with that of encoding a Work.
func measureRender(_ context.Context, w *world, r *report) error {
	u := makeDeployment(sourceName(0))
	annotated.put(u)
	u.SetUID("4f6c0d3e-0f1c-4a53-9d52-7a4f0d7b0f11")
	template := judge.NewSource(u, render.Wishes{}).Template
	var work workv1alpha1.Work
	if err := json.Unmarshal(template.Work(clusterName(0)), &work); err != nil {
		return err
	}
	const clusters = 100
	var over, rendered, marshalled []float64
	for range w.repetitions {
		rendering := testing.Benchmark(func(b *testing.B) {
			for b.Loop() {
				works := template.Works()
				for c := range clusters {
					works.For(clusterName(c))
				}
			}
		})
		marshalling := testing.Benchmark(func(b *testing.B) {
			for b.Loop() {
				if _, err := json.Marshal(&work); err != nil {
					b.Fatal(err)
				}
			}
		})
		each := float64(rendering.NsPerOp()) / clusters
		rendered, marshalled = append(rendered, each/1000), append(marshalled, float64(marshalling.NsPerOp())/1000)
		over = append(over, each/float64(marshalling.NsPerOp()))
	}
	r.measured(fmt.Sprintf("rendering a Deployment for %d clusters", clusters), "%s µs for each; `json.Marshal` of the Work takes %s µs", summarize(rendered).format(1), summarize(marshalled).format(1))
	r.atMost("rendering a Deployment for 100 clusters, time per cluster ÷ `json.Marshal` of the Work", 0.2, summarize(over))
	return nil
}
