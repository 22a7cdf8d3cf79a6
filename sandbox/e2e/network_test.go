package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/sandbox/fault"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

// seed makes the proxies' choices repeatable.
const seed = 1

func startProxy(t *testing.T, kubeconfig string) *fault.Proxy {
	t.Helper()
	p, err := fault.Start(fault.Options{Kubeconfig: kubeconfig, Dir: t.TempDir(), Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("cannot close the proxy: %v", err)
		}
	})
	return p
}

// slice are the flags of a daemon that looks after one namespace and has a Lease
// of its own, so that others can run beside it. The namespace is swept up when the
// daemon has ended.
func slice(t *testing.T, namespace string) []string {
	t.Helper()
	t.Cleanup(func() { sweep(namespace) })
	path := filepath.Join(t.TempDir(), "config.yaml")
	text := configurationHead + breakerOn + fmt.Sprintf("resources:\n- {resource: configmaps, namespaces: [%s]}\n", namespace)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	rights := fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: %[1]s, namespace: %[2]s}
rules:
- {apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [%[1]s], verbs: [get, list, watch, update]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: %[1]s, namespace: %[2]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: %[1]s}
subjects: [{kind: ServiceAccount, name: %[3]s, namespace: %[2]s}]
`, namespace, system, account)
	if err := karmada.Apply(t.Context(), env.Config(), []byte(rights)); err != nil {
		t.Fatal(err)
	}
	return []string{"--config", path, "--leader-elect-resource-name", namespace}
}

// alone are the flags of such a daemon behind a proxy, without leader election:
// the proxy would fail that as well.
func alone(t *testing.T, p *fault.Proxy, namespace string) []string {
	t.Helper()
	return append(slice(t, namespace), "--kubeconfig", p.Kubeconfig(), "--leader-elect=false")
}

// sourcesBehindProxy is enough that losing sight of all of them would trip the
// breaker, and few enough to be quick.
const sourcesBehindProxy = 60

var (
	listSources   = fault.Match{Verb: "list", Resource: "configmaps"}
	watchSources  = fault.Match{Verb: "watch", Resource: "configmaps"}
	listClusters  = fault.Match{Verb: "list", Resource: "clusters"}
	watchClusters = fault.Match{Verb: "watch", Resource: "clusters"}
	watchWorks    = fault.Match{Verb: "watch", Resource: "works"}
	throttled     = fault.Refuse(apierrors.NewTooManyRequests("injected", 1))
	broken        = fault.Refuse(apierrors.NewInternalError(errors.New("injected")))
)

// TestFaultsSideBySide runs daemons for each fault, some at once: most of the time
// they wait. What takes longest comes first.
func TestFaultsSideBySide(t *testing.T) {
	for _, tc := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"ClusterReturns", testClusterReturns},
		{"ClusterGone", testClusterGone},
		{"Fleet", testFleet},
		{"SourcesFail", func(t *testing.T) { testListsFail(t, "source", listSources, watchSources, fewerSources) }},
		{"HalfOpen", testHalfOpen},
		{"WorksThrottled", testWorksThrottled},
		{"LaggingStandby", testLaggingStandby},
		{"ClustersFail", func(t *testing.T) { testListsFail(t, "Cluster", listClusters, watchClusters, noClusters) }},
		{"LeaderPaused", testLeaderPaused},
		{"StaleList", testStaleList},
		{"ConfigurationCycles", testConfigurationCycles},
		{"ForgedLabel", testForgedLabel},
		{"Contested", testContested},
		{"Throttled", testThrottled},
		{"Flaky", testFlaky},
		{"ClockAhead", func(t *testing.T) { testClockSkew(t, time.Hour) }},
		{"ClockBehind", func(t *testing.T) { testClockSkew(t, -time.Hour) }},
		{"NeverSynced", testNeverSynced},
		{"WatchExpired", testWatchExpired},
		{"TokenRotated", testTokenRotated},
		{"TruncatedLists", testTruncatedLists},
		{"BookmarkSwallowed", testBookmarkSwallowed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tc.run(t)
		})
	}
}

// wantSources waits until the Works of a namespace are as wanted.
func wantSources(t *testing.T, namespace string) {
	t.Helper()
	eventually(t, "the Works", func(ctx context.Context) error { return disagreement(ctx, namespace, configMaps) })
}

func testNeverSynced(t *testing.T) {
	ns := newNamespace(t)
	p := startProxy(t, env.kubeconfig)
	first := startDaemon(t, alone(t, p, ns)...)
	ids := createPages(t, ns, both, 5)
	wantSources(t, ns)
	if err := first.stop(); err != nil {
		t.Fatal(err)
	}
	f := newFault(t, "Sources' informer never synced at the start", ns)
	f.only(ids, push, pull)
	rules := []*fault.Rule{p.Inject(listSources, fault.Drop()), p.Inject(watchSources, fault.Drop())}
	d := spawnDaemon(t, append(alone(t, p, ns), "--list-deadline", "2s")...)
	eventually(t, "the daemon to lead", leads(d))
	eventually(t, "three attempts to list", func(context.Context) error {
		if hits := rules[0].Hits() + rules[1].Hits(); hits < 3 {
			return fmt.Errorf("%d so far", hits)
		}
		return nil
	})
	if err := d.probe("/readyz"); err == nil {
		t.Error("the daemon says that it is ready")
	}
	f.wantNoDeletes()
	for _, r := range rules {
		r.Remove()
	}
	change(t, configMaps, ns, "page-0", setField("two", "data", "key"))
	remove(t, configMaps, ns, "page-1")
	f.allow(ids[1], push, pull)
	f.heal()
	f.converge(patience)
}

// newProxyFault is the measuring of a fault between a daemon and its API server,
// with sources that are mirrored.
func newProxyFault(t *testing.T, name string, sources int) (*faultRow, *fault.Proxy, *daemon, []render.Identity) {
	t.Helper()
	ns := newNamespace(t)
	p := startProxy(t, env.kubeconfig)
	d := startDaemon(t, alone(t, p, ns)...)
	ids := createPages(t, ns, both, sources)
	wantSources(t, ns)
	f := newFault(t, name, ns)
	f.only(ids, push, push2, pull)
	return f, p, d, ids
}

// fewerSources waits until the cache has lost what it has now. It does not wait for
// none: the sources of all namespaces are counted, and what other tests create after
// the list is seen.
func fewerSources(t *testing.T, d *daemon) func(context.Context) error {
	const series = `karmada_mirror_sources{resource="configmaps"}`
	before := d.number(t, series)
	return func(context.Context) error {
		now, err := d.reading(series)
		if err == nil && now > before-sourcesBehindProxy/2 {
			err = fmt.Errorf("%s is %g and was %g", series, now, before)
		}
		return err
	}
}

func noClusters(_ *testing.T, d *daemon) func(context.Context) error {
	return d.wantMetric(`karmada_mirror_refused_sources{reason="UnknownCluster"}`, fmt.Sprint(sourcesBehindProxy))
}

// testListsFail answers with errors, then for a minute with empty lists, which the
// daemon's cache believes.
func testListsFail(t *testing.T, what string, list, watch fault.Match, believed func(*testing.T, *daemon) func(context.Context) error) {
	f, p, d, ids := newProxyFault(t, fmt.Sprintf("Lists of %ss: errors 500, then empty for 60 s", what), sourcesBehindProxy)
	ns, emptied := f.namespace, believed(t, d)
	errors500 := []*fault.Rule{p.Inject(list, broken), p.Inject(watch, broken)}
	p.End(watch)
	eventually(t, "an error", func(context.Context) error { return hit(errors500...) })
	empty := []*fault.Rule{p.Inject(list, fault.EmptyList()), p.Inject(watch, fault.Chain(fault.Expire(), fault.EmptyList()))}
	for _, r := range errors500 {
		r.Remove()
	}
	eventually(t, "the empty list to be believed", emptied)
	pass(t, time.Minute)
	f.wantNoDeletes()
	if err := d.wantMetric(held("configmaps"), "0")(t.Context()); err != nil {
		t.Errorf("what only a list speaks against is held: %v", err)
	}
	for _, r := range empty {
		r.Remove()
	}
	f.heal()
	expire := p.Inject(watch, fault.Expire()) // so that it is listed anew
	p.End(watch)
	change(t, configMaps, ns, "page-0", setField("two", "data", "key"))
	remove(t, configMaps, ns, "page-1")
	f.allow(ids[1], push, pull)
	eventually(t, "the watch to expire", func(context.Context) error { return hit(expire) })
	expire.Remove()
	f.converge(2 * patience)
	eventually(t, "nothing to be held", d.wantMetric(held("configmaps"), "0"))
}

func hit(rules ...*fault.Rule) error {
	for _, r := range rules {
		if r.Hits() > 0 {
			return nil
		}
	}
	return errors.New("no request has come")
}

func testTruncatedLists(t *testing.T) {
	ns := newNamespace(t)
	p := startProxy(t, env.kubeconfig)
	ids := createPages(t, ns, both, sourcesBehindProxy)
	first := startDaemon(t, alone(t, p, ns)...)
	wantSources(t, ns)
	if err := first.stop(); err != nil {
		t.Fatal(err)
	}
	f := newFault(t, "Lists of sources that end after 3 objects, at a restart", ns)
	f.only(ids, push, pull)
	rules := []*fault.Rule{p.Inject(listSources, fault.TruncatedList(3)), p.Inject(watchSources, fault.TruncatedList(3))}
	d := startDaemon(t, alone(t, p, ns)...)
	eventually(t, "all to be looked at", atLeastSyncs(d, 2*sourcesBehindProxy))
	f.wantNoDeletes()
	for _, r := range rules {
		r.Remove()
	}
	p.Cut()
	change(t, configMaps, ns, "page-0", setField("two", "data", "key"))
	f.heal()
	f.converge(patience)
}

func testBookmarkSwallowed(t *testing.T) {
	ns := newNamespace(t)
	p := startProxy(t, env.kubeconfig)
	ids := createPages(t, ns, both, 5)
	f := newFault(t, "The bookmark that ends a streaming list never comes (deadline 2 s instead of 30 s)", ns)
	f.only(ids, push, pull)
	p.Inject(fault.Match{Verb: "watch"}, fault.SwallowBookmarks())
	f.note = "the fault stays; from the daemon's start on"
	f.heal()
	d := spawnDaemon(t, append(alone(t, p, ns), "--list-deadline", "2s")...)
	f.converge(patience)
	if d.logged("a list has stalled: beginning anew") == 0 {
		t.Error("no list has stalled")
	}
	if err := d.probe("/readyz"); err != nil {
		t.Error(err)
	}
}

func testStaleList(t *testing.T) {
	ns := newNamespace(t)
	p := startProxy(t, env.kubeconfig)
	stale := fault.NewRecording()
	recording := p.Inject(watchSources, stale.Record())
	ids := createPages(t, ns, both, 5)
	first := startDaemon(t, alone(t, p, ns)...)
	wantSources(t, ns)
	change(t, configMaps, ns, "page-0", setField("two", "data", "key"))
	remove(t, configMaps, ns, "page-1")
	create(t, configMaps, configMap(ns, "page-new", both, "one"))
	wantSources(t, ns)
	if err := first.stop(); err != nil {
		t.Fatal(err)
	}
	recording.Remove()
	f := newFault(t, "A stale list of sources, and no news, after a restart", ns)
	f.only(append(ids, render.Identity{Kind: "ConfigMap", Namespace: ns, Name: "page-new"}), push, pull)
	replay := p.Inject(watchSources, stale.Replay())
	d := startDaemon(t, alone(t, p, ns)...)
	eventually(t, "all to be looked at", atLeastSyncs(d, 6))
	pass(t, 2*time.Second) // for longer than a deletion takes to settle
	if err := disagreement(t.Context(), ns, configMaps); err != nil {
		t.Errorf("the daemon believed the stale list: %v", err)
	}
	f.wantNoDeletes()
	replay.Remove()
	change(t, configMaps, ns, "page-2", setField("two", "data", "key"))
	f.heal()
	f.converge(patience)
}

// workload changes sources in all ways, so that Works are created, updated,
// retargeted and deleted.
func workload(t *testing.T, f *faultRow, namespace string, ids []render.Identity) {
	t.Helper()
	for i, id := range ids {
		switch i % 4 {
		case 0:
			change(t, configMaps, namespace, id.Name, setField("two", "data", "key"))
		case 1:
			change(t, configMaps, namespace, id.Name, setAnnotation(render.ClustersAnnotation, push2))
			f.allow(id, push, pull)
		case 2:
			remove(t, configMaps, namespace, id.Name)
			f.allow(id, push, pull)
		}
	}
}

// testUnreliable mirrors sources, and then changes of them, through a proxy that
// fails some calls all the time.
func testUnreliable(t *testing.T, name string, inject func(*fault.Proxy) []*fault.Rule) {
	ns := newNamespace(t)
	p := startProxy(t, env.kubeconfig)
	rules := inject(p)
	f := newFault(t, name, ns)
	f.note = "the fault stays; from the last change on"
	startDaemon(t, alone(t, p, ns)...)
	ids := createPages(t, ns, both, 20)
	f.only(ids, push, push2, pull)
	wantSources(t, ns)
	workload(t, f, ns, ids)
	f.heal()
	f.converge(patience)
	for i, r := range rules {
		if r.Hits() < 10 {
			t.Errorf("fault %d has hit %d requests only", i, r.Hits())
		}
	}
}

func testThrottled(t *testing.T) {
	testUnreliable(t, "30 % of all calls answered 429", func(p *fault.Proxy) []*fault.Rule {
		return []*fault.Rule{p.Inject(fault.Match{Share: 0.3}, throttled)}
	})
}

func testFlaky(t *testing.T) {
	testUnreliable(t, "10 % of all calls reset, 9 % answered 500, half of the rest 100 ms late", func(p *fault.Proxy) []*fault.Rule {
		return []*fault.Rule{
			p.Inject(fault.Match{Share: 0.1}, fault.Reset()),
			p.Inject(fault.Match{Share: 0.1}, broken),
			p.Inject(fault.Match{Share: 0.5}, fault.Delay(100*time.Millisecond)),
		}
	})
}

// testWorksThrottled refuses to list or watch Works for longer than a list may take:
// what has been cached is old, and not to be thrown away.
func testWorksThrottled(t *testing.T) {
	f, p, d, ids := newProxyFault(t, "Lists and watches of Works answered 429 for 90 s", 20)
	before := generationsOf(t, f.namespace)
	rules := []*fault.Rule{p.Inject(fault.Match{Verb: "list", Resource: "works"}, throttled), p.Inject(watchWorks, throttled)}
	p.End(watchWorks)
	eventually(t, "a refusal", func(context.Context) error { return hit(rules...) })
	workload(t, f, f.namespace, ids[:8])
	pass(t, 90*time.Second)
	f.wantNoDeletes()
	if stalls := d.logged("a list has stalled: beginning anew"); stalls > 0 {
		t.Errorf("what was refused was taken for stalled, %d times", stalls)
	}
	for _, r := range f.audit.requests(t) {
		if _, there := before[r.ObjectRef.Namespace+"/"+r.ObjectRef.Name]; there && r.Verb == "create" && r.ObjectRef.Resource == "works" {
			t.Errorf("a Work that is there was to be created: %+v", r)
		}
	}
	for _, r := range rules {
		r.Remove()
	}
	f.heal()
	heard := p.Inject(watchWorks, fault.Delay(0))
	workload(t, f, f.namespace, ids[8:])
	f.converge(2 * patience)
	// Until it tries again, which takes it up to a minute, client-go cannot be stopped.
	within(t, 2*patience, "Works to be watched again", func(context.Context) error { return hit(heard) })
}

func testWatchExpired(t *testing.T) {
	f, p, _, ids := newProxyFault(t, "All watches cut with 410", 20)
	var rules []*fault.Rule
	for _, m := range []fault.Match{watchSources, watchWorks, watchClusters, {Verb: "watch", Resource: crds.Resource}} {
		rules = append(rules, p.Inject(m, fault.Expire()))
		p.End(m)
	}
	workload(t, f, f.namespace, ids)
	for _, r := range rules {
		eventually(t, "the watches to expire", func(context.Context) error { return hit(r) })
		r.Remove()
	}
	f.heal()
	f.converge(patience)
}

func testHalfOpen(t *testing.T) {
	f, p, _, ids := newProxyFault(t, "Connections half open (from the break on; client-go notices after 45 s)", 20)
	p.Strand()
	f.heal()
	workload(t, f, f.namespace, ids)
	f.converge(2 * patience)
}
