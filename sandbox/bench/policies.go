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
			c.of(i, func(o outcome) float64 { return 1000 * o.cpuPerWork() }).format(1), c.over(0, i, cpuOver).format(2),
			c.of(i, kilobytes).format(1),
		})
		requests = append(requests, []string{a.name(), c.repetitions[0][i].describeRequests()})
	}
	r.table(fmt.Sprintf("Against Karmada's policies: %s", c.scenario),
		[]string{"", "Works/s", "karmada-mirror's Works/s over these", "CPU per Work, ms", "karmada-mirror's over this", "etcd's log, kB per Work"}, rows)
	r.table("Requests per object", []string{"", "by verb and resource"}, requests)
	r.atLeast("Works/s over Karmada's policies at their defaults, 2 clusters", 50, c.over(0, 1, rateOver))
	r.atLeast("Works/s over Karmada's policies without a limit, 2 clusters", 5, c.over(0, 3, rateOver))
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
	c, err := w.compare(ctx, scenario{configMap1k, pick(w.quick, 500, 1500), 2}, bareAndMirror...)
	if err != nil {
		return err
	}
	r.text("**Without karmada-webhook**, 1 kB ConfigMaps on 2 clusters: bare loop %s Works/s, karmada-mirror %s, which is %s of it, for %s of the CPU per Work.",
		c.of(bare, outcome.rate).format(0), c.of(mirrored, outcome.rate).format(0), c.over(mirrored, bare, rateOver).format(2), c.over(mirrored, bare, cpuOver).format(2))
	return nil
}
