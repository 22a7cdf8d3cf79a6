package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

// arm is one way to write the Works of sources.
type arm interface {
	name() string
	// mark is how its sources are marked.
	mark() mark
	// start prepares everything up to the signal to go. The sources exist.
	start(context.Context, *world, scenario) (started, error)
}

// started is an arm that waits for its signal to go.
type started struct {
	// pids are its processes by name, and users the prefixes of the names under which they
	// make requests.
	pids  map[string]int
	users []string
	// fire gives the signal; stop ends the arm.
	fire func(context.Context) error
	stop func() error
	// listed returns when the arm had listed the sources; nil for an arm that knew them
	// before its signal.
	listed func() (time.Time, error)
	// unfinished returns an error while the arm has work left; nil for an arm that cannot
	// tell.
	unfinished func(context.Context) error
}

// mark tells an arm that a source has to be propagated.
type mark struct{ annotation, label string }

var (
	annotated = mark{annotation: "bench-*"}
	labelled  = mark{label: "policy"}
	unmarked  = mark{}
)

const markLabel = "bench"

func (m mark) put(u *unstructured.Unstructured) {
	if m.annotation != "" {
		annotations := u.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[render.ClustersAnnotation] = m.annotation
		u.SetAnnotations(annotations)
	}
	if m.label != "" {
		u.SetLabels(map[string]string{markLabel: m.label})
	}
}

// scenario says what an arm writes.
type scenario struct {
	load              workload
	sources, clusters int
}

func (s scenario) works() int { return s.sources * s.clusters }

func (s scenario) String() string {
	return fmt.Sprintf("%d × %s on %d clusters", s.sources, s.load.name, s.clusters)
}

// inFlight is karmada-mirror's default limit of writes in flight; the bare loop has the same.
const inFlight = 16

// outcome is the result of a run.
type outcome struct {
	arm            string
	works, sources int
	// span is from the first Work to the last, and whole from when the arm knew the
	// sources and had its signal.
	span, whole time.Duration
	cost
}

func (o outcome) rate() float64      { return float64(o.works) / o.span.Seconds() }
func (o outcome) wholeRate() float64 { return float64(o.works) / o.whole.Seconds() }

// logged returns the bytes of etcd's log per Work.
func (o outcome) logged() float64 { return o.disk.bytes / float64(o.works) }

// cpuPerWork returns the seconds of CPU of all measured processes per Work.
func (o outcome) cpuPerWork() float64 { return total(o.cpu) / float64(o.works) }

// run lets an arm write the Works of a scenario, from a clean state.
func (w *world) run(ctx context.Context, a arm, s scenario) (o outcome, err error) {
	if err := w.provide(ctx, s.batch(a.mark()), s.load); err != nil {
		return outcome{}, err
	}
	run, err := a.start(ctx, w, s)
	if err != nil {
		return outcome{}, err
	}
	defer func() { err = errors.Join(err, run.stop()) }()
	eyes, err := observe(ctx, w.Config(), nil, worksResource)
	if err != nil {
		return outcome{}, err
	}
	defer eyes.stop()
	meter, err := w.newMeter(ctx, run.pids, run.users...)
	if err != nil {
		return outcome{}, err
	}
	begun := time.Now()
	if err := run.fire(ctx); err != nil {
		return outcome{}, err
	}
	if err := eyes.await(ctx, worksResource, s.works()); err != nil {
		return outcome{}, fmt.Errorf("%s: %w", a.name(), err)
	}
	if err := meter.awaitRest(ctx, run.unfinished); err != nil {
		return outcome{}, fmt.Errorf("%s: %w", a.name(), err)
	}
	o = outcome{arm: a.name(), works: s.works(), sources: s.sources}
	if o.cost, err = meter.read(ctx); err != nil {
		return outcome{}, err
	}
	if run.listed != nil {
		if begun, err = run.listed(); err != nil {
			return outcome{}, err
		}
	}
	first, last := eyes.between(worksResource)
	o.span, o.whole = last.Sub(first), last.Sub(begun)
	w.made = allWorks{w.present, s.clusters}
	return o, nil
}

// daemonArm is karmada-mirror. Its signal is the resource in its configuration, once all
// sources exist.
type daemonArm struct{}

func (daemonArm) name() string { return "karmada-mirror" }

func (daemonArm) mark() mark { return annotated }

func (daemonArm) start(ctx context.Context, w *world, s scenario) (started, error) {
	d, err := w.startIdleDaemon(ctx)
	if err != nil {
		return started{}, err
	}
	return started{
		pids:  map[string]int{"karmada-mirror": d.PID()},
		users: []string{daemonUser},
		fire:  func(ctx context.Context) error { return w.configure(ctx, s.load.resource) },
		stop:  d.Stop,

		listed:     func() (time.Time, error) { return d.listed(s.load.resource) },
		unfinished: func(ctx context.Context) error { return d.unfinished(ctx, s.works()) },
	}, nil
}

// policy is Karmada's own way: one policy for all sources, from which the detector, the
// scheduler and the binding controller make Works.
type policy struct {
	title string
	// controllers are those of the controller manager; empty means [withoutExecution].
	controllers string
	// manager and scheduler are extra flags for the controller manager and the scheduler.
	manager, scheduler []string
}

func (p policy) name() string { return p.title }

func (policy) mark() mark { return labelled }

// withoutExecution leaves only the controllers whose job ends with the Work.
const withoutExecution = "binding"

// withExecution are Karmada's defaults, which apply Works and aggregate statuses.
const withExecution = "*"

func (p policy) start(ctx context.Context, w *world, s scenario) (started, error) {
	manager, scheduler := w.Component(karmada.ControllerManager), w.Component(karmada.Scheduler)
	if err := manager.RestartWith(ctx, append([]string{"--controllers=" + cmp.Or(p.controllers, withoutExecution)}, p.manager...)...); err != nil {
		return started{}, err
	}
	if err := scheduler.RestartWith(ctx, p.scheduler...); err != nil {
		return started{}, err
	}
	return started{
		pids:  map[string]int{karmada.ControllerManager: manager.PID(), karmada.Scheduler: scheduler.PID()},
		users: []string{karmada.ControllerManager, karmada.Scheduler},
		fire:  func(ctx context.Context) error { return w.createPolicy(ctx, s) },
		stop:  func() error { return errors.Join(manager.Stop(), scheduler.Stop()) },
	}, nil
}

var policies = schema.GroupVersionResource{Group: "policy.karmada.io", Version: "v1alpha1", Resource: "propagationpolicies"}

func (w *world) createPolicy(ctx context.Context, s scenario) error {
	var names []any
	for i := range s.clusters {
		names = append(names, clusterName(i))
	}
	gvk := s.load.make("any").GroupVersionKind()
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": policies.GroupVersion().String(), "kind": "PropagationPolicy",
		"metadata": map[string]any{"namespace": namespace, "name": "bench"},
		"spec": map[string]any{
			"resourceSelectors": []any{map[string]any{
				"apiVersion": gvk.GroupVersion().String(), "kind": gvk.Kind,
				"labelSelector": map[string]any{"matchLabels": map[string]any{markLabel: labelled.label}},
			}},
			"placement": map[string]any{"clusterAffinity": map[string]any{"clusterNames": names}},
		},
	}}
	_, err := w.admin.Resource(policies).Namespace(namespace).Create(ctx, u, metav1.CreateOptions{})
	return err
}

// limits returns the flags that set the client-side rate limit of a Karmada component.
func limits(qps, burst int) []string {
	return []string{fmt.Sprintf("--kube-api-qps=%d", qps), fmt.Sprintf("--kube-api-burst=%d", burst)}
}

func workers(n int, kinds ...string) []string {
	var flags []string
	for _, kind := range kinds {
		flags = append(flags, fmt.Sprintf("--concurrent-%s-syncs=%d", kind, n))
	}
	return flags
}

// policyArms returns Karmada's policies at their defaults, tuned, and without a rate limit.
func policyArms() []arm {
	busy := workers(30, "resource-template", "resourcebinding", "propagation-policy", "dependent-resource")
	return []arm{
		policy{title: "policies, defaults"},
		policy{title: "policies, QPS 200 and 30 workers", manager: append(limits(200, 400), busy...), scheduler: limits(200, 400)},
		policy{title: "policies, no rate limit and 30 workers", manager: append(limits(100_000, 100_000), busy...), scheduler: limits(100_000, 100_000)},
	}
}
