package bench

import (
	"fmt"

	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

// mostStatusWrites is the goal for the status writes of a rollout.
const mostStatusWrites = 3

// overRollouts summarizes a figure of one arm divided by that of another, within each repetition.
func overRollouts(all [][]rolledOut, arm, other int, figure func(rolledOut) float64) summary {
	var figures []float64
	for _, outcomes := range all {
		figures = append(figures, figure(outcomes[arm])/figure(outcomes[other]))
	}
	return summarize(figures)
}

func ofRollouts(all [][]rolledOut, arm int, figure func(rolledOut) float64) summary {
	var figures []float64
	for _, outcomes := range all {
		figures = append(figures, figure(outcomes[arm]))
	}
	return summarize(figures)
}

// reportRollouts compares each arm of policies with karmada-mirror's before it.
func reportRollouts(r *report, s scenario, arms []arm, all [][]rolledOut) {
	quantile := func(of func(rolledOut) latencies, q float64) func(rolledOut) float64 {
		return func(o rolledOut) float64 { return of(o).quantile(q) }
	}
	after := func(o rolledOut) latencies { return o.after }
	whole := func(o rolledOut) latencies { return o.whole }
	var rows, cpu, requests [][]string
	for i, a := range arms {
		mirror := i - i%2
		rows = append(rows, []string{
			a.name(),
			ofRollouts(all, i, rolledOut.typicalWrites).format(1), ofRollouts(all, i, rolledOut.mostWrites).format(0),
			overRollouts(all, mirror, i, rolledOut.typicalWrites).format(2),
			ofRollouts(all, i, quantile(after, 0.5)).format(2), ofRollouts(all, i, quantile(after, 0.99)).format(2),
			ofRollouts(all, i, rolledOut.early).format(0),
			ofRollouts(all, i, quantile(whole, 0.5)).format(1),
		})
		row := []string{a.name()}
		for _, process := range []string{"karmada-mirror", karmada.ControllerManager, karmada.Scheduler, karmada.APIServer, karmada.Webhook} {
			row = append(row, ofRollouts(all, i, func(o rolledOut) float64 { return 1000 * o.cpuOf(process) }).format(1))
		}
		cpu = append(cpu, append(row, overRollouts(all, mirror, i, rolledOut.cpuOfControlPlane).format(2)))
		requests = append(requests, []string{a.name(), outcome{sources: s.sources, cost: all[0][i].cost}.describeRequests()})
	}
	r.table(fmt.Sprintf("Rollouts of %s", s),
		"Every Deployment gets another image. Writes of its status count until all is at rest, and a rollout is complete when `kubectl rollout status` would say so. "+
			"karmada-mirror runs with `aggregateStatus`. Ratios divide karmada-mirror's figure by the row's.",
		[]string{
			"writer", "status writes per Deployment, median", "most", "karmada-mirror ÷ row",
			"complete in the last member to complete by the source, p50, s", "p99, s", "complete too early", "edit to complete, p50, s",
		}, rows)
	r.table("CPU of a rollout", "In milliseconds per Deployment, until all is at rest. The ratio is that of all columns together.",
		[]string{"writer", "karmada-mirror, ms", "Karmada's controller manager, ms", "Karmada's scheduler, ms", "kube-apiserver, ms", "karmada-webhook, ms", "karmada-mirror ÷ row"}, cpu)
	r.table("Requests per rolled-out Deployment", "From the API server's audit log of the first run; a number in parentheses is an HTTP error.", []string{"writer", "requests by verb and resource"}, requests)
	for _, of := range []struct {
		what   string
		mirror int
	}{{"", mirrorLimited}, {", without Karmada's rate limits", mirrorUnlimited}} {
		r.atMost("status writes per rollout, median"+of.what, mostStatusWrites, ofRollouts(all, of.mirror, rolledOut.typicalWrites))
		r.never("sources that claim a complete rollout too early"+of.what, 0, ofRollouts(all, of.mirror, rolledOut.early))
	}
}
