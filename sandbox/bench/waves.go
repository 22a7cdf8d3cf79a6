package bench

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/render"
)

// inWaves is a Deployment that is rolled out cluster by cluster.
var inWaves = workload{"Deployment in waves", deployments, func(name string) *unstructured.Unstructured {
	u := makeDeployment(name)
	u.SetAnnotations(map[string]string{render.WavesAnnotation: clusterName(0) + ";" + clusterName(1) + ";*"})
	return u
}, nil}

// compareWaves compares what rollouts in waves cost karmada-mirror with those of all clusters at once.
func compareWaves(ctx context.Context, w *world, r *report) (err error) {
	s := scenario{deployment, pick(w.quick, 5, 1_000), pick(w.quick, 2, 3)}
	if err := w.allowStatuses(ctx); err != nil {
		return err
	}
	if err := w.joinMembers(ctx, s.clusters); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.dismissMembers(ctx, s.clusters)) }()
	unlimited := rolloutArms()[mirrorUnlimited]
	var all [][]rolledOut
	for repetition := range w.repetitions {
		outcomes := make([]rolledOut, 2)
		for turn := range outcomes {
			i := (turn + repetition) % len(outcomes)
			s.load = []workload{inWaves, deployment}[i]
			if outcomes[i], err = w.rollOut(ctx, unlimited, s); err != nil {
				return fmt.Errorf("rollouts of %s: %w", s, err)
			}
			w.say("rollouts of %s, %d of %d: %s", s, repetition+1, w.repetitions, outcomes[i])
		}
		all = append(all, outcomes)
	}
	daemon := func(o rolledOut) float64 { return o.cpuOf("karmada-mirror") }
	var rows [][]string
	for i, name := range []string{"in waves, one cluster each", "all clusters at once"} {
		rows = append(rows, []string{
			name, ofRollouts(all, i, func(o rolledOut) float64 { return 1000 * daemon(o) }).format(1),
			ofRollouts(all, i, func(o rolledOut) float64 { return o.whole.quantile(0.5) }).format(1),
			outcome{sources: s.sources, cost: all[0][i].cost}.describeRequests(),
		})
	}
	s.load = deployment
	r.table(fmt.Sprintf("Rollouts of %s, in waves", s), "Every Deployment gets another image. The requests are those of the first run.",
		[]string{"order", "CPU of karmada-mirror, ms per Deployment", "edit to complete, p50, s", "requests by verb and resource"}, rows)
	r.atMost("CPU of karmada-mirror for rollouts in waves ÷ that of rollouts at once", 1.2, overRollouts(all, 0, 1, daemon))
	return nil
}
