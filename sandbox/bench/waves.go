package bench

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/render"
)

// inWaves is a Deployment that is rolled out in four waves.
var inWaves = workload{"Deployment in waves", deployments, func(name string) *unstructured.Unstructured {
	u := makeDeployment(name)
	u.SetAnnotations(map[string]string{render.WavesAnnotation: clusterName(0) + ";" + clusterName(1) + ";" + clusterName(2) + ",bench-00?;*"})
	return u
}, nil}

// compareWaves compares what rollouts in waves cost karmada-mirror with those of all clusters at once.
// The reports that Karmada would make of its members are made here, twice for each rollout in a
// member: with real ones, these would take most of the time.
func compareWaves(ctx context.Context, w *world, r *report) (err error) {
	s := scenario{deployment, pick(w.quick, 50, 1_000), 8}
	reporter, err := w.startReporter(ctx)
	if err != nil {
		return err
	}
	defer reporter.stop()
	loads := []workload{inWaves, deployment}
	var all [][]rolledInWaves
	for repetition := range w.repetitions {
		outcomes := make([]rolledInWaves, len(loads))
		for turn := range loads {
			i := (turn + repetition) % len(loads)
			s.load = loads[i]
			if outcomes[i], err = w.rollInWaves(ctx, s, reporter); err != nil {
				return fmt.Errorf("rollouts of %s: %w", s, err)
			}
			w.say("rollouts of %s, %d of %d: %.2f ms of CPU each, %d patches of Works", s, repetition+1, w.repetitions, 1000*outcomes[i].cpuPerSource(), outcomes[i].requests["patch works"])
		}
		all = append(all, outcomes)
	}
	s.load = deployment
	reportWaves(r, s, all)
	return nil
}

// rolledInWaves is what rollouts cost karmada-mirror.
type rolledInWaves struct {
	sources int
	cost
}

func (o rolledInWaves) cpuPerSource() float64 { return o.cpu["karmada-mirror"] / float64(o.sources) }

// rollInWaves changes the image of every source, and measures until all Works have it and are reported
// as rolled out.
func (w *world) rollInWaves(ctx context.Context, s scenario, reporter *reporter) (o rolledInWaves, err error) {
	d, err := w.startMirroring(ctx, s, "--least-wave-bake=0s")
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, d.Stop()) }()
	w.made = allWorks{} // they are about to change
	w.present = batch{}
	meter, err := w.newMeter(ctx, map[string]int{"karmada-mirror": d.PID()}, daemonUser)
	if err != nil {
		return o, err
	}
	if err := meter.awaitRest(ctx, func(ctx context.Context) error { return reporter.unfinished(deploymentImage, s.works()) }); err != nil {
		return o, err
	}
	if meter, err = w.newMeter(ctx, map[string]int{"karmada-mirror": d.PID()}, daemonUser); err != nil {
		return o, err
	}
	if _, err := w.editImages(ctx, s); err != nil {
		return o, err
	}
	if err := meter.awaitRest(ctx, func(ctx context.Context) error { return reporter.unfinished(rolledOutImage, s.works()) }); err != nil {
		return o, err
	}
	o.sources = s.sources
	o.cost, err = meter.read(ctx)
	return o, err
}

func reportWaves(r *report, s scenario, all [][]rolledInWaves) {
	var ratios []float64
	each := [2][]float64{}
	for _, outcomes := range all {
		ratios = append(ratios, outcomes[0].cpuPerSource()/outcomes[1].cpuPerSource())
		for i := range each {
			each[i] = append(each[i], 1000*outcomes[i].cpuPerSource())
		}
	}
	var rows [][]string
	for i, name := range []string{"in four waves", "all clusters at once"} {
		rows = append(rows, []string{name, summarize(each[i]).format(2), outcome{sources: s.sources, cost: all[0][i].cost}.describeRequests()})
	}
	r.table(fmt.Sprintf("Rollouts of %s, in waves", s), "Every Deployment gets another image, and each member reports twice. The requests are those of the first run.",
		[]string{"order", "CPU of karmada-mirror, ms per Deployment", "its requests by verb and resource"}, rows)
	r.atMost("CPU of karmada-mirror for rollouts in waves ÷ that of rollouts at once", 1.2, summarize(ratios))
}
