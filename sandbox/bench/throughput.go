package bench

import (
	"context"
	"fmt"
)

// comparison holds the outcomes of arms that took turns: for each arm, in the order of the
// repetitions.
type comparison [][]outcome

// compare runs arms in turns, so that other load on the machine affects all of them alike.
func (w *world) compare(ctx context.Context, r *report, s scenario, arms ...arm) (comparison, error) {
	c := make(comparison, len(arms))
	if err := w.joinClusters(ctx, s.clusters); err != nil {
		return nil, err
	}
	for repetition := range w.repetitions {
		for turn := range arms {
			i := (turn + repetition) % len(arms)
			o, err := w.run(ctx, arms[i], s)
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", s, arms[i].name(), err)
			}
			w.say("%s, %d of %d, %s: %.0f Works/s, %.2f ms of CPU per Work", s, repetition+1, w.repetitions, arms[i].name(), o.rate(), o.cpuPerWork())
			c[i] = append(c[i], o)
		}
	}
	c.report(r, s, arms)
	return c, nil
}

// report adds the figures of all arms, with ratios to the first.
func (c comparison) report(r *report, s scenario, arms []arm) {
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
			for _, o := range c[i] {
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
}

// compareThroughput compares karmada-mirror, and an earlier revision of it, with the bare loop.
func compareThroughput(ctx context.Context, w *world, r *report) error {
	arms := []arm{loop{}, daemonArm{"karmada-mirror", w.daemon}}
	if w.earlier != "" {
		arms = append(arms, daemonArm{"karmada-mirror at " + w.against, w.earlier})
	}
	scenarios := []scenario{
		{configMap1k, 1000, 1}, {configMap1k, 500, 2}, {configMap1k, 100, 10}, {configMap1k, 10, 100},
		{deployment, 333, 3}, {deployment, 10, 100}, {configMap100k, 100, 2},
	}
	if w.quick {
		scenarios = []scenario{{configMap1k, 300, 2}, {deployment, 200, 3}}
	}
	for _, s := range scenarios {
		if _, err := w.compare(ctx, r, s, arms...); err != nil {
			return err
		}
	}
	return nil
}

// comparePolicies compares karmada-mirror with Karmada's policies, at their defaults and without
// a rate limit.
func comparePolicies(ctx context.Context, w *world, r *report) error {
	arms := []arm{policy{title: "policies, defaults"}, unlimited(), daemonArm{"karmada-mirror", w.daemon}}
	c, err := w.compare(ctx, r, scenario{configMap1k, pick(w.quick, 100, 150), 2}, arms...)
	if err != nil {
		return err
	}
	// There are no members, so every attempt to apply a Work would fail, be reported in an
	// Event and be retried, and the policies would spend most of their time on that.
	for i, arm := range arms {
		for _, o := range c[i] {
			if o.reports > 0 {
				return fmt.Errorf("%s: the status of Works was written %d times, but no controller should apply them", arm.name(), o.reports)
			}
		}
	}
	return nil
}
