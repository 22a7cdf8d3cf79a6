package machine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/sandbox/e2e"
	"github.com/karmada-target/karmada-mirror/sandbox/fault"
	"github.com/karmada-target/karmada-mirror/sandbox/model"
)

// act is one thing that happens in a story.
type act = func() error

// tell runs acts one after the other.
func (m *machine) tell(acts ...act) error {
	for i, next := range acts {
		if err := next(); err != nil {
			return fmt.Errorf("act %d: %w", i+1, err)
		}
	}
	return nil
}

// reset removes what a story left behind, once a replica leads.
func (m *machine) reset() error {
	for name, labels := range map[string]map[string]string{"m1": {"tier": "edge"}, "m2": {"tier": "core"}, "m3": nil} {
		if err := m.putCluster(name, labels, ""); err != nil {
			return err
		}
	}
	for _, name := range namespaceNames {
		if err := m.putNamespace(name, nil, nil); err != nil {
			return err
		}
	}
	if err := m.tell(m.configured("*", none), m.page(to("m3")), m.quiet); err != nil {
		return err
	}
	for _, k := range policies {
		if err := m.deletePolicy(k); err != nil {
			return err
		}
	}
	for _, name := range namespaceNames {
		for _, k := range m.objects {
			k.Namespace = name
			if err := m.delete(k); err != nil {
				return err
			}
		}
	}
	return m.quiet()
}

// quiet ends all faults and waits until everything is as the model says.
func (m *machine) quiet() error {
	if wrong := m.look(); len(wrong) > 0 {
		return fmt.Errorf("%q", wrong)
	}
	return nil
}

func pause(d time.Duration) act { return func() error { time.Sleep(d); return nil } }

// await waits until a condition holds; what completes "cannot wait for".
func (m *machine) await(what string, condition func() error) error {
	ctx, cancel := context.WithTimeout(m.t.Context(), quietLimit)
	defer cancel()
	return e2e.Env.Wait(ctx, what, func(context.Context) error { return condition() })
}

// to are annotations that ask for clusters.
func to(clusters string) map[string]string { return map[string]string{clustersKey: clusters} }

// inA is an object in the namespace that most stories use. thePage is the object of most
// stories, and thePolicy their override policy.
func inA(k model.Key) model.Key {
	k.Namespace = "a"
	return k
}

var (
	thePage   = inA(pages[0])
	thePolicy = policies[0]
)

func (m *machine) puts(k model.Key, annotations map[string]string) act {
	return func() error { return m.put(k, 1, annotations, nil) }
}

func (m *machine) page(annotations map[string]string) act { return m.puts(thePage, annotations) }

func (m *machine) web(annotations map[string]string) act { return m.puts(inA(deployment), annotations) }

func (m *machine) scaler(annotations map[string]string) act {
	return m.puts(inA(autoscaler), annotations)
}

// override makes thePolicy, which changes the page everywhere, and overrideGoes deletes it.
func (m *machine) override() error {
	return m.putPolicy(thePolicy, &model.Policy{Kind: "ConfigMap", Value: "overridden"})
}

func (m *machine) overrideGoes() error { return m.deletePolicy(thePolicy) }

func (m *machine) edited(value int) act { return func() error { return m.edit(thePage, value) } }

func (m *machine) gone() error { return m.delete(thePage) }

func (m *machine) space(name string, annotations, labels map[string]string) act {
	return func() error { return m.putNamespace(name, annotations, labels) }
}

// defaults sets the clusters that the page's Namespace asks for; none removes them.
func (m *machine) defaults(clusters string) act {
	if clusters == none {
		return m.space("a", nil, nil)
	}
	return m.space("a", to(clusters), nil)
}

func (m *machine) spaceGoes(name string) act { return func() error { return m.deleteNamespace(name) } }

// spaceIsGone waits until a namespace no longer exists.
func (m *machine) spaceIsGone(name string) act {
	return func() error {
		return m.await("the namespace to be gone", func() error {
			_, err := e2e.Env.Admin.Resource(e2e.Namespaces).Get(m.t.Context(), m.namespace(name), metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return fmt.Errorf("it still exists: %w", err)
		})
	}
}

func (m *machine) cluster(name string, labels map[string]string) act {
	return func() error { return m.putCluster(name, labels, "") }
}

func (m *machine) configured(namespaces, rules string) act {
	return func() error { return m.configure(namespaces, rules, true) }
}

// shut holds back the events of a resource, and open lets them through.
func (m *machine) shut(resource string) act {
	return func() error { m.each(func(r *replica) { r.gates[resource].Shut() }); return nil }
}

func (m *machine) open(resource string) act {
	return func() error { m.each(func(r *replica) { r.gates[resource].Open() }); return nil }
}

// expired makes the watches of a resource expire and start over.
func (m *machine) expired(resource string) act {
	return func() error { m.each(func(r *replica) { r.expire(resource) }); return nil }
}

// slowly injects a fault into the requests for a resource.
func (m *machine) slowly(verb, resource string, f fault.Fault) act {
	return func() error {
		m.each(func(r *replica) { r.pass(fault.Match{Verb: verb, Resource: resource}, f) })
		return nil
	}
}

// listedLate delays the watch, and so the list, of a resource, until everything that does
// not depend on it is done.
func (m *machine) listedLate(resource string) act {
	return func() error {
		m.each(func(r *replica) { r.pass(watchOf(resource), fault.Delay(time.Minute)) })
		return nil
	}
}

// calm ends all faults.
func (m *machine) calm() error {
	m.each((*replica).settle)
	return m.served()
}

const overrideDefinition = "overridepolicies.policy.karmada.io"

// unserved deletes the definition of the OverridePolicies, and served restores it.
func (m *machine) unserved() (err error) {
	definitions := e2e.Env.Admin.Resource(e2e.Definitions)
	if m.definition, err = definitions.Get(m.t.Context(), overrideDefinition, metav1.GetOptions{}); err != nil {
		return err
	}
	if err := definitions.Delete(m.t.Context(), overrideDefinition, metav1.DeleteOptions{}); err != nil {
		return err
	}
	return m.await("the definition to be gone", func() error {
		_, err := definitions.Get(m.t.Context(), overrideDefinition, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it still exists: %w", err)
	})
}

func (m *machine) served() error {
	if m.definition == nil {
		return nil
	}
	again := e2e.Object(m.definition.GetAPIVersion(), m.definition.GetKind(), "", overrideDefinition, map[string]any{"spec": m.definition.Object["spec"]})
	if _, err := e2e.Env.Admin.Resource(e2e.Definitions).Create(m.t.Context(), again, metav1.CreateOptions{}); err != nil {
		return err
	}
	m.definition = nil
	return m.await("the OverridePolicies to be served", func() error {
		_, err := e2e.Env.Admin.Resource(e2e.OverridePolicies).List(m.t.Context(), metav1.ListOptions{})
		return err
	})
}

func (m *machine) each(do func(*replica)) {
	for _, r := range m.replicas {
		do(r)
	}
}

// leader returns the replica that holds the Lease, and the other one.
func (m *machine) leader() (leads, standsBy *replica, err error) {
	err = m.await("a leader", func() error {
		lease, err := e2e.Env.Client.CoordinationV1().Leases("karmada-system").Get(m.t.Context(), "karmada-mirror", metav1.GetOptions{})
		if err != nil {
			return err
		}
		i := slices.IndexFunc(m.replicas[:], func(r *replica) bool {
			return lease.Spec.HolderIdentity != nil && strings.HasPrefix(*lease.Spec.HolderIdentity, r.name+"_")
		})
		if i < 0 {
			return fmt.Errorf("no replica holds the Lease")
		}
		leads, standsBy = m.replicas[i], m.replicas[1-i]
		return nil
	})
	return leads, standsBy, err
}

// leaderHangs leaves the leader's writes with this verb unanswered.
func (m *machine) leaderHangs(verb string) act {
	return func() error {
		leader, _, err := m.leader()
		if err == nil {
			leader.pass(fault.Match{Verb: verb, Resource: e2e.Works.Resource}, fault.Drop())
		}
		return err
	}
}

// standbyMisses cuts the standby off from the events of a resource.
func (m *machine) standbyMisses(resource string) act {
	return func() error {
		_, standby, err := m.leader()
		if err == nil {
			standby.gates[resource].Shut()
		}
		return err
	}
}

// leaderDies kills the leader, waits until the other replica has the Lease, and restarts
// it.
func (m *machine) leaderDies() error {
	leader, standby, err := m.leader()
	if err != nil {
		return err
	}
	if err := leader.die(); err != nil {
		return err
	}
	err = m.await("the standby to get the Lease", func() error {
		if now, _, err := m.leader(); now != standby || err != nil {
			return fmt.Errorf("it does not have it yet: %w", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return leader.start()
}

// renewed stops both replicas and starts them without their earlier complaints.
func (m *machine) renewed() error {
	for _, r := range m.replicas {
		if err := r.stop(); err != nil {
			return err
		}
		if err := r.begin(); err != nil {
			return err
		}
	}
	return nil
}

// restarted restarts both replicas.
func (m *machine) restarted() error {
	for _, r := range m.replicas {
		if err := r.restart(); err != nil {
			return err
		}
	}
	_, _, err := m.leader()
	return err
}

// written waits until the page's Work on m1 has a content.
func (m *machine) written(value int) act {
	return func() error {
		return m.await("the Work to be written", func() error { return m.hasContent(thePage, fmt.Sprint(value)) })
	}
}

// isWritten checks whether it has it now.
func (m *machine) isWritten(value int) act {
	return func() error { return m.hasContent(thePage, fmt.Sprint(value)) }
}

func (m *machine) hasContent(k model.Key, want string) error {
	carried, err := m.carried(k)
	if err != nil {
		return err
	}
	if got, _, _ := unstructured.NestedString(carried.Object, "data", "key"); got != want {
		return fmt.Errorf("it says %s", got)
	}
	return nil
}

// isRetained checks whether the Work leaves the Deployment's replicas to m1.
func (m *machine) isRetained() error {
	carried, err := m.carried(inA(deployment))
	if err == nil && carried.GetLabels()["resourcetemplate.karmada.io/retain-replicas"] != "true" {
		return fmt.Errorf("it does not leave its replicas to the member")
	}
	return err
}

// carried is the manifest in the Work of an object on m1.
func (m *machine) carried(k model.Key) (*unstructured.Unstructured, error) {
	works, err := m.works()
	if err != nil {
		return nil, err
	}
	work := works[e2e.WorkKey("m1", m.real(k))]
	if work == nil {
		return nil, fmt.Errorf("cannot find the Work of %v on m1", k)
	}
	return e2e.ManifestOf(work)
}

// now notes the time.
func now(at *time.Time) act { return func() error { *at = time.Now(); return nil } }

// losesNothing checks that since a time no write has taken an override from a Work, unless its
// policy had been gone for the settle period. The policy goes at that time and is back at the
// other one, if that is not nil.
func (m *machine) losesNothing(gone, back *time.Time) act {
	return func() error {
		for _, l := range m.executor.lostAfter(*gone) {
			if after := l.at.Sub(*gone); after < settlePeriod || back != nil && back.Sub(*gone) < settlePeriod {
				return fmt.Errorf("%s has lost %s after %s", l.work, l.policy, after)
			}
		}
		return nil
	}
}

// isOverridden checks that no Work lacks the override, or that there are none.
func (m *machine) isOverridden() error {
	works, err := m.works()
	for key, work := range works {
		if got := work.GetAnnotations()["karmada.target/overridden-by"]; got != thePolicy.Kind+"/"+thePolicy.Name {
			return fmt.Errorf("%s is overridden by %q", key, got)
		}
	}
	return err
}

// vanished waits until there are no Works.
func (m *machine) vanished() error { return m.await("the Works to be deleted", m.nothingIsThere) }

// nothingIsThere checks whether there are none now.
func (m *machine) nothingIsThere() error {
	works, err := m.works()
	if err == nil && len(works) > 0 {
		return fmt.Errorf("there are %d Works", len(works))
	}
	return err
}

// obstacle creates another owner's Work with the name of the page's Work. It also has our
// label, so that the daemon sees when it is deleted; cleared deletes it.
func (m *machine) obstacle(cluster string) act {
	return func() error {
		namespace, name := m.touch(target{thePage, cluster})
		work := e2e.Object("work.karmada.io/v1alpha1", "Work", namespace, name, map[string]any{"spec": map[string]any{"workload": map[string]any{"manifests": []any{}}}})
		work.SetLabels(map[string]string{"app.kubernetes.io/managed-by": "karmada-mirror", "resourcebinding.karmada.io/permanent-id": "other"})
		_, err := e2e.Env.Admin.Resource(e2e.Works).Namespace(namespace).Create(m.t.Context(), work, metav1.CreateOptions{})
		return err
	}
}

func (m *machine) cleared(cluster string) act {
	return func() error {
		namespace, name := m.touch(target{thePage, cluster})
		return e2e.Env.Admin.Resource(e2e.Works).Namespace(namespace).Delete(m.t.Context(), name, metav1.DeleteOptions{})
	}
}
