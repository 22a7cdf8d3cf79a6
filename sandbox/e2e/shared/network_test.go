package shared

import (
	"path/filepath"

	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/sandbox/fault"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// behind are the flags of a daemon behind a proxy, without leader election, which the
// proxy would make fail too.
func behind(t *testing.T, p *fault.Proxy) []string {
	t.Helper()
	return append(throughProxy(t, p), "--leader-elect=false")
}

// throughProxy are the flags of a daemon that reads its configuration from a file, so that
// faults on ConfigMaps only hit sources. Its breaker is on: no mistake of a cache may trip
// it.
func throughProxy(t *testing.T, p *fault.Proxy) []string {
	t.Helper()
	return append(configFile(t), "--kubeconfig", p.Kubeconfig())
}

func configFile(t *testing.T) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	WriteFile(t, path, []byte(withBreaker(t)))
	return []string{"--config", path}
}

// sourcesBehindProxy is enough for the breaker to trip if all disappear from the cache,
// and small enough to be quick.
const sourcesBehindProxy = 60

var (
	listSources     = fault.Match{Verb: "list", Resource: "configmaps"}
	watchSources    = fault.Match{Verb: "watch", Resource: "configmaps"}
	listClusters    = fault.Match{Verb: "list", Resource: "clusters"}
	watchClusters   = fault.Match{Verb: "watch", Resource: "clusters"}
	watchNamespaces = fault.Match{Verb: "watch", Resource: "namespaces"}
	watchWorks      = fault.Match{Verb: "watch", Resource: "works"}
	throttled       = fault.Refuse(apierrors.NewTooManyRequests("injected", 1))
	broken          = fault.Refuse(apierrors.NewInternalError(errors.New("injected")))
)

// TestSourceListsFail makes the cache believe that there are no sources.
func TestSourceListsFail(t *testing.T) {
	testListsFail(t, "source", listSources, watchSources, fewerSources)
}

// TestClusterListsFail makes the cache believe that there are no Clusters.
func TestClusterListsFail(t *testing.T) {
	testListsFail(t, "Cluster", listClusters, watchClusters, noClusters)
}

func TestNeverSynced(t *testing.T) {
	ns := Isolate(t)
	p := StartProxy(t)
	first := StartDaemon(t, behind(t, p)...)
	ids := CreatePages(t, ns, Both, 5)
	WantSources(t, ns)
	first.MustStop(t)
	f := NewFault(t, "Sources' informer never synced at the start", ns)
	rules := []*fault.Rule{p.Inject(listSources, fault.Drop()), p.Inject(watchSources, fault.Drop())}
	d := SpawnDaemon(t, append(behind(t, p), "--list-deadline", "2s")...)
	Eventually(t, "the daemon to lead", Leads(d))
	Eventually(t, "three attempts to list", func(context.Context) error {
		if hits := rules[0].Hits() + rules[1].Hits(); hits < 3 {
			return fmt.Errorf("%d so far", hits)
		}
		return nil
	})
	if err := d.Probe(t.Context(), "/readyz"); err == nil {
		t.Error("the daemon reports that it is ready")
	}
	f.WantNoDeletes()
	for _, r := range rules {
		r.Remove()
	}
	Change(t, ConfigMaps, ns, "page-0", SetField("two", "data", "key"))
	f.Allow(ids[1], Push, Pull)
	Remove(t, ConfigMaps, ns, "page-1")
	f.Heal()
	f.Converge(Patience)
}

// withBreaker is the configuration of a test with the breaker on, which no mistake of a
// cache may trip.
func withBreaker(t *testing.T, others ...string) string {
	return strings.Replace(Resources(t, append(others, "configmaps")...), BreakerOff, BreakerOn, 1)
}

// newProxyFault starts a row for a fault between a daemon and its API server, with
// mirrored sources.
func newProxyFault(t *testing.T, name string, sources int, flags ...string) (*FaultRow, *fault.Proxy, *Daemon, []render.Identity) {
	t.Helper()
	ns := Isolate(t)
	p := StartProxy(t)
	d := StartDaemon(t, append(behind(t, p), flags...)...)
	ids := CreateHeldPages(t, ns, Both, sources)
	WantSources(t, ns)
	f := NewFault(t, name, ns)
	return f, p, d, ids
}

// settled waits until a daemon has nothing to do.
func settled(d *Daemon) func(context.Context) error {
	return func(ctx context.Context) error {
		all, err := d.Series(ctx)
		if err != nil {
			return err
		}
		if added, ended := all[`workqueue_adds_total{name="mirror"}`], all[`workqueue_work_duration_seconds_count{name="mirror"}`]; ended < added {
			return fmt.Errorf("%g syncs are pending", added-ended)
		}
		return nil
	}
}

// fewerSources waits until the cache has lost the current sources. It does not wait for
// zero: the metric counts the sources of all namespaces, and sources that other tests
// create after the list are seen.
func fewerSources(t *testing.T, d *Daemon) func(context.Context) error {
	const series = `karmada_mirror_sources{resource="configmaps"}`
	before := d.Number(t, series)
	return func(ctx context.Context) error {
		now, err := d.Metric(ctx, series)
		if err == nil && now > before-sourcesBehindProxy/2 {
			err = fmt.Errorf("%s is %g and was %g", series, now, before)
		}
		return err
	}
}

func noClusters(_ *testing.T, d *Daemon) func(context.Context) error {
	return d.WantMetric(`karmada_mirror_refused_sources{reason="UnknownCluster"}`, float64(sourcesBehindProxy))
}

// emptyFor is how long lists are empty. The daemon acts on a believed list within seconds:
// it syncs everything again, and a deletion settles for one second.
const emptyFor = 12 * time.Second

// testListsFail answers with errors, then for a while with empty lists, which the daemon's
// cache believes.
func testListsFail(t *testing.T, what string, list, watch fault.Match, believed func(*testing.T, *Daemon) func(context.Context) error) {
	f, p, d, ids := newProxyFault(t, fmt.Sprintf("Lists of %ss: errors 500, then empty for %s", what, emptyFor), sourcesBehindProxy)
	ns, emptied := f.Namespace, believed(t, d)
	errors500 := []*fault.Rule{p.Inject(list, broken), p.Inject(watch, broken)}
	p.End(watch)
	Eventually(t, "an error", func(context.Context) error { return Hit(errors500...) })
	empty := []*fault.Rule{p.Inject(list, fault.EmptyList()), p.Inject(watch, fault.Chain(fault.Expire(), fault.EmptyList()))}
	for _, r := range errors500 {
		r.Remove()
	}
	Eventually(t, "the empty list to be served", func(context.Context) error { return Took(empty...) })
	Eventually(t, "the empty list to be believed", emptied)
	Pass(t, emptyFor)
	Eventually(t, "everything missing from the list to be synced", settled(d))
	f.WantNoDeletes()
	if held := heldIn(t, ns); held > 0 {
		t.Errorf("%d Works are held because of the list alone", held)
	}
	for _, r := range empty {
		r.Remove()
	}
	f.Heal()
	expire := p.Inject(watch, fault.Expire()) // forces a new list
	p.End(watch)
	Change(t, ConfigMaps, ns, "page-0", SetField("two", "data", "key"))
	f.Allow(ids[1], Push, Pull)
	Remove(t, ConfigMaps, ns, "page-1")
	Eventually(t, "the watch to expire", func(context.Context) error { return Hit(expire) })
	expire.Remove()
	f.Converge(2 * Patience)
	if held := heldIn(t, ns); held > 0 {
		t.Errorf("%d Works are still held", held)
	}
}

// heldIn counts the Works of a namespace's sources that are marked as held. The metric
// counts all namespaces.
func heldIn(t *testing.T, ns string) (held int) {
	t.Helper()
	for _, work := range WorksOf(t, ns) {
		if _, marked := work.GetAnnotations()[render.HeldKey]; marked {
			held++
		}
	}
	return held
}

func TestTruncatedLists(t *testing.T) {
	ns := Isolate(t)
	p := StartProxy(t)
	CreatePages(t, ns, Both, sourcesBehindProxy)
	first := StartDaemon(t, behind(t, p)...)
	WantSources(t, ns)
	first.MustStop(t)
	f := NewFault(t, "Lists of sources truncated after 3 objects, at a restart", ns)
	rules := []*fault.Rule{p.Inject(listSources, fault.TruncatedList(3)), p.Inject(watchSources, fault.TruncatedList(3))}
	d := StartDaemon(t, behind(t, p)...)
	Eventually(t, "all sources to be synced", AtLeastSyncs(d, 2*sourcesBehindProxy))
	Eventually(t, "the queue to be empty", settled(d))
	Eventually(t, "a list to be cut short", func(context.Context) error { return Took(rules...) })
	Settle(t)
	f.WantNoDeletes()
	for _, r := range rules {
		r.Remove()
	}
	p.Cut()
	Change(t, ConfigMaps, ns, "page-0", SetField("two", "data", "key"))
	f.Heal()
	f.Converge(Patience)
}

func TestBookmarkSwallowed(t *testing.T) {
	ns := Isolate(t)
	p := StartProxy(t)
	CreatePages(t, ns, Both, 5)
	f := NewFault(t, "The bookmark that ends a streaming list never comes (deadline 2 s instead of 30 s)", ns)
	swallowed := p.Inject(fault.Match{Verb: "watch"}, fault.SwallowBookmarks())
	f.Note = "the fault stays; from the start of the daemon"
	f.Heal()
	d := SpawnDaemon(t, append(behind(t, p), "--list-deadline", "2s")...)
	f.Converge(Patience)
	if d.Logged("a list has stalled: restarting it") == 0 || Hit(swallowed) != nil {
		t.Errorf("no list has stalled, or no watch has hit the fault: %d hits", swallowed.Hits())
	}
	if err := d.Probe(t.Context(), "/readyz"); err != nil {
		t.Error(err)
	}
}

func TestStaleList(t *testing.T) {
	ns := Isolate(t)
	p := StartProxy(t)
	stale := fault.NewRecording()
	recording := p.Inject(watchSources, stale.Record())
	CreatePages(t, ns, Both, 5)
	first := StartDaemon(t, behind(t, p)...)
	WantSources(t, ns)
	Change(t, ConfigMaps, ns, "page-0", SetField("two", "data", "key"))
	Remove(t, ConfigMaps, ns, "page-1")
	Create(t, ConfigMaps, ConfigMap(ns, "page-new", Both, "one"))
	WantSources(t, ns)
	first.MustStop(t)
	recording.Remove()
	f := NewFault(t, "A stale list of sources, and no events, after a restart", ns)
	replay := p.Inject(watchSources, stale.Replay())
	d := StartDaemon(t, behind(t, p)...)
	Eventually(t, "the stale list to be served", func(context.Context) error { return Took(replay) })
	Eventually(t, "all sources to be synced", AtLeastSyncs(d, 6))
	Eventually(t, "the queue to be empty", settled(d))
	Settle(t)
	if err := Disagreement(t.Context(), ns, ConfigMaps); err != nil {
		t.Errorf("the daemon believed the stale list: %v", err)
	}
	f.WantNoDeletes()
	replay.Remove()
	Change(t, ConfigMaps, ns, "page-2", SetField("two", "data", "key"))
	f.Heal()
	f.Converge(Patience)
}

// testUnreliable mirrors sources, and then changes to them, through a proxy that makes
// some calls fail all the time.
func testUnreliable(t *testing.T, name string, inject func(*fault.Proxy) []*fault.Rule) {
	ns := Isolate(t)
	p := StartProxy(t)
	rules := inject(p)
	f := NewFault(t, name, ns)
	f.Note = "the fault stays; from the last change"
	StartDaemon(t, behind(t, p)...)
	ids := CreatePages(t, ns, Both, 20)
	WantSources(t, ns)
	Workload(t, f, ns, ids)
	f.Heal()
	f.Converge(Patience)
	for i, r := range rules {
		if r.Hits() < 10 {
			t.Errorf("fault %d has hit only %d requests", i, r.Hits())
		}
	}
}

func TestThrottled(t *testing.T) {
	testUnreliable(t, "30 % of all calls answered 429", func(p *fault.Proxy) []*fault.Rule {
		return []*fault.Rule{p.Inject(fault.Match{Share: 0.3}, throttled)}
	})
}

func TestFlaky(t *testing.T) {
	testUnreliable(t, "10 % of all calls reset, 9 % answered 500, half of the rest 100 ms late", func(p *fault.Proxy) []*fault.Rule {
		return []*fault.Rule{
			p.Inject(fault.Match{Share: 0.1}, fault.Reset()),
			p.Inject(fault.Match{Share: 0.1}, broken),
			p.Inject(fault.Match{Share: 0.5}, fault.Delay(100*time.Millisecond)),
		}
	})
}

// TestWorksThrottled refuses lists and watches of Works for longer than a list may take:
// the cache is old, and must be kept.
func TestWorksThrottled(t *testing.T) {
	const deadline, refused = 15 * time.Second, 35 * time.Second // client-go tries ten times for one list, a second apart
	f, p, d, ids := newProxyFault(t, fmt.Sprintf("Lists and watches of Works answered 429 for %s (deadline %s instead of 30 s)", refused, deadline), 20, "--list-deadline", deadline.String())
	before := generationsOf(t, f.Namespace)
	rules := []*fault.Rule{p.Inject(fault.Match{Verb: "list", Resource: "works"}, throttled), p.Inject(watchWorks, throttled)}
	p.End(watchWorks)
	Eventually(t, "a refused request", func(context.Context) error { return Hit(rules...) })
	Workload(t, f, f.Namespace, ids[:8])
	Pass(t, refused)
	f.WantNoDeletes()
	if stalls := d.Logged("a list has stalled: restarting it"); stalls > 0 {
		t.Errorf("refused lists were taken for stalled %d times", stalls)
	}
	for _, r := range f.Audit.Requests(t) {
		if _, there := before[r.ObjectRef.Namespace+"/"+r.ObjectRef.Name]; there && r.Verb == "create" && r.ObjectRef.Resource == "works" {
			t.Errorf("the daemon tried to create an existing Work: %+v", r)
		}
	}
	for _, r := range rules {
		r.Remove()
	}
	f.Heal()
	heard := p.Inject(watchWorks, fault.Delay(0))
	Workload(t, f, f.Namespace, ids[8:])
	f.Converge(2 * Patience)
	// client-go cannot be stopped until it retries, which may take a minute.
	Within(t, 2*Patience, "Works to be watched again", func(context.Context) error { return Hit(heard) })
}

func TestWatchExpired(t *testing.T) {
	f, p, _, ids := newProxyFault(t, "All watches cut with 410", 20)
	var rules []*fault.Rule
	for _, m := range []fault.Match{watchSources, watchWorks, watchClusters, {Verb: "watch", Resource: Definitions.Resource}} {
		rules = append(rules, p.Inject(m, fault.Expire()))
		p.End(m)
	}
	Workload(t, f, f.Namespace, ids)
	for _, r := range rules {
		Eventually(t, "the watches to expire", func(context.Context) error { return Hit(r) })
		r.Remove()
	}
	f.Heal()
	f.Converge(Patience)

	// Each of the watches has resumed, those of Works and Clusters too.
	work := ConfigMapWork(f.Namespace, ids[3].Name, Push)
	Remove(t, Works, work.Namespace, work.Name)
	WantSources(t, f.Namespace)
	key := f.Namespace + "/watched"
	selected := Plain(f.Namespace, "selected", "one")
	selected.SetAnnotations(map[string]string{render.ClusterSelectorAnnotation: key})
	Create(t, ConfigMaps, selected)
	t.Cleanup(func() { label(t, Push2, key, "") })
	label(t, Push2, key, "yes")
	MustWork(t, ConfigMapWork(f.Namespace, "selected", Push2))
}

func TestHalfOpen(t *testing.T) {
	f, p, _, ids := newProxyFault(t, "Connections half open (from the break on; client-go notices after 45 s)", 20)
	before := p.Connections()
	p.Strand()
	f.Heal()
	Workload(t, f, f.Namespace, ids)
	if err := Disagreement(t.Context(), f.Namespace, ConfigMaps); before == 0 || err == nil {
		t.Errorf("the connections (%d) were not stranded: everything is in sync at once", before)
	}
	f.Converge(2 * Patience)
}
