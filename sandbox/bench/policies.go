package bench

import (
	"context"
	"fmt"
)

// comparePolicies compares karmada-mirror with Karmada's policies, as it is
// installed, tuned, and without a limit of its requests.
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
	r.table(fmt.Sprintf("Against Karmada's policies: %s", c.scenario),
		[]string{
			"", "Works/s, from the first on", "karmada-mirror's over these", "Works/s, from the list or the policy on", "karmada-mirror's over these",
			"CPU per Work, ms", "karmada-mirror's over this", "etcd's log, kB per Work",
		}, rows)
	r.table("Requests per object", []string{"", "by verb and resource"}, requests)
	r.overPolicies, r.overUnlimited = c.over(0, 1, rateOver), c.over(0, 3, rateOver)
	r.atLeast("Works/s over Karmada's policies at their defaults, 2 clusters", 50, r.overPolicies)
	r.atLeast("Works/s over Karmada's policies without their limit of requests, 2 clusters", 5, r.overUnlimited)
	return nil
}

// endsWithTheWork makes sure that nobody has tried to apply the Works: there are no
// members, so that each try fails, is told, and is repeated, which costs the policies
// most of their time.
func endsWithTheWork(c comparison) error {
	for _, outcomes := range c.repetitions {
		for _, o := range outcomes {
			if n := o.requests["update works/status"] + o.requests["patch works/status"]; n > 0 {
				return fmt.Errorf("%s: the status of Works was written %d times", o.arm, n)
			}
		}
	}
	return nil
}

// withoutWebhook repeats the comparison with the bare loop where nothing admits a
// Work but the API server itself. (Policies do not work without karmada-webhook.)
// The webhooks do not come back.
func withoutWebhook(ctx context.Context, w *world, r *report) error {
	if err := w.removeWebhooks(ctx); err != nil {
		return err
	}
	_, err := w.compareWithLoop(ctx, r, "without karmada-webhook", w.repetitions, scenario{configMap1k, pick(w.quick, 300, 500), 2})
	return err
}
