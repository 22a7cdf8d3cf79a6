package karmada

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/karmada-target/karmada-mirror/simulation/apiserver"
)

// behaviour is what a member's own controllers do.
type behaviour struct {
	rollout  time.Duration
	fails    func(Object) bool
	progress map[apiserver.Ref]progress
	fights   map[apiserver.Ref]fight
}

// progress is how far a controller is with a generation of an object.
type progress struct {
	generation int64
	since      time.Time
}

// fight is a controller that changes an object whenever another writer has.
type fight struct {
	delay  time.Duration
	change func(Object)
}

func newBehaviour() behaviour {
	return behaviour{rollout: time.Second, progress: map[apiserver.Ref]progress{}, fights: map[apiserver.Ref]fight{}}
}

// SetFailing makes the objects for which f is true never become available; nil is none. What fails now is looked at again.
func (m *Member) SetFailing(f func(Object) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fails = f
	for ref := range m.progress {
		m.local.add(ref)
	}
}

// Fight changes an object a while after each write that undoes the change, as an autoscaler does that sets replicas; nil ends it.
// The delay must not be zero: the other side answers at once.
func (m *Member) Fight(ref apiserver.Ref, delay time.Duration, change func(Object)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.fights, ref)
	if change != nil {
		m.fights[ref] = fight{delay, change}
		m.rewrites.after(ref, delay)
	}
}

// controllerLag is how long a member's controller of StatefulSets takes to see a write: meanwhile, a status, which does not say
// of what generation it is, is about the one before.
const controllerLag = 20 * time.Millisecond

// seeLocal tells the member's controllers of a write.
func (m *Member) seeLocal(e apiserver.Event) {
	ref := e.Ref()
	if e.Resource == definitions && e.Type != watch.Deleted {
		m.local.now(ref)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if e.Type == watch.Deleted {
		delete(m.progress, ref)
		return
	}
	switch {
	case e.Resource == schema.GroupResource{Group: "apps", Resource: "statefulsets"}:
		m.local.after(ref, controllerLag)
	case controllers[e.Resource] != nil:
		m.local.now(ref)
	}
	if f, is := m.fights[ref]; is {
		m.rewrites.after(ref, f.delay)
	}
}

// rewrite is the controllers that fight.
func (m *Member) rewrite(ref apiserver.Ref) error {
	m.mu.Lock()
	f, is := m.fights[ref]
	m.mu.Unlock()
	if !is {
		return nil
	}
	_, err := m.Store.Modify(ref, "", f.change)
	return ignoreNotFound(err)
}

// control is the member's other controllers.
func (m *Member) control(ref apiserver.Ref) error {
	o := m.Store.Get(ref)
	if o == nil {
		return nil
	}
	if ref.Resource == definitions {
		defined, err := apiserver.Defined(o)
		if err != nil {
			return err
		}
		m.know(defined)
		return m.publish()
	}
	m.mu.Lock()
	p, generation := m.progress[ref], in(o).GetGeneration()
	if p.generation != generation || p.since.IsZero() {
		p = progress{generation, time.Now()}
		m.progress[ref] = p
	}
	left, hasFailed := m.rollout-time.Since(p.since), m.fails != nil && m.fails(o)
	m.mu.Unlock()
	statusOf := controllers[ref.Resource]
	if left > 0 {
		m.local.after(ref, left)
	}
	return setStatus(m.Store, ref, func(old Object) {
		clear(old)
		maps.Copy(old, statusOf(o, left <= 0 && !hasFailed, left <= 0 && hasFailed, p.since))
	})
}

// controllers are what the members' controllers make of an object: its status while it rolls out, and when that is
// done or has failed.
var controllers = map[schema.GroupResource]func(o Object, isDone, hasFailed bool, since time.Time) Object{
	{Group: "apps", Resource: "deployments"}:  runReplicas,
	{Group: "apps", Resource: "statefulsets"}: runReplicas,
	{Group: "apps", Resource: "daemonsets"}: func(o Object, isDone, _ bool, _ time.Time) Object {
		status := Object{
			"observedGeneration": in(o).GetGeneration(), "desiredNumberScheduled": int64(1), "currentNumberScheduled": int64(1),
			"updatedNumberScheduled": int64(1), "numberReady": int64(0), "numberMisscheduled": int64(0),
		}
		if isDone {
			status["numberReady"], status["numberAvailable"] = int64(1), int64(1)
		}
		return status
	},
	{Group: "batch", Resource: "jobs"}: func(o Object, isDone, hasFailed bool, since time.Time) Object {
		n, start := max(1, intAt(o, "spec", "completions")), since.UTC().Format(time.RFC3339)
		end := func(of string) []any { return []any{Object{"type": of, "status": "True"}} }
		switch {
		case isDone:
			return Object{"startTime": start, "succeeded": n, "completionTime": start, "conditions": end("Complete")}
		case hasFailed:
			return Object{"startTime": start, "failed": n, "conditions": end("Failed")}
		}
		return Object{"startTime": start, "active": n}
	},
	{Resource: "services"}:                              giveAddress,
	{Group: "networking.k8s.io", Resource: "ingresses"}: giveAddress,
	{Group: "autoscaling", Resource: "horizontalpodautoscalers"}: func(o Object, _, _ bool, _ time.Time) Object {
		n := intAt(o, "spec", "maxReplicas")
		return Object{"currentReplicas": n, "desiredReplicas": n}
	},
}

func runReplicas(o Object, isDone, _ bool, _ time.Time) Object {
	n := intAt(o, "spec", "replicas")
	status := Object{"observedGeneration": in(o).GetGeneration(), "replicas": n, "updatedReplicas": n}
	if isDone {
		status["readyReplicas"], status["availableReplicas"] = n, n
	} else {
		status["unavailableReplicas"] = n
	}
	return status
}

func giveAddress(o Object, isDone, _ bool, _ time.Time) Object {
	if !isDone || in(o).GetKind() == service.Kind && !isLoadBalancer(o) {
		return Object{"loadBalancer": Object{}}
	}
	return Object{"loadBalancer": Object{"ingress": []any{Object{"ip": "192.0.2.1"}}}}
}
