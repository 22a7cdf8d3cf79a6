package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

// arm is one way to write the Works of sources.
type arm interface {
	name() string
	// start prepares everything up to the signal to go. The sources exist.
	start(context.Context, *world, scenario) (started, error)
}

// started is an arm that waits for its signal to go.
type started struct {
	// pids are its processes, and users the prefixes of the names under which they make
	// requests.
	pids  []int
	users []string
	// fire gives the signal; stop ends the arm.
	fire func(context.Context) error
	stop func() error
	// unfinished returns an error while the arm has work left; nil for an arm that cannot
	// tell.
	unfinished func(context.Context) error
}

// inFlight is karmada-mirror's default limit of writes in flight; the bare loop has the same.
const inFlight = 16

// outcome is the result of a run.
type outcome struct {
	works int
	// span is from the first Work to the last, and whole from the signal to the last.
	span, whole time.Duration
	cost
}

func (o outcome) rate() float64          { return float64(o.works) / o.span.Seconds() }
func (o outcome) wholeRate() float64     { return float64(o.works) / o.whole.Seconds() }
func (o outcome) cpuPerWork() float64    { return 1000 * o.cpu / float64(o.works) }
func (o outcome) ownCPUPerWork() float64 { return 1000 * o.own / float64(o.works) }

// run lets an arm write the Works of a scenario, from a clean state.
func (w *world) run(ctx context.Context, a arm, s scenario) (o outcome, err error) {
	if err := w.provide(ctx, s); err != nil {
		return outcome{}, err
	}
	run, err := a.start(ctx, w, s)
	if err != nil {
		return outcome{}, err
	}
	defer func() { err = errors.Join(err, run.stop()) }()
	eyes, err := observe(ctx, w.Config(), worksResource)
	if err != nil {
		return outcome{}, err
	}
	defer eyes.stop()
	meter, err := w.newMeter(run.pids, run.users...)
	if err != nil {
		return outcome{}, err
	}
	begun := time.Now()
	if err := run.fire(ctx); err != nil {
		return outcome{}, err
	}
	if err := eyes.await(ctx, worksResource, s.works()); err != nil {
		return outcome{}, err
	}
	if err := meter.awaitRest(ctx, run.unfinished); err != nil {
		return outcome{}, err
	}
	first, last := eyes.between(worksResource)
	o = outcome{works: s.works(), span: last.Sub(first), whole: last.Sub(begun)}
	o.cost, err = meter.read()
	return o, err
}

// daemonArm is karmada-mirror. Its signal is the resource in its configuration, once all
// sources exist.
type daemonArm struct{ title, program string }

func (a daemonArm) name() string { return a.title }

func (a daemonArm) start(ctx context.Context, w *world, s scenario) (started, error) {
	if err := w.configure(ctx, schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}); err != nil {
		return started{}, err
	}
	d, err := w.startDaemon(ctx, a.program)
	if err != nil {
		return started{}, err
	}
	return started{
		pids:  []int{d.PID()},
		users: []string{daemonUser},
		fire:  func(ctx context.Context) error { return w.configure(ctx, s.load.resource) },
		stop:  d.Stop,

		unfinished: func(ctx context.Context) error { return d.unfinished(ctx, s.works()) },
	}, nil
}

// policy is Karmada's own way: one policy for all sources, from which the detector, the
// scheduler and the binding controller make Works.
type policy struct {
	title string
	// manager and scheduler are extra flags for the controller manager and the scheduler.
	manager, scheduler []string
}

func (p policy) name() string { return p.title }

// unlimited are policies without the rate limits and with many workers, so that only the CPU
// holds them back.
func unlimited() policy {
	limits := []string{"--kube-api-qps=100000", "--kube-api-burst=100000"}
	return policy{title: "policies, no rate limit", scheduler: limits, manager: append([]string{
		"--concurrent-resource-template-syncs=30", "--concurrent-resourcebinding-syncs=30",
		"--concurrent-propagation-policy-syncs=30", "--concurrent-dependent-resource-syncs=30",
	}, limits...)}
}

func (p policy) start(ctx context.Context, w *world, s scenario) (started, error) {
	w.present = scenario{} // the detector writes to what it propagates
	manager, scheduler := w.Component(karmada.ControllerManager), w.Component(karmada.Scheduler)
	// Only the controllers whose job ends with the Work.
	if err := manager.RestartWith(ctx, append([]string{"--controllers=binding"}, p.manager...)...); err != nil {
		return started{}, err
	}
	if err := scheduler.RestartWith(ctx, p.scheduler...); err != nil {
		return started{}, err
	}
	return started{
		pids:  []int{manager.PID(), scheduler.PID()},
		users: []string{karmada.ControllerManager, karmada.Scheduler},
		fire:  func(ctx context.Context) error { return w.createPolicy(ctx, s) },
		stop:  func() error { return errors.Join(manager.Stop(), scheduler.Stop()) },
	}, nil
}

func (w *world) createPolicy(ctx context.Context, s scenario) error {
	var clusters []any
	for i := range s.clusters {
		clusters = append(clusters, clusterName(i))
	}
	gvk := s.load.make("any").GroupVersionKind()
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
		"metadata": map[string]any{"namespace": namespace, "name": "bench"},
		"spec": map[string]any{
			"resourceSelectors": []any{map[string]any{
				"apiVersion": gvk.GroupVersion().String(), "kind": gvk.Kind,
				"labelSelector": map[string]any{"matchLabels": map[string]any{policyLabel: "true"}},
			}},
			"placement": map[string]any{"clusterAffinity": map[string]any{"clusterNames": clusters}},
		},
	}}
	if err := w.create(ctx, policiesResource, u); err != nil {
		return fmt.Errorf("cannot create the policy: %w", err)
	}
	return nil
}
