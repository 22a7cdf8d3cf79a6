package machine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/daemon"
	"github.com/karmada-target/karmada-mirror/simulation/apiserver"
	"github.com/karmada-target/karmada-mirror/simulation/fault"
)

// leaderships are stories of replicas that lead, one after the other.
var leaderships = map[string]func(*machine) error{
	"LeaderDies": func(m *machine) error { // a Lease lasts for 15 s
		return m.tell(m.crowd(20, 0, to("m1,m2")), m.quiet, m.crowd(20, 1, to("m2,m3")), m.within(17*time.Second, m.leaderDies), m.quiet)
	},
	"LeadsAFleetThatReports": func(m *machine) error { // and whose watch of Clusters is late, so that these are never as they are now
		late := func() error {
			for i := range m.servers {
				m.lag(i, clusters, lookPeriod+time.Second)
			}
			m.reporting = true
			go func() {
				for range 60 {
					m.report()
					time.Sleep(lookPeriod)
				}
			}()
			return nil
		}
		return m.tell(m.page(to("m1")), m.quiet, late, pause(10*time.Second), m.leaderDies, m.edited(2), pause(time.Minute), m.isWritten(2), pause(time.Minute))
	},
	"LeaderEnds": func(m *machine) error { // and releases it
		var first *replica
		return m.tell(m.crowd(20, 0, to("m1,m2")), m.quiet, m.crowd(20, 1, to("m2,m3")), func() (err error) { first, _, err = m.leader(); return err },
			func() error { first.stop(); return nil }, m.within(time.Second, func() error { return m.otherLeads(first) }), func() error { first.start(); return nil }, m.quiet)
	},
	"LeaderHasSeenAFinalizerLiveOnly": func(m *machine) error {
		return m.tell(m.page(to("m1")), m.quiet, m.standbyMisses("configmaps"), m.page(map[string]string{clustersKey: "m1", deletionKey: "foreground"}), pause(time.Second), m.leaderDies, pause(20*time.Second), m.withoutKind("ConfigMap"), m.quiet)
	},
	"LeaseIsReadInVain": func(m *machine) error { // by the replica that has it: another one leads
		return m.tell(m.page(to("m1")), m.quiet, func() error {
			_, next, err := m.leader()
			next.pass(fault.Match{Verb: "get", Resource: "leases"}, func(r *http.Request, through http.RoundTripper, removed <-chan struct{}) (*http.Response, error) {
				if leads, _, _ := m.leader(); leads == next {
					return fault.Drop()(r, through, removed)
				}
				return through.RoundTrip(r)
			})
			return err
		}, m.leaderDies, pause(time.Minute), m.edited(2), pause(10*time.Second), m.isWritten(2), func() error { m.each((*replica).revive); return nil }, m.quiet)
	},
	"LeaderIsPaused": func(m *machine) error { // its writes arrive when another leads
		var first *replica
		var late chan struct{}
		var from, released time.Time
		stale := func(code int) func(call) bool {
			return func(c call) bool { return c.by == first.name && of(works, "patch")(c) && c.Code == code }
		}
		return m.tell(m.crowd(20, 0, to("m1,m2")), m.quiet, pause(10*time.Second), now(&from), func() (err error) {
			first, _, err = m.leader()
			late = make(chan struct{})
			first.pass(fault.Match{Verb: "patch", Resource: "works"}, overdue(late))
			return err
		}, m.crowd(20, 1, to("m1,m2")), pause(time.Second), func() error {
			first.pass(fault.Match{}, fault.Drop())
			first.layer.End(fault.Match{Verb: "watch"})
			return nil
		},
			func() error { return m.otherLeads(first) }, m.crowd(20, 2, to("m1,m2")), m.workload, pause(10*time.Second), now(&released), func() error { close(late); return nil }, pause(time.Second),
			m.requests(&released, 5, 100, stale(409)), m.requests(&from, 0, 0, stale(200)), m.calm,
			func() error { return await("the first to end", m.hasLostLease) }, m.quiet)
	},
	"LeaderIsAhead":  func(m *machine) error { return m.clocksDiffer(time.Hour) },
	"LeaderIsBehind": func(m *machine) error { return m.clocksDiffer(-time.Hour) },
	"OneIdentityTwice": func(m *machine) error {
		return m.tell(m.flags("--holder-identity=twin"), m.page(to("m1")), m.leadsAlone(2*time.Minute), m.written(1), func() error { m.replicas[0].kill(); return nil },
			m.leadsAlone(2*time.Minute), func() error { m.replicas[1].kill(); return nil }, m.leadsAlone(time.Minute), m.areAlive, m.page(to("m2")), m.quiet)
	},
	"FinalizerOfAClaimed": func(m *machine) error { // object, which then does not ask any more
		return m.tell(m.space("a", map[string]string{deletionKey: "foreground"}, nil), m.page(to("m1,m2")), m.quiet, m.isFinalized(true), func() error { return m.karmada.Claim(refOf(thePage), "m1", "m2") }, pause(2*time.Minute), func() error {
			_, err := m.store.Modify(refOf(thePage), "", func(o apiserver.Object) { unstructured.RemoveNestedField(o, "metadata", "annotations", clustersKey) })
			return err
		}, pause(time.Minute), m.isFinalized(false))
	},
	"FinalizerOfAnotherDaemon": func(m *machine) error { // which the namespace went to before the leader changed
		foreground := map[string]string{clustersKey: "m1", deletionKey: "foreground"}
		return m.tell(m.page(foreground), m.quiet, m.configured("b", none), pause(10*time.Second), m.isFinalized(false), func() error {
			_, err := m.store.Create(configMaps, object("v1", "ConfigMap", daemon.Namespace, "shop", map[string]any{"data": map[string]any{"config.yaml": configurationHead + "resources: [{resource: configmaps, namespaces: [a]}]\n"}}))
			m.replica("third", "--config-map=karmada-system/shop", "--leader-elect-resource-name=shop").start()
			return err
		}, pause(20*time.Second), m.isFinalized(true), m.goes("m1"), pause(time.Minute), m.gone, pause(5*time.Second), m.isFinalized(true), m.leaderDies, pause(30*time.Second), m.isFinalized(true), m.countOf(1))
	},
	"AnotherUsesTheLease": func(m *machine) error {
		another := object("v1", "ConfigMap", daemon.Namespace, "another", map[string]any{"data": map[string]any{"config.yaml": configurationHead + "resources: [{resource: services}]\n"}})
		var third *replica
		return m.tell(m.page(to("m1")), m.quiet, func() error {
			_, err := m.store.Create(configMaps, another)
			third = m.replica("third", "--config-map=karmada-system/another")
			third.start()
			return err
		}, m.leadsAlone(2*time.Minute), m.edited(2), pause(time.Minute), func() error { return third.leads(0, "karmada-system/another") }, func() error {
			third.stop()
			third.flags = append(third.flags, "--leader-elect-resource-name=another")
			third.start()
			return await("the third to lead", func() error { return third.leads(1, "karmada-system/another") })
		}, m.quiet)
	},
	"StandbyTakesOverWhatIsRefused": func(m *machine) error {
		const refused = `karmada_mirror_refused_sources{reason="InvalidAnnotation"}`
		return m.tell(m.crowd(7, 0, to("!m1")), m.counted(refused, 7), m.leaderDies, m.counted(refused, 7), m.told("InvalidAnnotation", 7, 7), m.crowdGoes(7), m.counted(refused, 0), m.quiet)
	},
	"LeaderGoesBlind": func(m *machine) error { // it alone: the other one leads, also when the first has started again
		var sighted *replica
		refused := fault.Refuse(apierrors.NewTimeoutError("no", 0))
		return m.tell(m.page(to("m1")), m.quiet, func() (err error) {
			blind, other, err := m.leader()
			sighted = other
			blind.pass(fault.Match{Verb: "list", Resource: "works", AllNamespaces: true}, refused)
			blind.pass(watchOf("works"), refused)
			blind.layer.End(watchOf("works"))
			return err
		}, m.edited(2), pause(time.Minute), m.edited(1), pause(5*time.Minute), m.isWritten(1), func() error { m.each((*replica).revive); sighted.restart(); return nil }, m.edited(2), pause(time.Minute), m.isWritten(2), m.calm, m.quiet)
	},
	"EndsInTime": func(m *machine) error { // SIGTERM while the API server never answers
		never, leads := m.fails(fault.Match{}, fault.Drop()), func() error { _, _, err := m.leader(); return err }
		states := map[string][]act{
			"starting":        {m.stopped, never, m.started, pause(time.Second)},
			"awaiting caches": {m.stopped, m.fails(watchOf("configmaps"), fault.Drop()), m.started, leads, pause(time.Second), never},
			"leading":         {m.fails(fault.Match{Resource: "works"}, fault.Drop()), m.crowd(20, 1, to("m1,m3")), pause(time.Second), never},
			"idle":            {leads, pause(time.Minute), never},
		}
		for state, acts := range states {
			acts = append(append([]act{m.crowd(20, 0, to("m1,m2")), m.quiet}, acts...), m.within(25*time.Second, m.stopped), func() (err error) {
				m.each(func(r *replica) { err = errors.Join(err, r.current.err) })
				return err
			}, m.calm, m.started, m.quiet)
			if err := m.tell(acts...); err != nil {
				return fmt.Errorf("%s: %w", state, err)
			}
		}
		return nil
	},
	"SyncHangs": func(m *machine) error { // whatever it hangs in, and although the Lease could be renewed
		var leader *replica
		return m.tell(m.page(to("m1")), m.quiet, func() (err error) {
			if leader, _, err = m.leader(); err == nil {
				leader.pass(fault.Match{Verb: "patch", Resource: works.Resource}, fault.Stick())
				leader.current.expectEnd()
			}
			return err
		}, m.edited(2), m.written(2), func() error {
			if !leader.hasEnded() || leader.current.err == nil {
				return errors.New("the process that hangs has not ended")
			}
			leader.start()
			return nil
		}, m.quiet)
	},
	"LaggingLeader": func(m *machine) error {
		return m.tell(m.crowd(10, 0, to("m1,m2")), m.quiet, m.standbyMisses("configmaps"), m.standbyMisses("works"), m.crowd(5, 1, to("m2,m3")), m.workload, pause(5*time.Second), m.leaderDies, pause(2*time.Second), m.quiet)
	},
}

// within checks that something is over in time.
func (m *machine) within(limit time.Duration, do act) act {
	return func() error {
		from := time.Now()
		if err := do(); err != nil {
			return err
		}
		if took := time.Since(from); took > limit {
			return fmt.Errorf("it has taken %s", took)
		}
		return nil
	}
}

// otherLeads waits until another replica has the Lease.
func (m *machine) otherLeads(than *replica) error {
	for limit := time.Now().Add(time.Minute); time.Now().Before(limit); time.Sleep(100 * time.Millisecond) {
		if leads, _, err := m.leader(); err == nil && leads != than {
			return nil
		}
	}
	return errors.New("no other replica leads")
}

// overdue sends requests when late is closed, even if their senders have given them up.
func overdue(late <-chan struct{}) fault.Fault {
	return func(r *http.Request, next http.RoundTripper, _ <-chan struct{}) (*http.Response, error) {
		answer := make(chan error, 1)
		go func() {
			<-late
			response, err := next.RoundTrip(r.WithContext(context.Background()))
			if err == nil {
				_ = response.Body.Close()
			}
			answer <- err
		}()
		select {
		case <-answer:
		case <-r.Context().Done():
		}
		return nil, errors.New("connection reset by peer")
	}
}

// leads checks whether a replica says that it writes for a configuration.
func (r *replica) leads(want float64, configuration string) error {
	got, err := r.series(fmt.Sprintf("karmada_mirror_leading{configuration=%q}", configuration))
	if err == nil && got != want {
		err = fmt.Errorf("leading is %g for replica %s", got, r.name)
	}
	return err
}

// leadsAlone checks for a while that never more than one replica leads, and at the end that one does.
func (m *machine) leadsAlone(during time.Duration) act {
	return func() error {
		for end := time.Now().Add(during); ; time.Sleep(3 * time.Second) {
			n := 0
			for _, r := range m.replicas {
				for _, configuration := range []string{"karmada-system/karmada-mirror", "karmada-system/another"} {
					if r.leads(1, configuration) == nil {
						n++
					}
				}
			}
			if over := time.Now().After(end); n > 1 || over && n == 0 {
				return fmt.Errorf("%d replicas lead", n)
			} else if over {
				return nil
			}
		}
	}
}

// clocksDiffer shifts what is written into the Lease.
func (m *machine) clocksDiffer(by time.Duration) error {
	shifted := func(_ string, gr schema.GroupResource, _ string, o, _ apiserver.Object) (apiserver.Object, error) {
		for _, field := range []string{"renewTime", "acquireTime"} {
			text, _, _ := unstructured.NestedString(o, "spec", field)
			if at, err := time.Parse(time.RFC3339Nano, text); err == nil && gr == leases && !strings.HasPrefix(text, "0001") {
				setField(at.Add(by).UTC().Format("2006-01-02T15:04:05.000000Z07:00"), "spec", field)(&unstructured.Unstructured{Object: o})
			}
		}
		return o, nil
	}
	var first, later *replica
	return m.tell(m.page(to("m1")), m.quiet, m.admits(shifted, pause(time.Minute), func() (err error) { first, _, err = m.leader(); return err }, m.leadsAlone(2*time.Minute), func() (err error) {
		if later, _, err = m.leader(); later != first {
			return errors.New("another replica has taken the Lease")
		}
		return err
	}, m.edited(2), m.leaderDies, m.written(2)), m.quiet)
}
