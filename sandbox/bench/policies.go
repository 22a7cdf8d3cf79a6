package bench

import (
	"context"
	"fmt"
)

// comparePolicies compares karmada-mirror with Karmada's policies: at their defaults, tuned,
// and without a rate limit.
func comparePolicies(ctx context.Context, w *world, r *report) error {
	arms := append([]arm{daemonArm{}}, policyArms()...)
	c, err := w.compare(ctx, scenario{configMap1k, pick(w.quick, 100, 150), 2}, arms...)
	if err != nil {
		return err
	}
	if err := endsWithTheWork(c); err != nil {
		return err
	}
	var rows, requests [][]string
	for i, a := range arms {
		rows = append(rows, []string{
			a.name(), c.of(i, outcome.rate).format(0), c.over(0, i, rateOver).format(1),
			c.of(i, outcome.wholeRate).format(0), c.over(0, i, wholeRateOver).format(1),
			c.of(i, func(o outcome) float64 { return 1000 * o.cpuPerWork() }).format(1), c.over(0, i, cpuOver).format(2),
			c.of(i, kilobytes).format(1),
		})
		requests = append(requests, []string{a.name(), c.repetitions[0][i].describeRequests()})
	}
	r.table(fmt.Sprintf("Compared with Karmada's policies: %s", c.scenario),
		"Ratios divide karmada-mirror's figure by the row's. For policies, the start is their creation, and CPU includes Karmada's controller manager and scheduler.",
		[]string{
			"writer", "first to last, Works/s", "karmada-mirror ÷ row", "start to last, Works/s", "karmada-mirror ÷ row",
			"CPU per Work, ms", "karmada-mirror ÷ row", "etcd log per Work, kB",
		}, rows)
	r.table("Requests per object", "From the API server's audit log of the first run; a number in parentheses is an HTTP error.", []string{"writer", "requests by verb and resource"}, requests)
	r.overPolicies, r.overUnlimited = c.over(0, 1, rateOver), c.over(0, 3, rateOver)
	r.atLeast("Works/s ÷ those of Karmada's policies at their defaults, 2 clusters", 50, r.overPolicies)
	r.atLeast("Works/s ÷ those of Karmada's policies without a rate limit, 2 clusters", 5, r.overUnlimited)
	return nil
}

// endsWithTheWork makes sure that no controller has tried to apply the Works. There are no
// members, so every attempt would fail, be reported in an Event and be retried, and the
// policies would spend most of their time on that.
func endsWithTheWork(c comparison) error {
	for _, outcomes := range c.repetitions {
		for _, o := range outcomes {
			if n := o.requests["update works/status"] + o.requests["patch works/status"]; n > 0 {
				return fmt.Errorf("%s: the status of Works was written %d times, but no controller should apply them", o.arm, n)
			}
		}
	}
	return nil
}

// withoutWebhook repeats the comparison with the bare loop without karmada-webhook. (Policies
// do not work without it.) It does not restore the webhooks.
func withoutWebhook(ctx context.Context, w *world, r *report) error {
	if err := w.removeWebhooks(ctx); err != nil {
		return err
	}
	_, err := w.compareWithLoop(ctx, r, "without karmada-webhook", w.repetitions, scenario{configMap1k, pick(w.quick, 300, 500), 2})
	return err
}
