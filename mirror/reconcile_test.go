package mirror

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/karmada-target/karmada-mirror/mirror/gather"
	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/memory"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/mirror/write"
	"github.com/karmada-target/karmada-mirror/render"
)

// TestReconcile syncs one source, with caches that say one thing and an API server that may
// say another, and compares the writes that the server receives.
func TestReconcile(t *testing.T) {
	asks := sample.Asking("1", "m1")
	object := func(clusters string) *unstructured.Unstructured {
		return sample.Object(sample.Annotations{render.ClustersAnnotation: clusters})
	}
	selecting := sample.Object(sample.Annotations{render.ClusterSelectorAnnotation: "tier=edge"})
	work := sample.Work(asks, "m1")
	ofGadget := sample.Work(gadgetObject("m1"), "m1")
	boom := apierrors.NewInternalError(errors.New("boom"))
	deleted := []string{"delete m1 if it is work-uid at 7"}
	cases := map[string]struct {
		reason        string
		state         func(*apiServer)
		configuration string // in force; empty selects all namespaces
		fence         string // empty: long ago
		look          render.Identity
		defined       bool // the process has seen the definition of widgets
		want          []string
		fails         bool
	}{
		"New": {reason: "wanted Works are created",
			state: func(s *apiServer) { s.list(configMaps, object("m1,m2")) },
			want:  []string{"create m1", "create m2"}},
		"AsWanted": {reason: "Works that are as wanted are not written",
			state: func(s *apiServer) { s.list(configMaps, object("m1")); s.list(render.WorksResource, work) }},
		"Orphan": {reason: "a Work that a live read proves unwanted is deleted, unless it has changed since",
			state: func(s *apiServer) { s.list(render.WorksResource, work) },
			want:  deleted},
		"LostByTheCache": {reason: "the Work of an object that only the cache has lost is not deleted",
			state: func(s *apiServer) { s.list(render.WorksResource, work); s.reply(pageAt, object("m1")) }},
		"Moved": {reason: "creates go before deletes",
			state: func(s *apiServer) { s.list(configMaps, object("m2")); s.list(render.WorksResource, work) },
			want:  append([]string{"create m2"}, deleted...)},
		"AsksAgain": {reason: "a Work that is wanted again is not deleted",
			state: func(s *apiServer) {
				s.list(configMaps, object("m2"))
				s.list(render.WorksResource, work, sample.Work(asks, "m2"))
				s.reply(pageAt, object("m1,m2"))
			}},
		"CannotBeRead": {reason: "an error proves nothing",
			state: func(s *apiServer) { s.list(render.WorksResource, work); s.reply(pageAt, boom) },
			fails: true},
		"NoPath": {reason: "a 404 that does not name the object proves nothing",
			state: func(s *apiServer) {
				s.list(render.WorksResource, work)
				s.reply(pageAt, &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound}})
			},
			fails: true},
		"NoNamespace": {reason: "neither does one that names another object",
			state: func(s *apiServer) {
				s.list(render.WorksResource, work)
				s.reply(pageAt, apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "shop"))
			},
			fails: true},
		"AnotherObject": {reason: "the answer must be the object",
			state: func(s *apiServer) {
				another := object("m2")
				another.SetName("another")
				s.list(render.WorksResource, work)
				s.reply(pageAt, another)
			},
			fails: true},
		"LeftOut": {reason: "the Works of what leaves the configuration are not deleted",
			state:         func(s *apiServer) { s.list(render.WorksResource, work) },
			configuration: configured(`"other"`, "", "")},
		"SourcesUnsynced": {reason: "an object is not missing before its resource has been listed",
			state: func(s *apiServer) { s.list(render.WorksResource, work); s.reply("/api/v1/configmaps", boom) }},
		"NamespaceUnseen": {reason: "the defaults and labels of a Namespace are unknown before it is seen",
			state: func(s *apiServer) { s.list(configMaps, object("m1")); s.list(state.NamespacesResource) }},
		"WorksUnsynced": {reason: "Works are unknown before they have synced",
			state: func(s *apiServer) {
				s.list(configMaps, object("m1"))
				s.reply("/apis/work.karmada.io/v1alpha1/works?ours", boom)
			}},
		"LabelGone": {reason: "a cluster that has lost the label loses the object",
			state: func(s *apiServer) { s.list(configMaps, selecting); s.list(render.WorksResource, work) },
			want:  deleted},
		"LabelInSpiteOfTheCache": {reason: "but not one that has the label by a live read",
			state: func(s *apiServer) {
				s.list(configMaps, selecting)
				s.list(render.WorksResource, work)
				s.reply(m1At, sample.Cluster("m1", "edge"))
			}},
		"LabelsCannotBeRead": {reason: "an error proves nothing about labels either",
			state: func(s *apiServer) {
				s.list(configMaps, selecting)
				s.list(render.WorksResource, work)
				s.reply(m1At, boom)
			},
			fails: true},
		"DefaultInSpiteOfTheCache": {reason: "a Work that its Namespace wants by a live read is not deleted",
			state: func(s *apiServer) {
				s.list(configMaps, sample.Object(nil))
				s.list(render.WorksResource, work)
				s.reply(shopAt, sample.Namespace(sample.Annotations{render.ClustersAnnotation: "m1"}))
			}},
		"DefaultCannotBeRead": {reason: "and nothing is known while the Namespace cannot be read",
			state: func(s *apiServer) {
				s.list(configMaps, sample.Object(nil))
				s.list(render.WorksResource, work)
				s.reply(shopAt, boom)
			},
			fails: true},
		"StaleCacheOfANewLeader": {reason: "a cache from before this leader's term recreates nothing",
			state: func(s *apiServer) { s.list(configMaps, object("m1")); s.reply(pageAt, sample.Object(nil)) },
			fence: "200"},
		"FreshCacheOfANewLeader": {reason: "a newer one is trusted",
			state: func(s *apiServer) { s.list(configMaps, object("m1")); s.reply(pageAt, sample.Object(nil)) },
			fence: listVersion,
			want:  []string{"create m1"}},
		"DefinitionGone": {reason: "deletions caused by a deleted definition are held, however few",
			state:   func(s *apiServer) { s.list(render.WorksResource, ofGadget); s.served[widgets.GroupResource()] = nil },
			look:    gadget,
			defined: true,
			want:    []string{"hold m1 at 7"}},
		"DefinitionThere": {reason: "a definition that exists but is not served yet proves nothing",
			state: func(s *apiServer) {
				s.list(render.WorksResource, ofGadget)
				s.served[widgets.GroupResource()] = nil
				s.reply(widgetsDefinitionAt, definitionObject())
			},
			look:    gadget,
			defined: true,
			fails:   true},
		"DefinitionCannotBeRead": {reason: "neither does an error",
			state: func(s *apiServer) {
				s.list(render.WorksResource, ofGadget)
				s.served[widgets.GroupResource()] = nil
				s.reply(widgetsDefinitionAt, boom)
			},
			look:    gadget,
			defined: true,
			fails:   true},
		"DefinitionUnknown": {reason: "how an object was deleted is unknown while its definition cannot be read",
			state: func(s *apiServer) { s.list(render.WorksResource, ofGadget); s.reply(widgetsDefinitionAt, boom) },
			look:  gadget,
			fails: true},
		"OtherVersionServed": {reason: "an unserved version proves nothing if another version is served",
			state:         func(s *apiServer) { s.list(render.WorksResource, ofGadget) },
			configuration: configured("", "v2", ""),
			look:          gadget,
			defined:       true,
			fails:         true},
		"NeverDefined": {reason: "objects of an aggregated API server have no definition, and still exist while it is away",
			state: func(s *apiServer) { s.list(render.WorksResource, ofGadget); s.served[widgets.GroupResource()] = nil },
			look:  gadget},
		"DefinedBeforeTheRestart": {reason: "a mark by another process shows that there was a definition",
			state: func(s *apiServer) {
				s.list(render.WorksResource, ofGadget, sample.Work(gadgetObject("m2"), "m2", sample.MarkedAs(judge.BecauseDefinitionDeleted)))
				s.served[widgets.GroupResource()] = nil
			},
			look: gadget,
			want: []string{"hold m1 at 7"}},
		"GoingBeforeTheRestart": {reason: "also if that definition was terminating",
			state: func(s *apiServer) {
				s.list(render.WorksResource, ofGadget, sample.Work(gadgetObject("m2"), "m2", sample.MarkedAs(judge.BecauseDefinitionTerminating)))
				s.served[widgets.GroupResource()] = nil
			},
			look: gadget,
			want: []string{"hold m1 at 7"}},
		"MarkedForAnother": {reason: "but not a mark for another reason",
			state: func(s *apiServer) {
				s.list(render.WorksResource, ofGadget, sample.Work(gadgetObject("m2"), "m2", sample.MarkedAs("the source does not exist")))
				s.served[widgets.GroupResource()] = nil
			},
			look: gadget},
		"GoneWithItsDefinition": {reason: "the object is found missing before the watch reports that its definition is",
			state: func(s *apiServer) {
				s.list(render.WorksResource, ofGadget)
				s.list(state.DefinitionsResource, definitionObject())
				s.reply(widgetsDefinitionAt, apierrors.NewNotFound(state.DefinitionsResource.GroupResource(), "widgets.example.io"))
			},
			look: gadget,
			want: []string{"hold m1 at 7"}},
		"GoneByItself": {reason: "and its Work is deleted if the definition is unchanged",
			state: func(s *apiServer) {
				s.list(render.WorksResource, ofGadget)
				s.list(state.DefinitionsResource, definitionObject())
			},
			look: gadget,
			want: deleted},
		"HeldAlready": {reason: "a marked Work is not marked again, because a later mark needs a later approval",
			state: func(s *apiServer) { s.list(render.WorksResource, sample.Work(asks, "m1", sample.Marked)) }},
		"HashOfAnother": {reason: "a source whose hash has the same prefix is unrelated",
			state: func(s *apiServer) {
				s.list(configMaps, object("m1"))
				s.list(render.WorksResource, sample.Work(bucketmate(t), "m1"))
			},
			want: []string{"create m1"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newAPIServer(t)
			if tc.defined {
				s.leave(state.DefinitionsResource, definitionObject())
			}
			tc.state(s)
			if tc.configuration == "" {
				tc.configuration = configured("", "", "")
			}
			c := newControllerOf(t, s, tc.configuration, newFakeClock())
			if tc.fence != "" {
				c.fence.Store(&tc.fence)
			}
			if tc.look == (render.Identity{}) {
				tc.look = sample.Page
			}
			_, err := c.reconcile(t.Context(), tc.look, write.Others)
			if (err != nil) != tc.fails {
				t.Errorf("%s: got the error %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, s.sent()); diff != "" {
				t.Errorf("%s, -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestReadBehindFence: what was read live because a cache had not passed the fence may be newer than the fence. Until the cache
// has that, too, nothing is written by what it shows.
func TestReadBehindFence(t *testing.T) {
	s, clock, reads := newAPIServer(t), newFakeClock(), 0
	saying := func(value, version string) *unstructured.Unstructured {
		u := sample.Asking("1", "m1")
		u.Object["data"] = map[string]any{"key": value}
		u.SetResourceVersion(version)
		return u
	}
	s.list(configMaps, saying("1", "90"))
	s.list(render.WorksResource, sample.Work(saying("0", "80"), "m1"))
	live := saying("2", "300")
	s.reply(pageAt, live)
	s.asked[pageAt] = func() { reads++ }
	c := newControllerOf(t, s, configured("", "", ""), clock)
	for i, fence := range []string{"200", "50"} { // the cache is between
		c.fence.Store(&fence)
		clock.Step(memory.AwaitCache)
		c.memory.Overdue()
		if syncPage(t, c); reads != i+1 || len(s.sent()) != i+1 {
			t.Errorf("with the fence at %s: %d reads, sent %q", fence, reads, s.sent())
		}
	}
}

// sent returns the writes, with creates that were made in parallel ordered by cluster.
func (s *apiServer) sent() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedStableFunc(slices.Values(s.writes), func(a, b string) int {
		if a[:6] == "create" && b[:6] == "create" && a < b {
			return -1
		}
		return 0
	})
}

// bucketmate returns a source whose hash shares with the page's a prefix longer than the one
// by which the caches find Works.
func bucketmate(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	for i := range 1 << 20 {
		u := sample.Asking("1", "m1")
		u.SetName(fmt.Sprint("page-", i))
		other := render.Identity{Kind: sample.Page.Kind, Namespace: sample.Page.Namespace, Name: u.GetName()}
		if other.ID()[:4] == sample.Page.ID()[:4] {
			return u
		}
	}
	t.Fatal("no other source shares the page's bucket")
	return nil
}

// TestReconcileCountsDeletions: deletions that were made count towards holding those that follow.
func TestReconcileCountsDeletions(t *testing.T) {
	s := newAPIServer(t)
	other := sample.Object(sample.Annotations{render.ClustersAnnotation: "m2"})
	other.SetName("other")
	otherID := render.Identity{Kind: sample.Page.Kind, Namespace: sample.Page.Namespace, Name: "other"}
	s.list(render.WorksResource, sample.Work(sample.Asking("1", "m1"), "m1"), sample.Work(other, "m2"))
	c := newControllerOf(t, s, configured("", "", `"holdAbove": {"works": 1, "percent": 10}`), newFakeClock())
	for _, id := range []render.Identity{sample.Page, sample.Page, otherID} { // the second time, its deletion is under way
		if _, err := c.reconcile(t.Context(), id, write.Others); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"delete m1 if it is work-uid at 7", "hold m2 at 7"}, s.sent()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestCountWorks: the breaker's percentage is relative to the Works that this daemon manages.
func TestCountWorks(t *testing.T) {
	s := newAPIServer(t)
	elsewhere := sample.Asking("2", "m1")
	elsewhere.SetNamespace("other")
	another := sample.Asking("3", "m1") // of a kind that is not configured
	another.SetKind("Secret")
	s.list(render.WorksResource, sample.Work(sample.Asking("1", "m1"), "m1"), sample.Work(elsewhere, "m1"), sample.Work(another, "m1"), sample.Work(sample.Asking("1", "m2"), "m2", sample.Terminating))
	c := newControllerOf(t, s, configured(`"shop"`, "", ""), newFakeClock())
	if n := c.caches.CountWorks(sample.Page.GroupKind()); n[sample.Page.Namespace] != 1 || len(n) != 1 {
		t.Errorf("counted %v, want only the one that stays and is in a configured namespace", n)
	}
	if n := c.caches.CountWorksOnClusters(); n["m1"] != 1 || len(n) != 1 {
		t.Errorf("on clusters, counted %v", n)
	}
}

// TestCaughtUp: a new leader knows the current Namespaces and Clusters.
func TestCaughtUp(t *testing.T) {
	newer := func(u *unstructured.Unstructured) *unstructured.Unstructured {
		u.SetResourceVersion("6")
		return u
	}
	older := func() *unstructured.Unstructured {
		u := sample.Namespace(nil)
		u.SetResourceVersion("4")
		return u
	}
	cases := map[string]struct {
		reason string
		now    func(*apiServer)
		behind bool
	}{
		"Same":    {"nothing has happened", func(*apiServer) {}, false},
		"Default": {"a Namespace has a new default", func(s *apiServer) { s.list(state.NamespacesResource, newer(sample.Namespace(nil))) }, true},
		"Made": {"one was created", func(s *apiServer) {
			s.list(state.NamespacesResource, sample.Namespace(nil), newer(sample.Cluster("other", "")))
		}, true},
		"Gone": {"one was deleted", func(s *apiServer) { s.list(state.NamespacesResource) }, true},
		"Label": {"a Cluster has a new label", func(s *apiServer) {
			s.list(state.ClustersResource, newer(sample.Cluster("m1", "edge")), sample.Cluster("m2", ""))
		}, true},
		"Newer": {"what the cache has is from after the list", func(s *apiServer) { s.list(state.NamespacesResource, older()); s.listAt(state.NamespacesResource, "4") }, false},
		"Going": {"one was deleted after the list, which took its time", func(s *apiServer) {
			s.list(state.NamespacesResource, sample.Namespace(nil), newer(sample.Cluster("other", "")))
			s.reply("/api/v1/namespaces/other", apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "other"))
		}, false},
		"Undone": {"the cache has what etcd no longer has", func(s *apiServer) { s.list(state.NamespacesResource, older()) }, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newAPIServer(t)
			c := newControllerOf(t, s, configured("", "", ""), newFakeClock())
			tc.now(s)
			err := c.caches.NewCatchUp().IsDone(t.Context())
			if errors.Is(err, gather.ErrBehind) != tc.behind {
				t.Errorf("%s: %v", tc.reason, err)
			}
		})
	}
}

// TestAwaitCaches: a leader does not start before its caches have synced.
func TestAwaitCaches(t *testing.T) {
	s := newAPIServer(t)
	c := newControllerOf(t, s, configured("", "", ""), clock.RealClock{})
	if !c.awaitCaches(t.Context(), nil) || *c.fence.Load() != listVersion {
		t.Errorf("complete caches: the fence is at %s", *c.fence.Load())
	}
	s = newAPIServer(t)
	s.reply("/apis/work.karmada.io/v1alpha1/works?ours", apierrors.NewInternalError(errors.New("boom")))
	looks := counting{clock.RealClock{}, make(chan bool)}
	c = newControllerOf(t, s, configured("", "", ""), looks)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan bool, 1)
	go func() { ended <- c.awaitCaches(ctx, nil) }()
	for range 3 { // the wait for the third check begins after the second
		select {
		case <-looks.timers:
		case <-ended:
			t.Fatal("leads without the Works")
		}
	}
	cancel()
	for {
		select {
		case <-looks.timers:
		case leads := <-ended:
			if leads {
				t.Error("leads although its context is done")
			}
			return
		}
	}
}

// counting is a clock that signals each new timer.
type counting struct {
	clock.WithTicker
	timers chan bool
}

func (c counting) NewTimer(d time.Duration) clock.Timer {
	c.timers <- true
	return c.WithTicker.NewTimer(d)
}
