package mirror

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/wait"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/metrics"
	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/memory"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/mirror/write"
	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/watch"
)

const (
	onlyWidgets = `{"apiVersion": "mirror.karmada.target/v1alpha1", "kind": "MirrorConfiguration", "resources": [{"group": "example.io", "version": "v1", "resource": "widgets"}]}`
	released    = `finalizers ["example.io/other"] if it is 1 at 6`
)

func configure(t *testing.T, c *Controller, configuration string) {
	t.Helper()
	if err := c.Configure(config.Parts{config.Key: configuration}); err != nil {
		t.Fatal(err)
	}
}

func syncPage(t *testing.T, c *Controller) {
	t.Helper()
	if _, err := c.reconcile(t.Context(), sample.Page, write.Others); err != nil {
		t.Log("sync:", err)
	}
}

// TestForegroundReload: this daemon mirrors namespace "other"; the page in "shop" belongs to another daemon,
// which waits for its Work (say, of a member that is away). A reload of THIS configuration, without any
// change of its namespaces, must not touch the page. But departing() asks only whether the new
// configuration includes an object, not whether the old one did, and the watch covers all namespaces.
func TestForegroundReload(t *testing.T) {
	for name, change := range map[string]sample.Change{"Leaving": deleted, "Present": func(*unstructured.Unstructured) {}} {
		t.Run(name, func(t *testing.T) {
			server := newAPIServer(t)
			server.list(configMaps, inForeground("m1", finalized, change))
			server.list(render.WorksResource, sample.Work(sample.Asking("1", "m1"), "m1", sample.Terminating))
			c := newControllerOf(t, server, configured(`"other"`, "", ""), newFakeClock())
			configure(t, c, configured(`"other"`, "", `"holdAbove": {"works": 60}`)) // any other edit of the ConfigMap
			syncPage(t, c)
			if len(server.writes) > 0 {
				t.Errorf("another daemon's source was written: %v", server.writes)
			}
		})
	}
}

// TestForegroundResurrection: a source was deleted in the foreground, its Works are gone and so is our
// finalizer; another finalizer (cascade=foreground, Argo CD, a Service's load balancer...) keeps the
// object a little longer. Its workload must not come back to the members. But IsLeaving needs our
// finalizer, so it asks again.
func TestForegroundResurrection(t *testing.T) {
	server := newAPIServer(t)
	server.list(configMaps, inForeground("m1", deleted, func(u *unstructured.Unstructured) { u.SetFinalizers([]string{"example.io/other"}) }))
	c := newControllerOf(t, server, configured("", "", ""), newFakeClock())
	syncPage(t, c)
	if len(server.writes) > 0 {
		t.Errorf("the Works of a deleted source have been recreated: %v", server.writes)
	}
}

// TestForegroundDefinition: a CustomResourceDefinition is being deleted, and so all its objects. The watch of
// definitions lags, as in GoneWithItsDefinition of TestReconcile: there, the Work is held, because an
// absent source makes LiveFacts read the definition. A leaving one does not: its Work is deleted without
// approval.
func TestForegroundDefinition(t *testing.T) {
	server := newAPIServer(t)
	source := gadgetObject("m1")
	sample.Annotate(source, render.DeletionAnnotation, "foreground")
	finalized(source)
	deleted(source)
	server.list(widgets, source)
	server.list(render.WorksResource, sample.Work(gadgetObject("m1"), "m1"))
	server.list(state.DefinitionsResource, definitionObject())
	going := definitionObject()
	going.SetFinalizers([]string{"customresourcecleanup.apiextensions.k8s.io"})
	deleted(going)
	server.reply(widgetsDefinitionAt, going)
	c := newControllerOf(t, server, configured("", "", ""), newFakeClock())
	if _, err := c.reconcile(t.Context(), gadget, write.Others); err != nil {
		t.Fatal(err)
	}
	if want := []string{"hold m1 at 7"}; !slices.Equal(server.writes, want) {
		t.Errorf("got %v, want %v", server.writes, want)
	}
}

// TestForegroundConfigureRace: a worker syncs the source at each step of Configure: it must not drop the
// departure while it finds the source included still. The steps are those of Configure, with one sync between
// them.
func TestForegroundConfigureRace(t *testing.T) {
	server := newAPIServer(t)
	server.list(configMaps, inForeground("m1", finalized, deleted))
	server.list(render.WorksResource, sample.Work(sample.Asking("1", "m1"), "m1", sample.Terminating))
	c := newControllerOf(t, server, configured("", "", ""), newFakeClock())
	next, err := config.Parts{config.Key: onlyWidgets}.Parse()
	if err != nil {
		t.Fatal(err)
	}
	syncPage(t, c) // a worker of the leader
	last := c.caches.Configure(next)
	syncPage(t, c)
	c.memory.Depart(c.departing(last))
	syncPage(t, c)
	c.caches.Follow()
	syncPage(t, c) // enqueueEverything
	if !slices.Contains(server.writes, released) {
		t.Errorf("the finalizer stays: %v", server.writes)
	}
}

// TestForegroundWrittenMeanwhile: the resource leaves the configuration while a sync is about to set the
// finalizer (or has set it, and the watch has not shown it yet). Nothing remembers that it must go.
func TestForegroundWrittenMeanwhile(t *testing.T) {
	server := newAPIServer(t)
	server.list(configMaps, inForeground("m1"))
	c := newControllerOf(t, server, configured("", "", ""), newFakeClock())
	var once sync.Once
	server.onRead(pageAt, func() {
		once.Do(func() {
			if err := c.Configure(config.Parts{config.Key: onlyWidgets}); err != nil {
				t.Error(err)
			}
		})
	})
	syncPage(t, c)
	server.reply(pageAt, inForeground("m1", finalized)) // what has been written
	server.reply("PATCH "+pageAt, nil)
	for range 3 {
		syncPage(t, c)
	}
	if !slices.Contains(server.writes, released) {
		t.Errorf("the finalizer stays: %v", server.writes)
	}
}

// TestForegroundNoPath: a 404 that does not name the object proves nothing (see NoPath of TestReconcile): the
// group is not served for a moment. SetFinalizer takes it for the object's absence, and releaseFinalizer drops the
// departure.
func TestForegroundNoPath(t *testing.T) {
	server := newAPIServer(t)
	server.list(configMaps, inForeground("m1", finalized))
	c := newControllerOf(t, server, configured("", "", ""), newFakeClock())
	configure(t, c, onlyWidgets)
	server.reply(pageAt, &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound}})
	syncPage(t, c)
	server.reply(pageAt, nil) // it is served again
	syncPage(t, c)
	if !slices.Contains(server.writes, released) {
		t.Errorf("the finalizer stays: %v", server.writes)
	}
}

// TestForegroundRightsLeaveToo: with the chart, a resource that leaves the values loses its rights in the same
// helm upgrade (manifests/chart/templates/karmada/configuration.yaml). The finalizer cannot be removed any
// more, and no Event says so; each object is requested again for ever, every 30 s at the latest.
func TestForegroundRightsLeaveToo(t *testing.T) {
	server := newAPIServer(t)
	server.list(configMaps, inForeground("m1", finalized))
	c := newControllerOf(t, server, configured("", "", ""), newFakeClock())
	configure(t, c, onlyWidgets)
	server.reply("PATCH "+pageAt, apierrors.NewForbidden(configMaps.GroupResource(), "page", errors.New("no")))
	for range 5 {
		syncPage(t, c)
	}
	if got := reasons(c.noticed.Of(sample.Page)); got != string(judge.NotAuthorized) {
		t.Errorf("it is noticed for %q", got)
	}
	if n := len(server.writes); n > 1 { // others wait denialPeriod
		t.Errorf("%d attempts without a pause: %v", n, server.writes)
	}
}

// TestForegroundOneFreed: an administrator removes the finalizer of one object by hand. That proves no right: the others
// fail since they did.
func TestForegroundOneFreed(t *testing.T) {
	server, clock := newAPIServer(t), newFakeClock()
	server.list(configMaps, inForeground("m1", finalized))
	c := newControllerOf(t, server, configured("", "", ""), clock)
	configure(t, c, onlyWidgets)
	since, another := clock.Now(), sample.Numbered(2)
	c.finalizers.kept.Begin(place{configMaps.GroupResource(), "shop"}, another, mayNotRemove(configMaps))
	clock.Step(denialPeriod)
	server.reply(pageAt, inForeground("m1")) // freed
	syncPage(t, c)
	if got := failing(c.finalizers.kept.Failing()); !got.Since.Equal(since) {
		t.Errorf("%v fail, not since %v", got, since)
	}
	c.memory.Depart(map[render.Identity]memory.Departure{sample.Page: {Resource: configMaps, UID: inForeground("m1").GetUID(), At: clock.Now()}})
	server.reply(pageAt, inForeground("m1", finalized))
	server.reply("PATCH "+pageAt, nil)
	clock.Step(denialPeriod)
	syncPage(t, c)
	if got := failing(c.finalizers.kept.Failing()); got.Sources != 0 {
		t.Errorf("%v fail, though a finalizer could be removed", got)
	}
}

// TestForegroundDeniedElsewhere: the finalizer of one object cannot be written: in its namespace, the daemon has
// no right, or an admission plugin of the API server forbids updates of just this object (LimitRanger, for
// a PersistentVolumeClaim, which its owner can bring about by a LimitRange). The denial is noted for the
// whole resource, so that an object of another tenant, whose Works are gone, stays Terminating.
func TestForegroundDeniedElsewhere(t *testing.T) {
	server, clock := newAPIServer(t), newFakeClock()
	blog := sample.Namespace(nil)
	blog.SetName("blog")
	server.list(state.NamespacesResource, sample.Namespace(nil), blog)
	other := inForeground("m1", finalized, deleted)
	other.SetNamespace("blog")
	server.list(configMaps, inForeground("m1"), other)
	server.reply("PATCH "+pageAt, apierrors.NewForbidden(configMaps.GroupResource(), "page", errors.New("maximum storage usage per PersistentVolumeClaim is 1Gi, but request is 2Gi")))
	c := newControllerOf(t, server, configured("", "", ""), clock)
	for range 20 { // ten minutes
		for _, namespace := range []string{"shop", "blog"} { // both are due when the pause ends
			id := sample.Page
			id.Namespace = namespace
			if _, err := c.reconcile(t.Context(), id, write.Others); err != nil {
				t.Fatal(err)
			}
		}
		clock.Step(denialPeriod)
	}
	if !slices.Contains(server.writes, released) {
		t.Errorf("another tenant's object is still there: %v", server.writes)
	}
}

// TestForegroundTooLarge: the source is as large as etcd accepts, mostly managedFields, which no Work carries.
// The API server refuses the finalizer by its size, for ever; so the source should be mirrored without,
// as in MayNot, and an Event should say so. It is not mirrored at all, and nothing but the log says so.
func TestForegroundTooLarge(t *testing.T) {
	for name, refusal := range map[string]error{
		"API server": apierrors.NewRequestEntityTooLargeError("limit is 3145728"),
		"etcd":       apierrors.NewInternalError(errors.New("etcdserver: request is too large")),
		"no patch":   apierrors.NewMethodNotSupported(configMaps.GroupResource(), "patch"),
	} {
		t.Run(name, func(t *testing.T) {
			server, clock := newAPIServer(t), newFakeClock()
			server.list(configMaps, inForeground("m1"))
			server.reply("PATCH "+pageAt, refusal)
			c := newControllerOf(t, server, configured("", "", ""), clock)
			for range 5 {
				syncPage(t, c)
				clock.Step(time.Minute)
			}
			if !slices.Contains(server.writes, "create m1") || len(c.noticed.Of(sample.Page)) == 0 {
				t.Errorf("never mirrored, and noticed for %q: %v", reasons(c.noticed.Of(sample.Page)), server.writes)
			}
		})
	}
}

// TestForegroundBack: a resource leaves the configuration and comes back before its objects were synced (there
// are very many, or this is a standby), and discovery has not yet said (or does not say for a moment) which
// kind it is. Includes is false then. The page is Terminating, and its Work exists: without the finalizer
// it is gone before its Work.
func TestForegroundBack(t *testing.T) {
	server := newAPIServer(t)
	server.list(configMaps, inForeground("m1", finalized, deleted))
	server.list(render.WorksResource, sample.Work(sample.Asking("1", "m1"), "m1", sample.Terminating))
	c := newControllerOf(t, server, configured("", "", ""), newFakeClock())
	configure(t, c, onlyWidgets)
	server.serveNo(configMaps.GroupResource())
	configure(t, c, configured("", "", ""))
	syncPage(t, c)
	if len(server.writes) > 0 {
		t.Errorf("it is in the configuration, and its Work exists: %v", server.writes)
	}
}

// TestForegroundStaleRemoval: by the cache, the page asks for the background. By now, it asks for the foreground
// again, and has been deleted. RemoveFinalizer is decided by the cache and carried out on whatever the
// live read returns: nothing looks at that, although it has been read.
func TestForegroundStaleRemoval(t *testing.T) {
	server := newAPIServer(t)
	server.list(configMaps, inForeground("m1", finalized, func(u *unstructured.Unstructured) { sample.Annotate(u, render.DeletionAnnotation, "background") }))
	server.list(render.WorksResource, sample.Work(sample.Asking("1", "m1"), "m1"))
	server.reply("GET "+pageAt, inForeground("m1", finalized, deleted, sample.Version("9")))
	c := newControllerOf(t, server, configured("", "", ""), newFakeClock())
	syncPage(t, c)
	for _, write := range server.writes {
		if strings.HasPrefix(write, "finalizers") {
			t.Errorf("it asks for the foreground, and its Work exists: %v", server.writes)
		}
	}
}

// TestForegroundFinalizerHoldsUpWorks: a user adds the annotation to a source that has been mirrored for long,
// while updates of its resource fail (a webhook is down). Its Works exist already: waiting for the
// finalizer protects nothing. But no Work is repaired, updated or deleted until it is set, and what was
// refused before stays reported.
func TestForegroundFinalizerHoldsUpWorks(t *testing.T) {
	server := newAPIServer(t)
	server.list(configMaps, inForeground("m1"))
	server.list(render.WorksResource, sample.Work(sample.Asking("1", "m1"), "m1", sample.Edited))
	server.reply("PATCH "+pageAt, apierrors.NewInternalError(errors.New("failed calling webhook")))
	c := newControllerOf(t, server, configured("", "", ""), newFakeClock())
	syncPage(t, c)
	if !slices.Contains(server.writes, "update m1 at 7") {
		t.Errorf("an edited Work is not repaired: %v", server.writes)
	}
}

// TestForegroundUnansweredFinalizer: nothing is created as long as no one knows whether the finalizer is set.
func TestForegroundUnansweredFinalizer(t *testing.T) {
	server := newAPIServer(t)
	server.list(configMaps, inForeground("m1"))
	server.reply("PATCH "+pageAt, apierrors.NewTimeoutError("slow", 1))
	c := newControllerOf(t, server, configured("", "", ""), newFakeClock())
	for range 3 {
		syncPage(t, c)
	}
	if slices.Contains(server.writes, "create m1") {
		t.Errorf("%q", server.writes)
	}
	server.reply("PATCH "+pageAt, written("8"))
	syncPage(t, c)
	if !slices.Contains(server.writes, "create m1") {
		t.Errorf("once it is set: %q", server.writes)
	}
}

// TestForegroundSweep: like Written of TestSweep: a write that the watch has not shown yet is no defect, here
// that of a finalizer.
func TestForegroundSweep(t *testing.T) {
	server, clock := newAPIServer(t), newFakeClock()
	server.list(configMaps, inForeground("m1"))
	server.list(render.WorksResource, sample.Work(sample.Asking("1", "m1"), "m1"))
	c := newControllerOf(t, server, configured("", "", ""), clock)
	core, reports := observer.New(zap.ErrorLevel)
	c.Logger = zap.New(core)
	q := leading(t, c)
	result, err := c.reconcile(t.Context(), sample.Page, write.Others)
	if err != nil || result.retry != 0 {
		t.Fatal(result, err) // otherwise it would be pending
	}
	ended := make(chan bool)
	go func() { defer close(ended); c.sweepOnce(t.Context(), q) }()
	for under := true; under; {
		select {
		case <-ended:
			under = false
		case <-time.After(10 * time.Millisecond):
			clock.Step(sweepGrace)
		}
	}
	if reports.Len() > 0 {
		t.Errorf("a sweep reports a defect: %v", reports.All())
	}
}

// TestForegroundEvents: 40 members confirm a deletion one after the other: each changes the message, and each
// message is a new line in the log and a new Event. A thousand sources would make 40,000.
func TestForegroundEvents(t *testing.T) {
	server := newAPIServer(t)
	c := newControllerOf(t, server, configured("", "", ""), newFakeClock())
	f := judge.Facts{ID: sample.Page, Clusters: map[string]judge.ClusterFacts{}, Works: map[string]*state.Work{}, Source: judge.NewSource(inForeground("*", finalized, deleted), render.Wishes{})}
	for i := range 40 {
		cluster := fmt.Sprintf("c%02d", i)
		f.Clusters[cluster] = judge.ClusterFacts{State: judge.ClusterJoined}
		f.Works[cluster] = state.NewWork(sample.Work(sample.Asking("1", "*"), cluster, sample.Terminating))
	}
	for i := range 40 {
		c.report(f, nil, c.finalizers.notices(judge.On(f), &write.Outcome{}))
		delete(f.Works, fmt.Sprintf("c%02d", i))
	}
	if n := len(c.announcements.take()); n > 5 {
		t.Errorf("%d announcements about one source", n)
	}
}

// TestForegroundStandby: a standby remembers a departure without end, since only a leader drops it. The other
// replica, which led, has removed the finalizer; the resource was given to another daemon, which set it
// again. A day later this replica takes over, while the page waits for a Work of that daemon: it releases
// the page.
func TestForegroundStandby(t *testing.T) {
	server, clock := newAPIServer(t), newFakeClock()
	server.list(configMaps, inForeground("m1", finalized))
	server.list(render.WorksResource, sample.Work(sample.Asking("1", "m1"), "m1", sample.Terminating))
	c := newControllerOf(t, server, configured("", "", ""), clock)
	configure(t, c, onlyWidgets)
	clock.Step(24 * time.Hour)
	server.reply(pageAt, inForeground("m1", finalized, deleted, sample.Version("9")))
	leading(t, c)
	c.enqueueEverything()
	syncPage(t, c)
	if len(server.writes) > 0 {
		t.Errorf("another daemon's source was released before its Work: %v", server.writes)
	}
}

// TestForegroundOldDepartures: what left long ago is reported, and not written: another daemon may have the object. It does
// not matter whether this replica led, or begins to.
func TestForegroundOldDepartures(t *testing.T) {
	for name, again := range map[string]func(*testing.T, *Controller, *clocktesting.FakeClock){
		"Led": func(t *testing.T, c *Controller, clock *clocktesting.FakeClock) { clock.Step(keptPeriod) },
		"Stood by": func(t *testing.T, c *Controller, _ *clocktesting.FakeClock) {
			configure(t, c, onlyWidgets)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_ = c.Lead(ctx, nil)
		},
	} {
		server, clock := newAPIServer(t), newFakeClock()
		server.list(configMaps, inForeground("m1", finalized))
		c := newControllerOf(t, server, configured("", "", ""), clock)
		configure(t, c, onlyWidgets)
		left := clock.Now()
		clock.Step(departurePeriod + time.Second)
		again(t, c, clock)
		server.reply(pageAt, inForeground("m1", finalized))
		syncPage(t, c)
		if got := failing(c.finalizers.refused.Failing()); got.Sources != 1 || !got.Since.Equal(left) || len(server.writes) > 0 || len(c.noticed.All()) != 1 {
			t.Errorf("%s: %v fail, written: %v, told: %v", name, got, server.writes, c.noticed.All())
		}
		clock.Step(refusalPeriod)
		page := inForeground("m1")
		if name == "Led" { // another daemon has set it
			page = inForeground("m1", finalized)
			page.SetManagedFields([]metav1.ManagedFieldsEntry{{Time: &metav1.Time{Time: clock.Now()}, FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:finalizers":{"v:\"karmada.target/works\"":{}}}}`)}})
		}
		server.reply(pageAt, page)
		syncPage(t, c)
		if got := failing(c.finalizers.refused.Failing()); got.Sources != 0 || len(c.memory.Departures()) > 0 || len(c.noticed.All()) > 0 {
			t.Errorf("%s: removed, or another's: %v fail, %v is kept", name, got, c.memory.Departures())
		}
	}
}

// TestForegroundLists: each deletion in the foreground lists the Works of all clusters by a label. An API server
// has no index for labels: each list goes through all Works of the control plane, those of policies
// included, and with a limit (the pager's 500) most versions read them all from etcd. Deleting one
// Namespace of 1,000 sources beside 50,000 Works reads 50 million. A version that was read live once
// (client.Version) and that the cache of Works has reached would prove the same for all of them.
func TestForegroundLists(t *testing.T) {
	server := newAPIServer(t)
	var lists atomic.Int64
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/apis/work.karmada.io/v1alpha1/works" && strings.Contains(r.URL.Query().Get("labelSelector"), render.SourceIDLabel+"=") {
			lists.Add(1)
		}
		server.ServeHTTP(w, r)
	})
	const sources = 20
	var pages []*unstructured.Unstructured
	for i := range sources {
		page := inForeground("m1", finalized, deleted)
		page.SetName(sample.Numbered(i).Name)
		pages = append(pages, page)
	}
	server.list(configMaps, pages...)
	c := newControllerOf(t, server, configured("", "", ""), newFakeClock())
	for i := range sources {
		if _, err := c.reconcile(t.Context(), sample.Numbered(i), write.Others); err != nil {
			t.Fatal(err)
		}
	}
	if n := lists.Load(); n > 2 {
		t.Errorf("%d lists of all Works for %d sources that were deleted at once", n, sources)
	}
}

// TestForegroundBeforeItsFinalizer: the page was recreated, and the cache has the old one. SetFinalizer has read
// the new one, which asks for the foreground, and sets nothing; then a Work is created from the old one all
// the same. If the new page is deleted now, kubectl returns while this Work exists. (Another and GoingNow
// of TestFinalizerWrites want it so. An object that was just found missing gets a Work, too.)
func TestForegroundBeforeItsFinalizer(t *testing.T) {
	for name, answer := range map[string]any{
		"Recreated": inForeground("m1", func(u *unstructured.Unstructured) { u.SetUID("2") }),
		"Gone":      apierrors.NewNotFound(configMaps.GroupResource(), "page"),
	} {
		t.Run(name, func(t *testing.T) {
			server := newAPIServer(t)
			server.list(configMaps, inForeground("m1"))
			server.reply(pageAt, answer)
			c := newControllerOf(t, server, configured("", "", ""), newFakeClock())
			syncPage(t, c)
			if len(server.writes) > 0 {
				t.Errorf("a Work is written before the finalizer: %v", server.writes)
			}
		})
	}
}

// TestForegroundHeldPolls: the breaker holds the deletion of a Work until an administrator approves. A held
// deletion of an absent source waits for an event, and costs nothing. That of a leaving source is looked at
// each lingerPeriod, and each look proves the deletion again by live reads (remove.go:69): 50,000 held
// sources are 833 GETs a second until an administrator approves.
func TestForegroundHeldPolls(t *testing.T) {
	server, clock := newAPIServer(t), newFakeClock()
	server.list(configMaps, inForeground("m1", finalized, deleted))
	server.list(render.WorksResource, sample.Work(sample.Asking("1", "m1"), "m1", sample.Marked))
	reads := 0
	server.onRead(pageAt, func() { reads++ })
	c := newControllerOf(t, server, configured("", "", ""), clock)
	clock.Step(time.Hour)
	looks := 0
	for ; looks < 10; looks++ {
		result, err := c.reconcile(t.Context(), sample.Page, write.Others)
		if err != nil {
			t.Fatal(err)
		}
		if result.retry == 0 {
			break
		}
		clock.Step(result.retry)
	}
	if reads > 2 {
		t.Errorf("%d looks without an event, %d live reads; writes: %v", looks, reads, server.writes)
	}
}

// TestForegroundOwnWrite: a Work that the daemon has just created, and that the watch has not shown, keeps
// the finalizer.
func TestForegroundOwnWrite(t *testing.T) {
	server := newAPIServer(t)
	server.list(configMaps, inForeground("m1", finalized))
	c := newControllerOf(t, server, configured("", "", ""), newFakeClock())
	syncPage(t, c)
	if !slices.Equal(server.writes, []string{"create m1"}) {
		t.Fatal(server.writes)
	}
	now := judge.On(judge.Facts{ID: sample.Page, Source: judge.NewSource(inForeground("m1", finalized, deleted), render.Wishes{})})
	if mayBeLeft, err := c.finalizers.mayHaveWorks(t.Context(), now); err != nil || !mayBeLeft {
		t.Errorf("got %t, %v", mayBeLeft, err)
	}
}

// TestForegroundQuotesNothing: what refuses the finalizer may quote the object, and more users may read
// Events and logs than Secrets.
func TestForegroundQuotesNothing(t *testing.T) {
	denied := apierrors.NewForbidden(configMaps.GroupResource(), "page", nil)
	denied.ErrStatus.Message = `admission webhook "x.example.io" denied the request: the password hunter2 is too short`
	invalid := apierrors.NewInvalid(sample.Page.GroupKind(), "page", field.ErrorList{field.Invalid(field.NewPath("data", "password"), "hunter2", "too short: hunter2")})
	for name, refusal := range map[string]*apierrors.StatusError{"Denied": denied, "Invalid": invalid} {
		t.Run(name, func(t *testing.T) {
			server := newAPIServer(t)
			server.list(configMaps, inForeground("m1"))
			server.reply("PATCH "+pageAt, refusal)
			c := newControllerOf(t, server, configured("", "", ""), newFakeClock())
			syncPage(t, c)
			noticed := c.noticed.Of(sample.Page)
			if len(noticed) != 1 || strings.Contains(noticed[0].Event(), "hunter2") {
				t.Errorf("got %+v", noticed)
			}
		})
	}
}

// TestForegroundWithoutCredentials: a token that has expired is no answer about the object.
func TestForegroundWithoutCredentials(t *testing.T) {
	server := newAPIServer(t)
	server.list(configMaps, inForeground("m1"))
	server.reply("PATCH "+pageAt, apierrors.NewUnauthorized("expired"))
	c := newControllerOf(t, server, configured("", "", ""), newFakeClock())
	if _, err := c.reconcile(t.Context(), sample.Page, write.Others); err == nil || slices.Contains(server.writes, "create m1") {
		t.Errorf("%v, %v", err, server.writes)
	}
}

// TestForegroundRefuted: while the cache says that the finalizer is to be removed, and a live read says
// that it is not, nothing is read every second.
func TestForegroundRefuted(t *testing.T) {
	server := newAPIServer(t)
	server.list(configMaps, inForeground("m1", finalized, func(u *unstructured.Unstructured) { sample.Annotate(u, render.DeletionAnnotation, "background") }))
	server.list(render.WorksResource, sample.Work(sample.Asking("1", "m1"), "m1"))
	server.reply("GET "+pageAt, inForeground("m1", finalized, sample.Version("9")))
	c := newControllerOf(t, server, configured("", "", ""), newFakeClock())
	result, err := c.reconcile(t.Context(), sample.Page, write.Others)
	if err != nil || result.retry < refutedPeriod {
		t.Errorf("%+v, %v", result, err)
	}
}

// deleteThePage makes the API server, and the watch, show that the page is being deleted.
func deleteThePage(t *testing.T, s *apiServer, c *Controller) {
	t.Helper()
	gone := inForeground("m1", finalized, deleted, sample.Version("9"))
	s.reply(pageAt, gone)
	s.events[configMaps] <- map[string]any{"type": "MODIFIED", "object": gone}
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) {
		f := c.caches.Facts(sample.Page)
		return f.Source != nil && f.Source.Leaving, nil
	})
	if err != nil {
		t.Fatalf("the cache does not show the deletion: %v", err)
	}
}

// TestForegroundUnshownWork: a Work exists that the watch has not shown. Its source must stay until it is
// gone.
func TestForegroundUnshownWork(t *testing.T) {
	for name, answer := range map[string]any{
		"LostAnswer": apierrors.NewInternalError(errors.New("etcdserver: request timed out")),
		"SlowWatch":  written("8"),
	} {
		t.Run(name, func(t *testing.T) {
			s, clock := newAPIServer(t), newFakeClock()
			s.events = map[schema.GroupVersionResource]chan any{configMaps: make(chan any)}
			s.list(configMaps, inForeground("m1", finalized))
			c := newControllerOf(t, s, configured("", "", ""), clock)
			s.reply("POST /apis/work.karmada.io/v1alpha1/namespaces/karmada-es-m1/works", answer)
			syncPage(t, c)
			s.mu.Lock()
			s.listed[render.WorksResource] = []*unstructured.Unstructured{sample.Work(sample.Asking("1", "m1"), "m1", sample.Version("8"))}
			s.mu.Unlock()
			deleteThePage(t, s, c)
			clock.Step(memory.AwaitCache)
			c.memory.Overdue()
			syncPage(t, c)
			const releasedAt9 = `finalizers ["example.io/other"] if it is 1 at 9`
			if slices.Contains(s.writes, releasedAt9) {
				t.Fatalf("the source is released while its Work exists: %q", s.writes)
			}
			s.mu.Lock()
			s.listed[render.WorksResource] = nil
			s.mu.Unlock()
			syncPage(t, c)
			if !slices.Contains(s.writes, releasedAt9) {
				t.Errorf("the source is not released although no Work exists: %q", s.writes)
			}
		})
	}
}

// TestForegroundLeavesUnshown: the resource leaves the configuration before the watch has shown the
// finalizer, which was set, though there may have been no answer.
func TestForegroundLeavesUnshown(t *testing.T) {
	for name, answer := range map[string]any{"Answered": written("8"), "NotAnswered": apierrors.NewTimeoutError("slow", 1)} {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			s.list(configMaps, inForeground("m1"))
			c := newControllerOf(t, s, configured("", "", ""), newFakeClock())
			s.reply("PATCH "+pageAt, answer)
			syncPage(t, c)
			s.reply("PATCH "+pageAt, written("9"))
			s.reply(pageAt, inForeground("m1", finalized)) // what has been written
			configure(t, c, onlyWidgets)
			syncPage(t, c)
			if want := []string{`finalizers ["karmada.target/works"] if it is 1 at 6`, released}; !slices.Contains(s.writes, want[0]) || !slices.Contains(s.writes, want[1]) {
				t.Errorf("got %q, want among them %q", s.writes, want)
			}
			if left := c.memory.UnshownFinalizers(); len(left) > 0 {
				t.Errorf("remembered for ever: %v", left)
			}
		})
	}
}

// TestForegroundLeavesSetBefore: the last leader has set the finalizer, and the watch of the new one does not show it yet
// when the resource leaves the configuration.
func TestForegroundLeavesSetBefore(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, fence string
		cached        []*unstructured.Unstructured
	}{
		"Set again":     {"the daemon sets it, and finds it set", "1", []*unstructured.Unstructured{inForeground("m1")}},
		"Seen live":     {"the cache is behind the fence, so that the object is read live", "200", []*unstructured.Unstructured{inForeground("m1")}},
		"Not asked for": {"nothing is written, and so nothing read live", "200", []*unstructured.Unstructured{sample.Object(nil)}},
		"Not yet known": {"the cache lacks the object", "200", nil},
		"Not yet led":   {"the replica has the Lease, and does not know yet what its cache lacks", "", nil},
		"Not served":    {"the API server does not serve the resource for a moment", "200", nil},
	} {
		t.Run(name, func(t *testing.T) {
			s, now := newAPIServer(t), inForeground("m1", finalized, sample.Version("9"))
			s.list(configMaps, tc.cached...)
			s.reply(pageAt, now)
			c := newControllerOf(t, s, configured("", "", ""), newFakeClock())
			if c.fence.Store(&tc.fence); tc.fence == "" {
				c.fence.Store(nil)
			}
			live := &unstructured.UnstructuredList{Items: []unstructured.Unstructured{*now}}
			live.SetAPIVersion("v1")
			live.SetKind("ConfigMapList")
			s.reply("/api/v1/configmaps", live)
			if tc.fence != "" {
				syncPage(t, c)
			}
			configure(t, c, onlyWidgets)
			c.fence.Store(new("200"))
			if served := c.Resolver; name == "Not served" {
				c.Resolver = unserved{}
				c.findDeparted(t.Context())
				c.Resolver = served
			}
			c.findDeparted(t.Context())
			syncPage(t, c)
			if want := `finalizers ["example.io/other"] if it is 1 at 9`; !slices.Contains(s.writes, want) {
				t.Errorf("%s: got %q, want among them %q", tc.reason, s.writes, want)
			}
		})
	}
}

// TestDepartedUnknown: those on call learn that a resource cannot be listed that has left the configuration, if its objects may
// have our finalizer, and are not told for nothing. It is listed less and less often.
func TestDepartedUnknown(t *testing.T) {
	forbidden := apierrors.NewForbidden(configMaps.GroupResource(), "", errors.New("no"))
	for name, tc := range map[string]struct {
		reason    string
		object    *unstructured.Unstructured
		noServer  bool
		wantFails int
	}{
		"Foreground": {"the object is to have it", inForeground("m1"), false, 1},
		"Background": {"the object is not to have it", sample.Asking("1", "m1"), false, 0},
		"NotServed":  {"there may be no object any more", inForeground("m1"), true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s, clock, lists := newAPIServer(t), newFakeClock(), 0
			s.list(configMaps, tc.object)
			c := newControllerOf(t, s, configured("", "", ""), clock)
			c.fence.Store(new("200"))
			s.reply("/api/v1/configmaps", forbidden)
			configure(t, c, onlyWidgets)
			for began := clock.Now(); clock.Since(began) < 20*time.Minute; clock.Step(overduePeriod) {
				lists += len(c.departures.toList(clock.Now()))
				for _, r := range c.departures.listing {
					c.departures.list(r)
				}
				if tc.noServer {
					c.Resolver = unserved{}
				}
				c.findDeparted(t.Context())
			}
			if got := c.departures.failing().Sources; got != tc.wantFails || lists < 10 || lists > 40 {
				t.Errorf("%s: %d fail, it was listed %d times", tc.reason, got, lists)
			}
		})
	}
}

// unserved is a watch.Resolver of an API server that does not serve anything.
type unserved struct{}

func (unserved) Resolve(context.Context, watch.Resource) (served watch.Served, isServed bool, err error) {
	return served, false, nil
}

// TestForegroundLeavesTwice: a resource leaves the configuration, comes back, and leaves again, while the API
// server does not answer its list (slow, or a conversion webhook is down). When it is back, the departure is
// dropped, since the object is included; but the new watch has not shown the object. So when it leaves for
// good, no one knows of its finalizer, and the object can never be deleted.
func TestForegroundLeavesTwice(t *testing.T) {
	for name, synced := range map[string]bool{"ListFails": false, "ListAnswers": true} {
		t.Run(name, func(t *testing.T) {
			server := newAPIServer(t)
			server.list(configMaps, inForeground("m1", finalized))
			c := newControllerOf(t, server, configured("", "", ""), newFakeClock())
			leading(t, c)
			if !synced {
				server.reply("/api/v1/configmaps", apierrors.NewInternalError(errors.New("conversion webhook failed")))
			}
			configure(t, c, onlyWidgets) // by mistake: GitOps, or an edit
			configure(t, c, configured("", "", ""))
			if synced {
				err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) {
					f := c.caches.Facts(sample.Page)
					return f.Unknown == "" && f.Source != nil, nil
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			syncPage(t, c) // enqueueEverything has all departures synced
			if slices.Contains(server.writes, released) {
				t.Errorf("it is back, and %q", server.writes)
			}
			configure(t, c, onlyWidgets)
			for range 3 {
				syncPage(t, c)
			}
			if !slices.Contains(server.writes, released) {
				t.Errorf("the finalizer stays for ever: %q", server.writes)
			}
		})
	}
}

// TestForegroundLateEvent: a Work was deleted. The cache shows that, and a create follows whose answer is lost. The
// handlers of the cache lag behind it, as under load: only now they learn the last change of the earlier
// Work. That counts as the Work that was created: its source is released while it exists.
func TestForegroundLateEvent(t *testing.T) {
	for name, isLate := range map[string]bool{"InTime": false, "Late": true} {
		t.Run(name, func(t *testing.T) {
			s, clock := newAPIServer(t), newFakeClock()
			s.events = map[schema.GroupVersionResource]chan any{configMaps: make(chan any)}
			s.list(configMaps, inForeground("m1", finalized))
			c := newControllerOf(t, s, configured("", "", ""), clock)
			s.reply("POST /apis/work.karmada.io/v1alpha1/namespaces/karmada-es-m1/works", apierrors.NewInternalError(errors.New("etcdserver: request timed out")))
			before := state.NewWork(sample.Work(sample.Asking("1", "m1"), "m1", sample.Version("6")))
			last := state.NewWork(sample.Work(sample.Asking("1", "m1"), "m1", sample.Version("7"), sample.Terminating))
			tell := func() { c.workChanged(before, last); c.workChanged(last, nil) }
			if !isLate {
				tell()
			}
			syncPage(t, c)
			if isLate {
				tell()
			}
			s.mu.Lock()
			s.listed[render.WorksResource] = []*unstructured.Unstructured{sample.Work(sample.Asking("1", "m1"), "m1", sample.Version("108"), func(u *unstructured.Unstructured) { u.SetUID("another") })}
			s.mu.Unlock()
			deleteThePage(t, s, c)
			clock.Step(memory.AwaitCache)
			c.memory.Overdue()
			syncPage(t, c)
			if slices.Contains(s.writes, `finalizers ["example.io/other"] if it is 1 at 9`) {
				t.Fatalf("the source is released while its Work exists: %q", s.writes)
			}
		})
	}
}

// TestForegroundLeavesRecreated: an object leaves the configuration before the watch has shown its finalizer, and is
// recreated meanwhile. It is remembered for ever.
func TestForegroundLeavesRecreated(t *testing.T) {
	s := newAPIServer(t)
	s.list(configMaps, inForeground("m1"))
	c := newControllerOf(t, s, configured("", "", ""), newFakeClock())
	syncPage(t, c)
	s.reply(pageAt, inForeground("m1", func(u *unstructured.Unstructured) { u.SetUID("2") }))
	configure(t, c, onlyWidgets)
	for range 3 {
		syncPage(t, c)
	}
	if left := c.memory.UnshownFinalizers(); len(left) > 0 {
		t.Errorf("remembered for ever: %v", left)
	}
}

// TestForegroundMayNotRelease: a right that is missing keeps objects from being deleted, which those on call must see, and costs
// one request at a time, not one for each object.
func TestForegroundMayNotRelease(t *testing.T) {
	server, clock := newAPIServer(t), newFakeClock()
	var objects []*unstructured.Unstructured
	for _, name := range []string{"one", "two", "three"} {
		objects = append(objects, inForeground("m1", finalized, deleted, func(u *unstructured.Unstructured) { u.SetName(name) }))
		server.answers["PATCH /api/v1/namespaces/shop/configmaps/"+name] = apierrors.NewForbidden(configMaps.GroupResource(), name, errors.New("no"))
	}
	server.list(configMaps, objects...)
	c, began := newControllerOf(t, server, configured("", "", ""), clock), clock.Now()
	leading(t, c)
	const periods = 10
	for range periods {
		for _, o := range objects {
			id := sample.Page
			id.Name = o.GetName()
			if _, err := c.sync(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
		clock.Step(denialPeriod)
	}
	if want, got := (metrics.Failing{Sources: len(objects), Since: began}), c.snapshot().Failing["finalizer"]; got != want {
		t.Errorf("%+v, not %+v", got, want)
	}
	if n := len(server.writes); n > periods {
		t.Errorf("%d requests in %d periods", n, periods)
	}
}
