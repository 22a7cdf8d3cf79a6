package bench

import (
	"context"
	"fmt"
)

// compare runs arms in turns, so that other load on the machine affects all of them alike, and
// reports all figures, with ratios to the first arm.
func (w *world) compare(ctx context.Context, r *report, s scenario, arms ...arm) error {
	if err := w.joinClusters(ctx, s.clusters); err != nil {
		return err
	}
	outcomes := make([][]outcome, len(arms)) // in the order of the repetitions
	for repetition := range w.Repetitions {
		for turn := range arms {
			i := (turn + repetition) % len(arms)
			o, err := w.run(ctx, arms[i], s)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", s, arms[i].name(), err)
			}
			w.say("%s, %d of %d, %s: %.0f Works/s, %.2f ms of CPU per Work", s, repetition+1, w.Repetitions, arms[i].name(), o.rate(), o.cpuPerWork())
			outcomes[i] = append(outcomes[i], o)
		}
	}
	figures := []struct {
		name     string
		compared bool
		of       func(outcome) float64
	}{
		{"Works/s, first to last", true, outcome.rate},
		{"Works/s, signal to last", true, outcome.wholeRate},
		{"ms of CPU per Work", true, outcome.cpuPerWork},
		{"of these, its own", false, outcome.ownCPUPerWork},
		{"writes per Work", false, func(o outcome) float64 { return float64(o.writes) / float64(o.works) }},
		{"reads per Work", false, func(o outcome) float64 { return float64(o.reads) / float64(o.works) }},
	}
	for _, figure := range figures {
		var first []float64
		for i, arm := range arms {
			var values []float64
			for _, o := range outcomes[i] {
				values = append(values, figure.of(o))
			}
			if i == 0 || !figure.compared {
				first = values
				r.add(s.String(), arm.name(), figure.name, values...)
				continue
			}
			r.addOver(s.String(), arm.name(), figure.name, values, arms[0].name(), first)
		}
	}
	return nil
}

// compareThroughput compares karmada-mirror, and an earlier revision of it, with the bare loop.
func compareThroughput(ctx context.Context, w *world, r *report) error {
	scenarios := []scenario{
		{configMap1k, 1000, 1}, {configMap1k, 500, 2}, {configMap1k, 100, 10}, {configMap1k, 10, 100},
		{deployment, 333, 3}, {deployment, 10, 100}, {configMap100k, 100, 2},
	}
	if w.Quick {
		scenarios = []scenario{{configMap1k, 300, 2}, {deployment, 200, 3}}
	}
	for _, s := range scenarios {
		if err := w.compare(ctx, r, s, append([]arm{loop{}, w.daemon}, w.earlier...)...); err != nil {
			return err
		}
	}
	return nil
}

// comparePolicies compares karmada-mirror with Karmada's policies, at their defaults and without
// a rate limit.
func comparePolicies(ctx context.Context, w *world, r *report) error {
	s := scenario{configMap1k, pick(w.Quick, 100, 150), 2}
	return w.compare(ctx, r, s, policy{title: "policies, defaults"}, unlimited(), w.daemon)
}
