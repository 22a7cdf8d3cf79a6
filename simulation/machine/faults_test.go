package machine

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/daemon"
	"github.com/karmada-target/karmada-mirror/simulation/apiserver"
	"github.com/karmada-target/karmada-mirror/simulation/fault"
	"github.com/karmada-target/karmada-mirror/simulation/model"
)

// faults are stories of networks and API servers that fail.
var faults = map[string]func(*machine) error{
	"QuietWithoutBookmarks": func(m *machine) error { // a watch that stands its time ends a failure
		degraded := `karmada_mirror_watch_state{resource="configmaps",state="degraded"}`
		return m.tell(m.page(to("m1")), m.quiet, m.fails(watchOf("configmaps"), throttled), m.ended("configmaps"), pause(2*time.Minute), m.counted(degraded, 1), m.calm,
			m.fails(watchOf("configmaps"), fault.NoBookmarks()), pause(15*time.Minute), m.counted(degraded, 0), m.quiet)
	},
	"MovesBackUnseen": func(m *machine) error { // a proof does not change by turns what the cache still asks for
		preserved := map[string]string{clustersKey: "m2", "karmada.target/preserve-on-deletion": "true"}
		return m.tell(m.page(preserved), m.quiet, m.page(to("m1")), pause(300*time.Millisecond), m.shut("configmaps"), m.page(preserved), pause(5*time.Minute), m.logged("wrote a Work", 2, 3))
	},
	"MaintenanceEndsBeforeItSays": func(m *machine) error { // what has asked is not to wait for an hour
		return m.tell(m.page(to("m1")), m.quiet, m.fails(fault.Match{}, fault.Refuse(apierrors.NewTooManyRequests("maintenance", 3600))), m.ended(""), pause(2*time.Minute), m.calm, m.edited(2), pause(15*time.Minute), m.isWritten(2))
	},
	"ConfigurationMayNotBeRead": func(m *machine) error { // any more
		refused := fault.Refuse(apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "karmada-mirror", errors.New("no")))
		return m.tell(m.page(to("m1")), m.quiet, m.fails(fault.Match{Resource: "configmaps", Namespace: "karmada-system"}, refused), m.ended("configmaps"), pause(10*time.Minute),
			m.counted(`karmada_mirror_watch_state{resource="configuration",state="degraded"}`, 1), m.quiet)
	},
	"StatusesMayNotBeWritten": func(m *machine) error {
		refused := fault.Refuse(apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: "deployments"}, "web", errors.New("no")))
		return m.tell(m.web(to("m1")), m.quiet, m.fails(fault.Match{Verb: "patch", Resource: "deployments"}, refused), m.puts(inA(deployment), to("m1,m2")), pause(90*time.Minute),
			m.counted(`karmada_mirror_failing_sources{queue="status"}`, 1), m.logged("cannot write statuses", 2, 2), m.quiet)
	},
	"ProxyKeepsASilentWatchOpen": func(m *machine) error {
		proxy := fault.NewGate()
		return m.tell(m.page(to("m1")), m.quiet, m.fails(watchOf("configmaps"), proxy.Events()), m.ended("configmaps"), pause(5*time.Second), func() error { proxy.Shut(); return nil }, m.calm,
			m.edited(2), pause(11*time.Minute), m.isWritten(2), m.quiet)
	},
	"ProxyHoldsBackEventsForGood": func(m *machine) error {
		proxy, degraded := fault.NewGate(), `karmada_mirror_watch_state{resource="configmaps",state="degraded"}`
		return m.tell(m.page(to("m1")), m.quiet, m.fails(watchOf("configmaps"), proxy.Events()), m.ended("configmaps"), pause(5*time.Second), func() error { proxy.Shut(); return nil }, pause(12*time.Minute),
			m.edited(2), m.stays(degraded, 1, time.Hour), m.isWritten(2), m.logged("a proxy may hold back its events", 2, 100), func() error { proxy.Open(); return nil }, m.counted(degraded, 0), m.quiet)
	},
	"WatchesFailInSilence": func(m *machine) error { // of client-go, which reports neither
		degraded := `karmada_mirror_watch_state{resource="configmaps",state="degraded"}`
		return m.tell(m.page(to("m1")), m.quiet, m.fails(watchOf("configmaps"), throttled), pause(15*time.Minute), m.stays(degraded, 1, time.Hour), m.calm, m.counted(degraded, 0),
			m.fails(watchOf("configmaps"), fault.Reset()), m.ended("configmaps"), m.edited(2), pause(3*time.Minute), m.stays(degraded, 1, time.Hour), m.isWritten(2), m.calm, m.counted(degraded, 0), m.quiet)
	},
	"WorksMayBeListedOnly": func(m *machine) error {
		refused := fault.Refuse(apierrors.NewForbidden(schema.GroupResource{Group: "work.karmada.io", Resource: "works"}, "", errors.New("no")))
		return m.tell(m.page(to("m1")), m.quiet, m.fails(watchOf("works"), refused), m.ended("works"), pause(5*time.Minute), m.isNotReady, pause(15*time.Minute), m.isNotReady, m.quiet, pause(2*time.Minute), m.isReady)
	},
	"LeaseIsShownAgain": func(m *machine) error {
		present := `karmada_mirror_leader_present{configuration="karmada-system/karmada-mirror"}`
		only := func(verbs ...string) act {
			return m.forbids(func(verb string, r apiserver.Ref) bool { return r.Resource == leases && !slices.Contains(verbs, verb) })
		}
		checked := func() error {
			_, err := m.store.Modify(apiserver.Ref{Resource: leases, Namespace: daemon.Namespace, Name: "karmada-mirror"}, "", func(o apiserver.Object) {
				(&unstructured.Unstructured{Object: o}).SetAnnotations(map[string]string{"karmada.target/checked": "now"})
			})
			return err
		}
		return m.tell(m.page(to("m1")), m.quiet, only("get", "list", "watch"), pause(time.Minute), m.stays(present, 0, 2*time.Minute), checked, m.stays(present, 0, 2*time.Minute),
			only("get", "list"), m.ended("leases"), m.stays(present, 0, 30*time.Minute), m.allows, pause(2*time.Minute), m.quiet, m.stays(present, 1, time.Minute))
	},
	"SourceListsFail":    func(m *machine) error { return m.listsFail("configmaps") },
	"ClusterListsFail":   func(m *machine) error { return m.listsFail("clusters") },
	"NamespaceListsFail": func(m *machine) error { return m.listsFail("namespaces") },
	"WorkListsFail":      func(m *machine) error { return m.listsFail("works") },
	"NeverSynced": func(m *machine) error {
		var from time.Time
		return m.tell(m.crowd(5, 0, to("m1,m2")), m.quiet, m.stopped, m.fails(watchOf("configmaps"), fault.Drop()), m.fails(fault.Match{Verb: "list", Resource: "configmaps", AllNamespaces: true}, fault.Drop()),
			now(&from), m.started, pause(2*time.Minute), m.isNotReady, m.deletes(&from, 0, 0), m.calm, m.edited(2), m.gone, m.quiet, m.isReady)
	},
	"TruncatedLists": func(m *machine) error {
		var from time.Time
		return m.tell(m.careful, m.crowd(60, 0, to("m1,m2")), m.quiet, m.stopped, m.misledFromStart("configmaps", fault.Truncate(3)), now(&from), m.started,
			pause(time.Minute), m.isReady, m.deletes(&from, 0, 0), m.held(0, 0), m.calm, m.expired("configmaps"), m.edited(2), m.quiet)
	},
	"BookmarkSwallowed": func(m *machine) error {
		return m.tell(m.crowd(5, 0, to("m1,m2")), m.stopped, m.fails(fault.Match{Verb: "watch"}, fault.SwallowBookmarks()), m.started, m.inSync,
			m.logged("a list has stalled: restarting it", 1, 100), m.isReady, m.calm, m.workload, m.quiet)
	},
	"StaleList": func(m *machine) error {
		var from time.Time
		stale := apiserver.NewStore()
		old := func(r *http.Request, _ http.RoundTripper, _ <-chan struct{}) (*http.Response, error) {
			return stale.NewServer().RoundTrip(r)
		}
		return m.tell(m.crowd(5, 0, to("m1,m2")), m.deleted(pageOf(4)), m.quiet, func() error { stale.Restore(m.store.Snapshot()); return nil }, m.edited(2), m.deleted(pageOf(1)), m.puts(pageOf(4), to("m1")), m.quiet,
			m.stopped, m.misledFromStart("configmaps", old), now(&from), m.started, pause(time.Minute), m.isReady, m.inSync, m.requests(&from, 0, 0, done(works)), m.calm, m.expired("configmaps"), m.edited(3), m.quiet)
	},
	"Throttled": func(m *machine) error { return m.unreliable(fault.Match{Share: 0.3}, throttled) },
	"Flaky": func(m *machine) error {
		return m.tell(m.fails(fault.Match{Share: 0.5}, fault.Delay(100*time.Millisecond)), m.fails(fault.Match{Share: 0.1}, broken), func() error {
			return m.unreliable(fault.Match{Share: 0.1}, fault.Reset())
		})
	},
	"AnswersLost": func(m *machine) error { return m.unreliable(fault.Match{Share: 0.3}, fault.LoseAnswer()) },
	"WorksThrottled": func(m *machine) error {
		var from time.Time
		return m.tell(m.crowd(20, 0, to("m1,m2")), m.quiet, now(&from), m.fails(watchOf("works"), throttled), m.fails(fault.Match{Verb: "list", Resource: "works"}, throttled), m.ended("works"),
			m.crowd(8, 1, to("m1,m2")), pause(35*time.Second), m.logged("a list has stalled", 0, 0), m.requests(&from, 0, 0, of(works, "create")), m.calm, m.workload, m.quiet)
	},
	"WatchesExpire": func(m *machine) error {
		all := []act{m.crowd(20, 0, to("m1,m2")), m.quiet}
		for _, resource := range append(watched, "customresourcedefinitions") {
			all = append(all, m.fails(watchOf(resource), fault.Expire()), m.ended(resource))
		}
		selected := map[string]string{selectorKey: "watched"}
		return m.tell(append(all, m.workload, pause(10*time.Second), m.calm, func() error { return m.deleteWork(target{pageOf(9), "m1"}) }, m.page(selected),
			m.cluster("m3", map[string]string{"watched": "yes"}), m.unserved, m.served, m.quiet)...)
	},
	"ServerAwayAtStart": func(m *machine) error {
		all := fault.Match{}
		return m.tell(m.stopped, m.page(to("m1")), m.fails(all, away), m.started, pause(10*time.Minute), m.logged("configuration is rejected", 0, 0), m.areAlive, m.calm, m.quiet)
	},
	"ServerRestarts": func(m *machine) error {
		return m.tell(m.crowd(20, 0, foreground), m.quiet, m.fails(fault.Match{}, fault.Reset()), m.ended(""), m.workload, pause(5*time.Second), m.calm, m.areAlive, m.quiet)
	},
	"ServerHangs": func(m *machine) error { // for longer than a Lease: the leader ends
		return m.tell(m.crowd(20, 0, foreground), m.quiet, m.fails(fault.Match{}, fault.Drop()), m.workload, pause(20*time.Second), m.calm, func() error { return await("the leader to end", m.hasLostLease) }, m.quiet)
	},
	"CreationsFail": func(m *machine) error { // KarmadaMirrorSyncsFailing
		creates := fault.Match{Verb: "create", Resource: "works"}
		return m.tell(m.crowd(6, 0, to("m1")), m.quiet, m.fails(creates, away), m.page(to("m1,m2")), m.workload, pause(10*time.Minute), m.calm, m.quiet)
	},
	"WritesAreSwallowed": func(m *machine) error { // on the way to one execution namespace
		return m.tell(m.page(to("m1,m2")), m.quiet, m.fails(fault.Match{Verb: "patch", Resource: "works", Namespace: "karmada-es-m2"}, fault.Drop()), m.edited(2), pause(10*time.Second),
			m.edited(3), pause(90*time.Second), m.isWritten(3), m.calm, m.quiet)
	},
	"WritesOfSourcesFail": func(m *machine) error {
		acts := []act{m.crowd(3, 0, foreground), m.web(foreground), m.quiet}
		for i, f := range []fault.Fault{throttled, broken, conflicting, refusing, fault.Reset(), fault.Delay(3 * time.Second), fault.DelayAnswer(3 * time.Second), fault.LoseAnswer()} {
			acts = append(acts, m.slowly("patch", "configmaps", f), m.slowly("patch", "deployments", f), m.puts(inA(deployment), to("m1")), m.puts(pageOf(1), to("m2")), pause(time.Second), m.page(foreground), m.changed(inA(deployment), i%3),
				m.deleted(pageOf(2)), pause(8*time.Second), m.quiet, m.crowd(3, 0, foreground), m.web(foreground), m.quiet)
		}
		return m.tell(acts...)
	},
	"EtcdRestored": func(m *machine) error {
		return m.tell(m.crowd(8, 0, to("m1,m2")), m.web(to("m1")), m.quiet, func() error { m.keep(); return nil },
			m.workload, m.quiet, pause(10*time.Minute), func() error { return m.restored(m.backup.etcd, m.backup.then) }, m.quiet, m.edited(3), m.deleted(pageOf(7)), m.quiet)
	},
	"EtcdRestoredDuringAStart": func(m *machine) error { // when some lists are from before, and the Works are not listed yet
		return m.tell(m.crowd(2, 0, to("m1")), m.quiet, func() error { m.keep(); return nil },
			m.workload, m.space("a", nil, map[string]string{"tier": "gold"}), m.quiet, pause(10*time.Minute), m.stopped, m.listedLate("works"), m.started, pause(2*time.Second), func() error { return m.restored(m.backup.etcd, m.backup.then) }, pause(3*time.Minute), m.edited(3), m.quiet)
	},
	"EtcdRestoredAtOnce": func(m *machine) error { // when only the caches of the sources are ahead
		return m.tell(m.crowd(8, 0, to("m1")), m.quiet, func() error { m.keep(); return nil },
			m.fails(fault.Match{Verb: "create", Resource: "works"}, away), m.fails(fault.Match{Verb: "patch", Resource: "works"}, away), m.crowd(200, 1, to("m1")), pause(time.Second), func() error { return m.restored(m.backup.etcd, m.backup.then) }, pause(3*time.Minute), m.calm, m.edited(3), m.quiet)
	},
	"EveryWriteIsTheLast": func(m *machine) error { return m.everyWrite() },
	// Rights and admission.
	"NoRightToWrite": func(m *machine) error {
		return m.tell(m.crowd(6, 0, to("m1")), m.quiet, m.forbids(func(verb string, r apiserver.Ref) bool {
			return r.Resource == works && verb != "get" && verb != "list" && verb != "watch"
		}),
			m.page(to("m1,m2")), m.workload, m.counted(`karmada_mirror_refused_sources{reason="NotAuthorized"}`, 7), pause(10*time.Minute), m.allows, m.quiet)
	},
	"ConfigurationIsForbidden": func(m *machine) error {
		return m.tell(m.page(to("m1")), m.stopped, m.forbids(func(_ string, r apiserver.Ref) bool {
			return r.Resource == configMaps && r.Namespace == "karmada-system"
		}), m.edited(2), m.started,
			pause(10*time.Minute), m.nothingIsThere, m.areAlive, m.leaderless, m.allows, m.quiet)
	},
	"EveryCreationIsDenied": func(m *machine) error {
		return m.tell(m.crowd(6, 0, to("m1")), m.quiet, m.admits(denies("CREATE"), m.page(to("m1,m2")), m.counted(`karmada_mirror_refused_sources{reason="RenderFailed"}`, 1), m.workload, pause(10*time.Minute), m.runs("status -A --failed", "page-0")), m.quiet)
	},
	"DeletionsAreDenied": func(m *machine) error {
		return m.tell(m.crowd(20, 0, foreground), m.quiet, m.admits(denies("DELETE"), m.workload, pause(time.Minute), func() error { return m.hasContent(pageOf(1), "2") }), m.quiet)
	},
	"WebhookAltersWorks": func(m *machine) error { // one write and one line for each
		var from time.Time
		const said = "admission alters the Work that is written: not writing it again"
		return m.tell(now(&from), m.admits(noted, m.crowd(20, 0, to("m1")), pause(5*time.Minute), m.requests(&from, 20, 20, of(works)), m.logged(said, 20, 20)), m.crowd(20, 1, to("m1")), m.quiet)
	},
}

// misledFromStart makes the next processes believe wrong lists.
func (m *machine) misledFromStart(resource string, f fault.Fault) act {
	return m.tellAll(m.fails(fault.Match{Verb: "list", Resource: resource, AllNamespaces: true}, f), m.fails(watchOf(resource), f))
}

func (m *machine) tellAll(acts ...act) act { return func() error { return m.tell(acts...) } }

// stays checks that a series of all replicas has a value all the time. Those that end by themselves are started again.
func (m *machine) stays(series string, want float64, d time.Duration) act {
	return func() (err error) {
		for end := time.Now().Add(d); err == nil && time.Now().Before(end); time.Sleep(15 * time.Second) {
			m.each((*replica).revive)
			m.each(func(r *replica) {
				if got, wrong := r.series(series); wrong == nil && got != want {
					err = errors.Join(err, fmt.Errorf("%s of replica %s is %g, not %g", series, r.name, got, want))
				}
			})
		}
		return err
	}
}

// ended ends the requests for a resource that are under way.
func (m *machine) ended(resource string) act {
	return func() error { m.each(func(r *replica) { r.layer.End(fault.Match{Resource: resource}) }); return nil }
}

// listsFail answers lists of a resource with errors, and then for a while with no items, which the caches
// believe.
func (m *machine) listsFail(resource string) error {
	var from time.Time
	return m.tell(m.careful, m.defaults("m3"), m.crowd(60, 0, foreground), m.quiet, now(&from), m.misled(resource, broken), pause(12*time.Second), m.calm,
		m.misled(resource, fault.Truncate(0)), pause(12*time.Second), m.deletes(&from, 0, 0), m.held(0, 0),
		m.calm, m.expired(resource), pause(time.Minute), m.edited(2), m.deleted(pageOf(1)), m.quiet, m.held(0, 0)) // an empty list of Works is believed until the next one
}

// unreliable makes requests fail all the time.
func (m *machine) unreliable(match fault.Match, f fault.Fault) error {
	return m.tell(m.fails(match, f), m.crowd(20, 0, foreground), m.inSync, m.workload, m.inSync, m.quiet)
}

// areAlive checks that all replicas run.
func (m *machine) areAlive() (err error) {
	m.each(func(r *replica) {
		select {
		case <-r.current.done:
			err = fmt.Errorf("replica %s has ended: %w", r.name, r.current.err)
		default:
		}
	})
	return err
}

// hasLostLease checks that a replica has ended because it lost its Lease.
func (m *machine) hasLostLease() (err error) {
	err = errors.New("no replica has lost its Lease")
	m.each(func(r *replica) {
		if r.hasEnded() && r.current.mustRestart() {
			err = nil
		}
	})
	return err
}

// restored restores etcd from a backup of some time.
func (m *machine) restored(backup apiserver.Snapshot, then *moment) error {
	m.store.Restore(backup)
	m.karmada.Restart()
	m.each(m.join)
	now := time.Now()
	m.history[len(m.history)-1].until = now
	m.history = append(m.history, &moment{World: then.World, from: now})
	for _, of := range m.targets() {
		m.touched[of] = true
	}
	return nil
}

// denies is an admission that denies one kind of writes of Works.
func denies(denied string) apiserver.Admission {
	return func(op string, gr schema.GroupResource, _ string, o, _ apiserver.Object) (apiserver.Object, error) {
		if op == denied && gr == works {
			err := apierrors.NewForbidden(gr, "", errors.New("ValidatingAdmissionPolicy 'no.example' with binding 'no.example' denied request: no"))
			err.ErrStatus.Reason, err.ErrStatus.Code = metav1.StatusReasonInvalid, http.StatusUnprocessableEntity
			return nil, err
		}
		return o, nil
	}
}

// noted is an admission that adds an annotation to the manifests of Works.
func noted(op string, gr schema.GroupResource, subresource string, o, _ apiserver.Object) (apiserver.Object, error) {
	if gr == works && op != "DELETE" && subresource == "" {
		if manifest, err := model.ManifestOf(&unstructured.Unstructured{Object: o}); err == nil {
			setField("by a webhook", "metadata", "annotations", "note.example/webhook")(manifest)
		}
	}
	return o, nil
}

// everyWrite kills the leader just before and just after each write of a scene.
func (m *machine) everyWrite() error {
	for _, isCarriedOut := range []bool{false, true} {
		for k := 1; ; k++ {
			leader, _, err := m.leader()
			if err != nil {
				return err
			}
			var mu sync.Mutex
			n, hasDied := 0, false
			leader.pass(fault.Match{}, func(r *http.Request, next http.RoundTripper, _ <-chan struct{}) (*http.Response, error) {
				mu.Lock()
				defer mu.Unlock()
				if r.Method == http.MethodGet || strings.Contains(r.URL.Path, "/leases/") || strings.HasSuffix(r.URL.Path, "/events") || hasDied {
					return next.RoundTrip(r)
				}
				if n++; n < k {
					return next.RoundTrip(r)
				}
				hasDied = true
				if isCarriedOut {
					_, _ = next.RoundTrip(r) // the answer is lost
				}
				leader.die()
				return nil, errors.New("power cut")
			})
			err = m.tell(m.page(foreground), m.web(to("m1,m2")), m.puts(pageOf(1), to("m1")), m.puts(pageOf(2), to("m2")), pause(time.Second), m.gone, m.puts(pageOf(1), to("m2")), m.changed(inA(deployment), k%4),
				m.deleted(pageOf(2)), pause(5*time.Second))
			if err != nil {
				return err
			}
			mu.Lock() // the last request may still be under way
			isDead := hasDied
			mu.Unlock()
			if isDead {
				leader.start()
			}
			if err := m.tell(m.quiet, m.deleted(inA(deployment)), m.deleted(pageOf(1)), m.quiet); err != nil {
				return fmt.Errorf("killed at write %d, carried out %t: %w", k, isCarriedOut, err)
			}
			if !isDead {
				if k < 10 {
					return fmt.Errorf("there are only %d writes", k)
				}
				break
			}
		}
	}
	return nil
}
