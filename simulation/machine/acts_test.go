package machine

import (
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/daemon"
	"github.com/karmada-target/karmada-mirror/simulation/apiserver"
	"github.com/karmada-target/karmada-mirror/simulation/fault"
	"github.com/karmada-target/karmada-mirror/simulation/model"
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

// quiet ends all faults and waits until everything is as the model says.
func (m *machine) quiet() error {
	if wrong := m.look(); len(wrong) > 0 {
		return fmt.Errorf("%q", wrong)
	}
	return nil
}

func pause(d time.Duration) act { return func() error { time.Sleep(d); return nil } }

// await waits until a condition holds; what completes "cannot wait for".
func await(what string, condition func() error) error {
	for limit := time.Now().Add(quietLimit); ; time.Sleep(awaitPeriod) {
		err := condition()
		if err == nil {
			return nil
		}
		if time.Now().After(limit) {
			return fmt.Errorf("cannot wait for %s: %w", what, err)
		}
	}
}

// to are annotations that ask for clusters.
func to(clusters string) map[string]string { return map[string]string{clustersKey: clusters} }

var inTwoWaves = map[string]string{clustersKey: "*", wavesKey: "m1;*"}

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
		return await("the namespace to be gone", func() error {
			if m.store.Get(apiserver.Ref{Resource: namespaces, Name: name}) != nil {
				return errors.New("it still exists")
			}
			return nil
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

// far makes all replicas' API servers answer late.
func (m *machine) far(d time.Duration) act {
	return func() error { m.each(func(r *replica) { r.latency = d; r.layer.SetLatency(d) }); return nil }
}

// beats writes the status of an object, as a controller does that says it is there.
func (m *machine) beats(k model.Key, n int) act {
	return func() error {
		_, err := m.store.Modify(refOf(k), "status", func(o apiserver.Object) {
			setField([]any{map[string]any{"type": "Heartbeat", "status": "True", "message": fmt.Sprint(n)}}, "status", "conditions")(&unstructured.Unstructured{Object: o})
		})
		return err
	}
}

// altered has a webhook alter the Works of some clusters, and ails makes a cluster apply nothing.
func (m *machine) altered(clusters string) act {
	return func() error { m.alterWorks(clusters); return nil }
}

// keepsAltered checks in which clusters the page's Work is as admission has altered it.
func (m *machine) keepsAltered(clusters string) act {
	return func() error {
		var in []string
		for _, cluster := range m.scene.clusters {
			if manifest, err := model.ManifestOf(m.works()[model.WorkKey(cluster, thePage)]); err == nil && manifest.GetLabels()[model.AlteredLabel] != "" {
				in = append(in, cluster)
			}
		}
		if got := strings.Join(in, ","); got != clusters {
			return fmt.Errorf("the Works of %q are altered, not those of %q", got, clusters)
		}
		return nil
	}
}

func (m *machine) ails(cluster string) act { return func() error { return m.ail(cluster) } }

func (m *machine) halts(cluster string) act { return func() error { return m.halt(cluster) } }

const lagTime = 5 * time.Second

// behind makes an API server's watch cache lag, and moved leads all replicas' requests there.
func (m *machine) behind(server int, resource schema.GroupResource) act {
	return func() error { m.lag(server, resource, lagTime); return nil }
}

func (m *machine) moved(server int) act {
	return func() error { m.each(func(r *replica) { m.connect(r, server, false) }); return nil }
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

// heldBehind mirrors a page in two waves, of which the second waits for new content.
func (m *machine) heldBehind(clusters string) act {
	return m.tellAll(m.page(map[string]string{clustersKey: clusters, wavesKey: "m1;*"}), m.quiet, m.ails("m1"), m.edited(2), pause(time.Minute), m.keeps("m1", "2"), m.keeps("m3", "1"))
}

// slowReads changes something while what a wave rests on is read slowly.
func (m *machine) slowReads(change act, then ...act) error {
	return m.tell(m.page(map[string]string{clustersKey: "*", wavesKey: "m1;*", "karmada.target/wave-bake": "1m"}), m.quiet, m.edited(2), pause(30*time.Second),
		m.slowly("get", "clusters", fault.Delay(10*time.Second)), pause(33*time.Second), m.keeps("m2", "1"), change, pause(20*time.Second), m.tellAll(then...))
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

var overrideDefinition = apiserver.Ref{Resource: definitions, Name: "overridepolicies.policy.karmada.io"}

// unserved deletes the definition of the OverridePolicies, and served restores it.
func (m *machine) unserved() error {
	m.definition = m.store.Get(overrideDefinition)
	return m.undefine(overrideDefinition)
}

func (m *machine) served() error {
	if m.definition == nil {
		return nil
	}
	_, err := m.store.Create(definitions, object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", overrideDefinition.Name, map[string]any{"spec": m.definition["spec"]}))
	m.definition = nil
	if err != nil {
		return err
	}
	return await("the resource to be served", func() error {
		if _, isServed := m.store.Served(resources["OverridePolicy"]); !isServed {
			return errors.New("it is not")
		}
		return nil
	})
}

func (m *machine) each(do func(*replica)) {
	for _, r := range m.replicas {
		do(r)
	}
}

// errLeaderless is not a failure where requests for the Lease may fail, or no replica could lead: see unlessLeaderless.
var errLeaderless = errors.New("no replica has the Lease")

func unlessLeaderless(err error) error {
	if errors.Is(err, errLeaderless) {
		return nil
	}
	return err
}

func (m *machine) leaderless() error {
	if _, _, err := m.leader(); err == nil {
		return errors.New("a replica that cannot lead has the Lease")
	}
	return nil
}

// leader returns the replica that holds the Lease, and another one.
func (m *machine) leader() (leads, standsBy *replica, err error) {
	err = await("a leader", func() error {
		lease := &unstructured.Unstructured{Object: m.store.Get(apiserver.Ref{Resource: leases, Namespace: daemon.Namespace, Name: daemon.DefaultLease})}
		holder, _, _ := unstructured.NestedString(lease.Object, "spec", "holderIdentity")
		for i, r := range m.replicas {
			if strings.HasPrefix(holder, r.name+"_") {
				leads, standsBy = r, m.replicas[(i+1)%len(m.replicas)]
				return nil
			}
		}
		return errLeaderless
	})
	return leads, standsBy, err
}

// leaderHangs leaves the leader's writes with this verb unanswered.
func (m *machine) leaderHangs(verb string) act {
	return func() error {
		leader, _, err := m.leader()
		if err == nil {
			leader.pass(fault.Match{Verb: verb, Resource: works.Resource}, fault.Drop())
		}
		return unlessLeaderless(err)
	}
}

// standbyMisses cuts the standby off from the events of a resource.
func (m *machine) standbyMisses(resource string) act {
	return func() error {
		_, standby, err := m.leader()
		if err == nil {
			standby.gates[resource].Shut()
		}
		return unlessLeaderless(err)
	}
}

// leaderDies kills the leader, waits until another replica has the Lease, and restarts
// it.
func (m *machine) leaderDies() error {
	leader, _, err := m.leader()
	if err != nil {
		return unlessLeaderless(err)
	}
	m.each((*replica).revive)
	leader.die()
	err = await("a standby to get the Lease", func() error {
		if now, _, err := m.leader(); now != leader || err != nil {
			return err
		}
		return errLeaderless
	})
	leader.start()
	return unlessLeaderless(err)
}

// restarted restarts all replicas.
func (m *machine) restarted() error {
	m.each((*replica).restart)
	_, _, err := m.leader()
	return unlessLeaderless(err)
}

// written waits until the page's Work on m1 has a content.
func (m *machine) written(value int) act {
	return func() error {
		return await("the Work to be written", func() error { return m.hasContent(thePage, fmt.Sprint(value)) })
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

// keeps checks what the page's Work on a cluster says.
func (m *machine) keeps(cluster, want string) act {
	return func() error {
		work := m.works()[model.WorkKey(cluster, thePage)]
		if work == nil {
			return fmt.Errorf("there is no Work on %s", cluster)
		}
		manifest, err := model.ManifestOf(work)
		if err != nil {
			return err
		}
		if got, _, _ := unstructured.NestedString(manifest.Object, "data", "key"); got != want {
			return fmt.Errorf("%s has content %s, not %s", cluster, got, want)
		}
		return nil
	}
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
	work := m.works()[model.WorkKey("m1", k)]
	if work == nil {
		return nil, fmt.Errorf("cannot find the Work of %v on m1", k)
	}
	return model.ManifestOf(work)
}

// now notes the time.
func now(at *time.Time) act { return func() error { *at = time.Now(); return nil } }

// losesNothing checks that since a time no write has taken an override from a Work, unless its
// policy had been gone for the settle period. The policy goes at that time and is back at the
// other one, if that is not nil.
func (m *machine) losesNothing(gone, back *time.Time) act {
	return func() error {
		for _, l := range m.witness.lostAfter(*gone) {
			if after := l.at.Sub(*gone); after < settlePeriod || back != nil && back.Sub(*gone) < settlePeriod {
				return fmt.Errorf("%s has lost %s after %s", l.work, l.policy, after)
			}
		}
		return nil
	}
}

// isOverridden checks that no Work lacks the override, or that there are none.
func (m *machine) isOverridden() error {
	for key, work := range m.works() {
		if got := work.GetAnnotations()["karmada.target/overridden-by"]; got != thePolicy.Kind+"/"+thePolicy.Name {
			return fmt.Errorf("%s is overridden by %q", key, got)
		}
	}
	return nil
}

// vanished waits until there are no Works.
func (m *machine) vanished() error { return await("the Works to be deleted", m.nothingIsThere) }

// nothingIsThere checks whether there are none now.
func (m *machine) nothingIsThere() error {
	if n := len(m.works()); n > 0 {
		return fmt.Errorf("there are %d Works", n)
	}
	return nil
}

// obstacle creates another owner's Work with the name of the page's Work. It also has our
// label, so that the daemon sees when it is deleted; cleared deletes it.
func (m *machine) obstacle(cluster string) act {
	return func() error {
		ref := m.touch(target{thePage, cluster})
		work := object("work.karmada.io/v1alpha1", "Work", ref.Namespace, ref.Name, map[string]any{"spec": map[string]any{"workload": map[string]any{"manifests": []any{}}}})
		(&unstructured.Unstructured{Object: work}).SetLabels(map[string]string{"app.kubernetes.io/managed-by": "karmada-mirror", "resourcebinding.karmada.io/permanent-id": "other"})
		_, err := m.store.Create(works, work)
		return err
	}
}

func (m *machine) cleared(cluster string) act {
	return func() error { return m.store.Delete(m.touch(target{thePage, cluster}), metav1.DeleteOptions{}) }
}
