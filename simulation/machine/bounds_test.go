package machine

import (
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/simulation/apiserver"
	"github.com/karmada-target/karmada-mirror/simulation/fault"
	"github.com/karmada-target/karmada-mirror/simulation/model"
)

// bounds are stories of how much is written, read and told.
var bounds = map[string]func(*machine) error{
	"OneWriteEach": func(m *machine) error {
		var from time.Time
		return m.tell(m.flags("--resync-period=1m"), now(&from), m.crowd(100, 0, to("m1,m2")), m.quiet, m.requests(&from, 200, 200, of(works)), m.requests(&from, 200, 200, done(works, "create")),
			now(&from), m.changed(pageOf(7), 1), m.quiet, m.requests(&from, 2, 2, of(works)), now(&from), m.puts(pageOf(8), to("m2,m3")), m.quiet, m.requests(&from, 1, 1, of(works, "create")), m.requests(&from, 1, 1, of(works, "delete")), m.requests(&from, 1, 1, of(works, "patch")),
			now(&from), pause(30*time.Minute), m.requests(&from, 0, 0, of(works)), m.requests(&from, 0, 0, of(configMaps)))
	},
	"RestartWritesNothing": func(m *machine) error { // and reads no single objects
		var from time.Time
		reads := func(c call) bool {
			return c.Verb == "get" && c.Namespace != "karmada-system" && c.Name != "" && c.Resource != definitions
		}
		return m.tell(m.flags("--resync-period=1m"), m.override, m.defaults("m1,m2"), m.crowd(100, 0, nil), m.web(to("m1")), m.scaler(to("m1")), m.puts(pageOf(3), map[string]string{clustersKey: "*", expandKey: "true"}), m.crowdGoes(2), m.quiet, pause(time.Minute), now(&from), m.restarted, pause(5*time.Minute),
			m.requests(&from, 0, 0, of(works)), m.requests(&from, 0, 0, reads), m.leaderDies, pause(5*time.Minute), m.requests(&from, 0, 0, of(works)), m.requests(&from, 0, 0, reads), m.quiet)
	},
	"DefaultGoes": func(m *machine) error {
		var from time.Time
		return m.tell(m.defaults("m1"), m.crowd(200, 0, nil), m.quiet, pause(time.Minute), now(&from), m.defaults(none), m.quiet, m.requests(&from, 200, 200, of(works)), m.requests(&from, 1, 20, of(namespaces, "get")))
	},
	"InvalidDefault": func(m *machine) error { // is reported on the Namespace alone
		var from time.Time
		return m.tell(m.defaults("m1"), m.crowd(20, 0, nil), m.quiet, now(&from), m.defaults("m1,,m2"), pause(10*time.Minute), m.requests(&from, 0, 0, of(works)), m.told("InvalidAnnotation", 1, 1), m.quiet, m.defaults("m1,nowhere"), pause(10*time.Minute), m.told("UnknownCluster", 1, 1), m.requests(&from, 0, 0, of(works)), m.quiet)
	},
	"SelectedClusters": func(m *machine) error {
		var from time.Time
		core := map[string]string{"tier": "core"}
		return m.tell(m.page(map[string]string{selectorKey: "tier=edge"}), m.quiet, now(&from), m.cluster("m1", core), m.cluster("m2", map[string]string{"tier": "edge"}), m.cluster("m3", core), m.quiet,
			m.requests(&from, 1, 1, of(works, "create")), m.requests(&from, 2, 2, of(works, "delete")), m.requests(&from, 0, 0, of(works, "patch")))
	},
	"LabelOfACluster": func(m *machine) error { // writes only the Works that use it
		var from time.Time
		return m.tell(m.crowd(10, 0, map[string]string{clustersKey: "*", expandKey: "true"}), m.changed(pageOf(3), 1), m.quiet, now(&from), m.cluster("m1", map[string]string{"tier": "gold"}), m.quiet, m.requests(&from, 1, 1, of(works)))
	},
	"StrippedKeys": func(m *machine) error { // writes only the Works that have them
		var from time.Time
		with := func(value string) map[string]string {
			return map[string]string{clustersKey: "m1", "example.com/x": "y", "kubectl.kubernetes.io/last-applied-configuration": value}
		}
		return m.tell(m.crowd(10, 0, to("m1")), m.puts(pageOf(3), with("1")), m.quiet, now(&from), m.set(breakerOff+"strip: {annotations: [example.com/*]}\n"), pause(time.Minute), m.requests(&from, 1, 1, of(works)),
			now(&from), m.puts(pageOf(3), with("2")), pause(time.Minute), m.requests(&from, 0, 0, of(works)), m.set(breakerOff), m.quiet, m.requests(&from, 1, 1, of(works)))
	},
	"MoreReplicasFirst": func(m *machine) error {
		var from time.Time
		divided := func(weights string) act {
			return m.puts(inA(deployment), map[string]string{clustersKey: "m1,m2", "karmada.target/replicas": weights})
		}
		order := func(want ...string) act {
			return func() error {
				all := m.audit.those(from, done(works))
				if len(all) != 2 || all[0].Namespace != want[0] || all[1].Namespace != want[1] {
					return fmt.Errorf("%v was not written first: %d writes", want, len(all))
				}
				return nil
			}
		}
		const m1, m2 = "karmada-es-m1", "karmada-es-m2"
		return m.tell(divided("m1=1,m2=1"), m.quiet, now(&from), divided("m1=0,m2=2"), m.quiet, order(m2, m1), now(&from), divided("m1=2,m2=0"), m.quiet, order(m1, m2), m.told("ReplicasUnplaced", 0, 0))
	},
	"DefaultsAreToldOnce": func(m *machine) error { // on the Namespace; and what is not about these objects, not at all
		defaults := map[string]string{clustersKey: "m1", suspendKey: "m1,nowhere", "karmada.target/replicas": "retain"}
		return m.tell(m.space("a", defaults, map[string]string{"namespace.karmada.io/skip-auto-propagation": "true"}), m.crowd(20, 0, nil), m.page(map[string]string{suspendKey: "elsewhere"}), pause(2*time.Minute), m.told("NamespaceNotPropagated", 1, 1), m.told("ReplicasContested", 0, 0),
			m.told("UnknownCluster a no cluster \"nowhere\"", 1, 1), m.told("UnknownCluster page-0", 1, 1), m.told("UnknownCluster", 2, 2))
	},
	"DefaultIsOnlyASelector": func(m *machine) error { // of a Namespace that opts out: that of an object which asks is reported on the object
		return m.tell(m.space("a", map[string]string{clustersKey: "", selectorKey: "tier=edge"}, map[string]string{"namespace.karmada.io/skip-auto-propagation": "true"}), m.page(to("m1")), pause(2*time.Minute), m.told("NamespaceNotPropagated page-0", 1, 1), m.told("NamespaceNotPropagated", 1, 1))
	},
	"UnplacedIsToldOnce": func(m *machine) error { // one of forty clusters is away while the others get more replicas, one by one
		web := func(value int) act {
			return func() error {
				return m.put(inA(deployment), value, map[string]string{clustersKey: "*", "karmada.target/replicas": "divide", wavesKey: "*,!m40(1);m40"}, nil)
			}
		}
		return m.tell(web(79), pause(20*time.Minute), m.goes("m40"), pause(time.Minute), m.told("ReplicasUnplaced", 0, 0), web(159), pause(time.Hour), m.told("ReplicasUnplaced", 1, 1))
	},
	"OverrideFailsInOneCluster": func(m *machine) error {
		return m.tell(func() error { return m.putCluster("m1", map[string]string{"tier": "edge"}, "eu") }, func() error { return m.putCluster("m2", map[string]string{"tier": "core"}, "us") }, m.page(map[string]string{clustersKey: "*", expandKey: "true"}), m.quiet,
			m.edited(2), m.told("OverrideFailed", 0, 0), pause(time.Minute), m.told("OverrideFailed", 1, 1), m.written(2), m.joins("m4"), pause(time.Minute), m.quiet)
	},
	"EventsOnce": func(m *machine) error {
		resyncs := pause(12 * time.Minute) // Events expire after an hour
		return m.tell(m.flags("--resync-period=10m"), m.page(to("m1,nowhere")), pause(time.Minute), m.told("UnknownCluster", 1, 1), m.edited(2), m.leaderDies, resyncs, m.edited(3), m.leaderDies, resyncs, m.told("UnknownCluster", 1, 1), m.page(to("m1,neither")), pause(time.Minute), m.told("UnknownCluster", 2, 2), m.told("", 2, 2), m.quiet)
	},
	"EventsOfMany": func(m *machine) error {
		return m.tell(m.flags("--resync-period=10m"), m.crowd(1200, 0, to("m1,nowhere")), pause(3*time.Minute), m.told("UnknownCluster", 1200, 1200), m.leaderDies, pause(3*time.Minute), m.told("UnknownCluster", 1200, 1200))
	},
	"FloodOfSources": func(m *machine) error {
		var from time.Time
		first, other := (*replica)(nil), inB(pages[0])
		return m.tell(m.stopped, m.crowd(150, 0, to("m1")), now(&from), m.flags("--kube-api-qps=4", "--kube-api-burst=4", "--concurrent-syncs=60"), func() (err error) { first, _, err = m.leader(); return err }, func() error {
			return await("the flood", func() error { return m.requests(&from, 1, 150, done(works, "create"))() })
		}, m.puts(other, to("m1")), func() error {
			return await("the other's page", func() error { _, err := m.uidOf(other, "m1"); return err })
		}, m.requests(&from, 1, 112, done(works, "create")), m.quiet, m.areAlive, func() error { return first.leads(1, "karmada-system/karmada-mirror") })
	},
	"FloodOfEdits": func(m *machine) error {
		other := inB(pages[0])
		flood := func() error {
			for i := range 120 {
				if err := m.crowd(30, i%4, to("m1"))(); err != nil {
					return err
				}
				time.Sleep(500 * time.Millisecond)
				switch i {
				case 20:
					if err := errors.Join(m.edit(other, 3), m.deleteWork(target{inB(pages[1]), "m1"})); err != nil {
						return err
					}
				case 60: // 20 s later
					_, err := m.uidOf(inB(pages[1]), "m1")
					if err = errors.Join(err, m.hasContent(other, "3")); err != nil {
						return err
					}
				}
			}
			return nil
		}
		return m.tell(m.flags("--kube-api-qps=5", "--kube-api-burst=5", "--concurrent-syncs=2"), m.puts(other, to("m1")), m.puts(inB(pages[1]), to("m1")), m.crowd(30, 0, to("m1")), m.quiet, flood, m.quiet)
	},
	"RevertedWhileWritesWait": func(m *machine) error { // what waits for a slot is not what they say any more
		var from time.Time
		return m.tell(m.crowd(60, 0, to("m1,m2,m3")), m.quiet, now(&from), m.slowly("patch", "works", fault.DelayAnswer(6*time.Second)), m.crowd(60, 1, to("m1,m2,m3")), pause(3*time.Second), m.crowd(60, 0, to("m1,m2,m3")), m.calm, m.quiet, m.requests(&from, 32, 40, done(works, "patch")))
	},
	"DeletionsOfChattyWorks": func(m *machine) error { // one is refused, and others are held
		var from time.Time
		chatters := func() (err error) {
			for range 50 {
				err = errors.Join(err, m.worksReport())
				time.Sleep(6 * time.Second)
			}
			return err
		}
		reads := func(c call) bool { return c.Verb == "get" && c.Ref.Resource == configMaps && c.Namespace == "a" }
		return m.tell(m.page(to("m1,m2")), m.quiet, m.admits(denies("DELETE"), m.page(to("m2")), pause(10*time.Minute), now(&from), chatters, m.requests(&from, 1, 3, of(works, "delete"))),
			m.careful, m.crowd(60, 0, to("m1")), m.quiet, m.crowdGoes(60), pause(time.Minute), m.held(60, 60), now(&from), chatters, m.requests(&from, 0, 10, reads))
	},
	"FinalizerIsRefused": func(m *machine) error { // of an object that is touched again and again
		var from time.Time
		refuses := func(op string, gr schema.GroupResource, _ string, o, _ apiserver.Object) (apiserver.Object, error) {
			if u := (&unstructured.Unstructured{Object: o}); gr == configMaps && op == "UPDATE" && len(u.GetFinalizers()) > 0 {
				return nil, apierrors.NewForbidden(configMaps, u.GetName(), errors.New(`admission webhook "x" denied the request`))
			}
			return o, nil
		}
		touched := func() (err error) {
			for i := range 150 {
				err = errors.Join(err, m.put(thePage, 2, map[string]string{clustersKey: "m1,m2", deletionKey: "foreground", "kubectl.kubernetes.io/last-applied-configuration": fmt.Sprint(i)}, nil))
				time.Sleep(2 * time.Second)
			}
			return err
		}
		return m.tell(m.admits(refuses, m.page(foreground), pause(time.Minute), m.countOf(2), m.told("NotAuthorized", 1, 1), now(&from), touched, m.requests(&from, 0, 2, of(configMaps, "patch"))), pause(5*time.Minute), m.isFinalized(true))
	},
	"StatusOfAFlappingPod": func(m *machine) error { // its readiness changes every two seconds
		var from time.Time
		flaps := func() (err error) {
			for i := range 300 {
				_, failed := m.store.Modify(workRef(model.WorkKey("m1", inA(deployment))), "status", func(o apiserver.Object) {
					all, _, _ := unstructured.NestedSlice(o, "status", "manifestStatuses")
					status := all[0].(map[string]any)["status"].(map[string]any)
					n, _, _ := unstructured.NestedInt64(status, "replicas")
					status["readyReplicas"], status["availableReplicas"] = n-int64(i%2), n-int64(i%2)
					setField(all, "status", "manifestStatuses")(&unstructured.Unstructured{Object: o})
				})
				err = errors.Join(err, failed)
				time.Sleep(2 * time.Second)
			}
			return err
		}
		return m.tell(m.web(to("m1")), m.quiet, now(&from), flaps, m.requests(&from, 60, 130, of(deployments)))
	},
	"JoinsWhileRequestsHang": func(m *machine) error { // what hangs is about others than those that a new cluster gets
		isThere := func() error {
			if n := m.countOn("m4"); n < 60 {
				return fmt.Errorf("it has %d Works", n)
			}
			return nil
		}
		return m.tell(m.crowd(100, 0, to("*")), m.quiet, m.fails(fault.Match{Resource: works.Resource, Verb: "patch"}, fault.Drop()), m.crowd(40, 2, to("*")), pause(10*time.Minute),
			func() error { return m.joinReady("m4") }, pause(10*time.Second), isThere, m.calm, func() error { return m.removeCluster("m4") }, m.quiet)
	},
	"MemberFights": func(m *machine) error { // over the replicas, once a second
		var from time.Time
		fights := func(change func(apiserver.Object)) act {
			return func() error { m.karmada.Member("m1").Fight(refOf(inA(deployment)), time.Second, change); return nil }
		}
		scales := func(o apiserver.Object) {
			setField(int64(5), "spec", "replicas")(&unstructured.Unstructured{Object: o})
		}
		return m.tell(m.web(to("m1,m2")), m.quiet, fights(scales), now(&from), pause(10*time.Minute), m.requests(&from, 0, 0, of(works)), m.requests(&from, 10, 200, of(deployments)), fights(nil), m.quiet)
	},
	"MostWorksChange": func(m *machine) error { // as with a version that writes other Works; the leader dies halfway
		var from time.Time
		var edit time.Time
		before := m.requests(&edit, 1, 50, done(works))
		return m.tell(m.flags("--kube-api-qps=50", "--kube-api-burst=50", "--resync-period=10m"), m.crowd(500, 0, map[string]string{clustersKey: "m1", "example.com/x": "y"}), m.quiet, pause(time.Minute), now(&from), m.set(breakerOff+"strip: {annotations: [example.com/*]}\n"), pause(500*time.Millisecond), now(&edit),
			m.changed(pageOf(499), 2), func() error {
				for m.hasContent(pageOf(499), "2") != nil {
					time.Sleep(10 * time.Millisecond)
				}
				return nil
			}, before, pause(4*time.Second), m.leaderDies, pause(time.Minute), m.requests(&from, 500, 534, done(works, "patch")), m.requests(&from, 0, 0, of(works, "create", "delete")), m.set(breakerOff), m.quiet)
	},
}

// TestConfigurationCycles configures resources and takes them out again: no goroutine stays.
func TestConfigurationCycles(t *testing.T) {
	if err := inWorld(t, onAPIServer, func(m *machine) error {
		acts := []act{m.configured("b", none), m.crowd(5, 0, foreground), m.part("config.yaml", configurationHead+"resources: [{resource: services}]\n"), m.unserved, m.configured("*", none), pause(5 * time.Second), m.served, m.expired("configmaps"), m.quiet, m.crowdGoes(5), m.quiet}
		var before int
		for i := range 40 {
			if err := m.tell(acts...); err != nil {
				return fmt.Errorf("cycle %d: %w", i, err)
			}
			if i == 4 {
				before = runtime.NumGoroutine()
			}
		}
		if after := runtime.NumGoroutine(); after > before+5 {
			return fmt.Errorf("%d goroutines have become %d", before, after)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}
