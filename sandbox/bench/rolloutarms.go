package bench

import (
	"context"
	"errors"
	"slices"

	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

// aggregator is karmada-mirror that aggregates statuses, with the controllers of Karmada that apply
// its Works and report what became of them.
type aggregator struct {
	title string
	// manager are extra flags for Karmada's controller manager.
	manager []string
}

func (a aggregator) name() string { return a.title }

func (aggregator) mark() mark { return daemonArm{}.mark() }

// withoutPolicies excludes what works for policies alone, except the detector, which always runs.
const withoutPolicies = "*,-binding,-bindingStatus"

func (a aggregator) start(ctx context.Context, w *world, s scenario) (started, error) {
	manager := w.Component(karmada.ControllerManager)
	if err := manager.RestartWith(ctx, append([]string{"--controllers=" + withoutPolicies}, a.manager...)...); err != nil {
		return started{}, err
	}
	run, err := daemonArm{}.start(ctx, w, s)
	if err != nil {
		return started{}, errors.Join(err, manager.Stop())
	}
	stopDaemon := run.stop
	run.pids[karmada.ControllerManager] = manager.PID()
	run.users = append(run.users, karmada.ControllerManager)
	run.fire = func(ctx context.Context) error { return w.configureAggregation(ctx, s.load.resource) }
	run.stop = func() error { return errors.Join(stopDaemon(), manager.Stop()) }
	return run, nil
}

// rolloutArms are karmada-mirror and Karmada's policies: with the rate limits of Karmada's
// defaults, and without. The constants below are indexes; policies follow the arm they are compared with.
func rolloutArms() []arm {
	unlimited := slices.Concat(watchfulness, limits(100_000, 100_000), []string{"--cluster-api-qps=100000", "--cluster-api-burst=100000"},
		workers(30, "resource-template", "resourcebinding", "propagation-policy", "dependent-resource", "work"))
	return []arm{
		aggregator{"karmada-mirror", watchfulness},
		policy{title: "policies", controllers: withExecution, manager: watchfulness},
		aggregator{"karmada-mirror, Karmada without rate limit and with 30 workers", unlimited},
		policy{title: "policies, no rate limit and 30 workers", controllers: withExecution, manager: unlimited, scheduler: limits(100_000, 100_000)},
	}
}

const (
	mirrorLimited   = 0
	mirrorUnlimited = 2
)
