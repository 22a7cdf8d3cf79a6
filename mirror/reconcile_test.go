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

	"github.com/karmada-target/karmada-mirror/render"
)

// TestReconcile looks at one source, with caches that say one thing and an API server
// that may say another: what is written is what the server was sent.
func TestReconcile(t *testing.T) {
	asks := pageSource("1", "m1")
	object := func(clusters string) *unstructured.Unstructured {
		return pageObject(annotations{render.ClustersAnnotation: clusters})
	}
	selecting := pageObject(annotations{render.ClusterSelectorAnnotation: "tier=edge"})
	work := pageWorkObject(asks, "m1")
	ofGadget := pageWorkObject(NewSource(gadgetObject("m1"), render.Wishes{}), "m1")
	boom := apierrors.NewInternalError(errors.New("boom"))
	deleted := []string{"delete m1 if it is work-uid at 7"}
	cases := map[string]struct {
		reason        string
		state         func(*apiServer)
		configuration string // in force; empty is that of all namespaces
		fence         string // empty is long ago
		look          render.Identity
		want          []string
		fails         bool
	}{
		"New": {reason: "what is asked for is created",
			state: func(s *apiServer) { s.list(configMaps, object("m1,m2")) },
			want:  []string{"create m1", "create m2"}},
		"AsWanted": {reason: "what is as wanted is not written",
			state: func(s *apiServer) { s.list(configMaps, object("m1")); s.list(WorksResource, work) }},
		"Orphan": {reason: "what a live read proves to be unwanted is deleted, if it is as it was examined",
			state: func(s *apiServer) { s.list(WorksResource, work) },
			want:  deleted},
		"LostByTheCache": {reason: "what the cache has lost and the API server has is not deleted",
			state: func(s *apiServer) { s.list(WorksResource, work); s.answers[pageAt] = object("m1") }},
		"Moved": {reason: "creates go before deletes",
			state: func(s *apiServer) { s.list(configMaps, object("m2")); s.list(WorksResource, work) },
			want:  append([]string{"create m2"}, deleted...)},
		"AsksAgain": {reason: "what has been asked for since is not deleted",
			state: func(s *apiServer) {
				s.list(configMaps, object("m2"))
				s.list(WorksResource, work, pageWorkObject(asks, "m2"))
				s.answers[pageAt] = object("m1,m2")
			}},
		"CannotBeRead": {reason: "an error proves nothing",
			state: func(s *apiServer) { s.list(WorksResource, work); s.answers[pageAt] = boom },
			fails: true},
		"NoPath": {reason: "a 404 that does not name the object is not of the object",
			state: func(s *apiServer) {
				s.list(WorksResource, work)
				s.answers[pageAt] = &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound}}
			},
			fails: true},
		"NoNamespace": {reason: "nor is one that names another",
			state: func(s *apiServer) {
				s.list(WorksResource, work)
				s.answers[pageAt] = apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "shop")
			},
			fails: true},
		"AnotherObject": {reason: "the answer must be the object",
			state: func(s *apiServer) {
				another := object("m2")
				another.SetName("another")
				s.list(WorksResource, work)
				s.answers[pageAt] = another
			},
			fails: true},
		"LeftOut": {reason: "what leaves the configuration is not deleted",
			state:         func(s *apiServer) { s.list(WorksResource, work) },
			configuration: configured(`"other"`, "", "")},
		"SourcesUnsynced": {reason: "what has not been listed is not absent",
			state: func(s *apiServer) { s.list(WorksResource, work); s.answers["/api/v1/configmaps"] = boom }},
		"WorksUnsynced": {reason: "nor are Works",
			state: func(s *apiServer) {
				s.list(configMaps, object("m1"))
				s.answers["/apis/work.karmada.io/v1alpha1/works"] = boom
			}},
		"LabelGone": {reason: "a cluster that has lost the label loses the object",
			state: func(s *apiServer) { s.list(configMaps, selecting); s.list(WorksResource, work) },
			want:  deleted},
		"LabelInSpiteOfTheCache": {reason: "but not one that bears it by a live read",
			state: func(s *apiServer) {
				s.list(configMaps, selecting)
				s.list(WorksResource, work)
				s.answers[m1At] = clusterObject("m1", "edge")
			}},
		"LabelsCannotBeRead": {reason: "an error proves nothing of labels either",
			state: func(s *apiServer) {
				s.list(configMaps, selecting)
				s.list(WorksResource, work)
				s.answers[m1At] = boom
			},
			fails: true},
		"DefaultInSpiteOfTheCache": {reason: "what its Namespace asks for by a live read is not deleted",
			state: func(s *apiServer) {
				s.list(configMaps, pageObject(nil))
				s.list(WorksResource, work)
				s.answers[shopAt] = namespaceObject(annotations{render.ClustersAnnotation: "m1"})
			}},
		"DefaultCannotBeRead": {reason: "and nothing is known while that cannot be read",
			state: func(s *apiServer) {
				s.list(configMaps, pageObject(nil))
				s.list(WorksResource, work)
				s.answers[shopAt] = boom
			},
			fails: true},
		"StaleCacheOfANewLeader": {reason: "a cache from before the leader led brings nothing back",
			state: func(s *apiServer) { s.list(configMaps, object("m1")); s.answers[pageAt] = pageObject(nil) },
			fence: "200"},
		"FreshCacheOfANewLeader": {reason: "one from after is believed",
			state: func(s *apiServer) { s.list(configMaps, object("m1")); s.answers[pageAt] = pageObject(nil) },
			fence: listVersion,
			want:  []string{"create m1"}},
		"DefinitionGone": {reason: "what goes with its definition is held, however few",
			state: func(s *apiServer) { s.list(WorksResource, ofGadget); s.served[widgets.GroupResource()] = nil },
			look:  gadget,
			want:  []string{"hold m1 at 7"}},
		"DefinitionThere": {reason: "a definition that is there and not served yet proves nothing",
			state: func(s *apiServer) {
				s.list(WorksResource, ofGadget)
				s.served[widgets.GroupResource()] = nil
				s.answers[widgetsDefinitionAt] = definitionObject()
			},
			look:  gadget,
			fails: true},
		"DefinitionCannotBeRead": {reason: "nor does an error",
			state: func(s *apiServer) {
				s.list(WorksResource, ofGadget)
				s.served[widgets.GroupResource()] = nil
				s.answers[widgetsDefinitionAt] = boom
			},
			look:  gadget,
			fails: true},
		"DefinitionUnknown": {reason: "how an object went is not known while its definition cannot be read",
			state: func(s *apiServer) { s.list(WorksResource, ofGadget); s.answers[widgetsDefinitionAt] = boom },
			look:  gadget,
			fails: true},
		"OtherVersionServed": {reason: "nor does a version that is not served, if another is",
			state:         func(s *apiServer) { s.list(WorksResource, ofGadget) },
			configuration: configured("", "v2", ""),
			look:          gadget,
			fails:         true},
		"GoneWithItsDefinition": {reason: "an object is found absent before the watch tells that its definition is",
			state: func(s *apiServer) {
				s.list(WorksResource, ofGadget)
				s.list(definitionsResource, definitionObject())
				s.answers[widgetsDefinitionAt] = apierrors.NewNotFound(definitionsResource.GroupResource(), "widgets.example.io")
			},
			look: gadget,
			want: []string{"hold m1 at 7"}},
		"GoneByItself": {reason: "and is deleted if that is there as before",
			state: func(s *apiServer) {
				s.list(WorksResource, ofGadget)
				s.list(definitionsResource, definitionObject())
			},
			look: gadget,
			want: deleted},
		"HeldAlready": {reason: "what is marked is not marked again, for a later mark needs a later approval",
			state: func(s *apiServer) { s.list(WorksResource, pageWorkObject(asks, "m1", marked)) }},
		"HashOfAnother": {reason: "a source whose hash begins alike has nothing to do with it",
			state: func(s *apiServer) {
				s.list(configMaps, object("m1"))
				s.list(WorksResource, pageWorkObject(bucketmate(t), "m1"))
			},
			want: []string{"create m1"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newAPIServer(t)
			tc.state(s)
			if tc.configuration == "" {
				tc.configuration = configured("", "", "")
			}
			c := newControllerOf(t, s, tc.configuration, newFakeClock())
			if tc.fence != "" {
				c.fence.Store(&tc.fence)
			}
			if tc.look == (render.Identity{}) {
				tc.look = page
			}
			_, err := c.reconcile(t.Context(), tc.look, false)
			if (err != nil) != tc.fails {
				t.Errorf("%s: the error is %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, s.sent()); diff != "" {
				t.Errorf("%s, -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// sent are the writes, in order of cluster where they were made at once.
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

// bucketmate is a source in the bucket of the page.
func bucketmate(t *testing.T) *Source {
	t.Helper()
	for i := range 1 << 20 {
		u := pageObject(annotations{render.ClustersAnnotation: "m1"})
		u.SetName(fmt.Sprint("page-", i))
		if s := NewSource(u, render.Wishes{}); sourceBucket(s.ID) == sourceBucket(page) {
			return s
		}
	}
	t.Fatal("no other source is in the bucket of the page")
	return nil
}

// TestReconcileCountsDeletions: those that were made hold back those that follow.
func TestReconcileCountsDeletions(t *testing.T) {
	s := newAPIServer(t)
	other := pageObject(annotations{render.ClustersAnnotation: "m2"})
	other.SetName("other")
	source := NewSource(other, render.Wishes{})
	s.list(WorksResource, pageWorkObject(pageSource("1", "m1"), "m1"), pageWorkObject(source, "m2"))
	c := newControllerOf(t, s, configured("", "", `"holdAbove": {"works": 1, "percent": 10}`), newFakeClock())
	for _, id := range []render.Identity{page, page, source.ID} { // the second time on its way
		if _, err := c.reconcile(t.Context(), id, false); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"delete m1 if it is work-uid at 7", "hold m2 at 7"}, s.sent()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestStaleDefaultsOfANewLeader: the object has been listed since, its Namespace has not.
func TestStaleDefaultsOfANewLeader(t *testing.T) {
	s := newAPIServer(t)
	s.list(configMaps, pageObject(nil))
	s.list(namespacesResource, namespaceObject(annotations{render.ClustersAnnotation: "m1"}))
	s.versions = map[schema.GroupVersionResource]string{configMaps: "300"}
	s.answers[shopAt] = namespaceObject(nil)
	c := newControllerOf(t, s, configured("", "", ""), newFakeClock())
	c.fence.Store(new("200"))
	if _, err := c.reconcile(t.Context(), page, false); err != nil {
		t.Fatal(err)
	}
	if sent := s.sent(); len(sent) > 0 {
		t.Errorf("by the default that was: %q", sent)
	}
}

// TestOutdatedOperation: what was planned for a Work is not done to what it has become.
func TestOutdatedOperation(t *testing.T) {
	asks := pageSource("1", "m1")
	s := newAPIServer(t)
	s.list(configMaps, pageObject(annotations{render.ClustersAnnotation: "m1"}))
	s.list(WorksResource, pageWorkObject(asks, "m1", edited, version("8")))
	c := newControllerOf(t, s, configured("", "", ""), newFakeClock())
	verdict := Decide(c.cachedFacts(page))
	for _, planned := range []Operation{
		{Kind: Update, Cluster: "m1", Work: pageWork(asks, "m1", edited)},
		{Kind: Delete, Cluster: "m1", Work: pageWork(asks, "m1", edited)},
		{Kind: Create, Cluster: "m1"},
	} {
		o := &outcome{}
		c.carryOut(t.Context(), verdict, planned, o)
		if sent := s.sent(); len(sent) > 0 || o.retry == 0 || o.err() != nil {
			t.Errorf("%s: sent %q, looks again after %s: %v", planned.Kind, sent, o.retry, o.err())
		}
	}
	work, _ := c.workAt(page, "m1")
	c.carryOut(t.Context(), verdict, Operation{Kind: Update, Cluster: "m1", Work: work}, &outcome{})
	if diff := cmp.Diff([]string{"update m1 at 8"}, s.sent()); diff != "" {
		t.Errorf("as it is: -want +got:\n%s", diff)
	}
}

// TestDueDeletions: what will not be deleted must not trip the breaker.
func TestDueDeletions(t *testing.T) {
	asks := pageSource("1", "m1")
	c := &Controller{ledger: newLedger(newFakeClock())}
	works := map[string]*Work{
		"m1": pageWork(asks, "m1"), "m2": pageWork(asks, "m2", relabelled), "m3": pageWork(asks, "m3", terminating), "m4": pageWork(asks, "m4", bindingLabel),
	}
	for _, live := range []bool{false, true} {
		due := c.dueDeletions(Decide(Facts{ID: page, Live: live, Works: works}), works)
		if len(due) != 1 || due[0] != works["m1"] {
			t.Errorf("live %v: %d are due", live, len(due))
		}
	}
}

// TestAwaitCaches: a leader does not begin before its caches are there.
func TestAwaitCaches(t *testing.T) {
	s := newAPIServer(t)
	c := newControllerOf(t, s, configured("", "", ""), clock.RealClock{})
	if !c.awaitCaches(t.Context(), nil) || *c.fence.Load() != listVersion {
		t.Errorf("complete caches: the fence is at %s", *c.fence.Load())
	}
	s = newAPIServer(t)
	s.answers["/apis/cluster.karmada.io/v1alpha1/clusters"] = apierrors.NewInternalError(errors.New("boom"))
	looks := counting{clock.RealClock{}, make(chan bool)}
	c = newControllerOf(t, s, configured("", "", ""), looks)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan bool, 1)
	go func() { ended <- c.awaitCaches(ctx, nil) }()
	for range 3 { // it begins to wait for the third look when it has looked twice
		select {
		case <-looks.timers:
		case <-ended:
			t.Fatal("leads without the clusters")
		}
	}
	cancel()
	for {
		select {
		case <-looks.timers:
		case leads := <-ended:
			if leads {
				t.Error("leads though it is to stop")
			}
			return
		}
	}
}

// counting is a clock that tells of each timer.
type counting struct {
	clock.WithTicker
	timers chan bool
}

func (c counting) NewTimer(d time.Duration) clock.Timer {
	c.timers <- true
	return c.WithTicker.NewTimer(d)
}

// TestBelieved: an object that was read when its Namespace had other defaults proves
// nothing, and what was read of it since is believed until the cache has a newer one.
func TestBelieved(t *testing.T) {
	before, now := render.Wishes{}, render.ReadWishes(annotations{render.ClustersAnnotation: "m1"})
	read := func(version string, defaults render.Wishes) *Source {
		u := pageObject(nil)
		u.SetResourceVersion(version)
		return NewSource(u, defaults)
	}
	s := newAPIServer(t)
	s.list(namespacesResource, namespaceObject(annotations{render.ClustersAnnotation: "m1"}))
	c := newControllerOf(t, s, configured("", "", ""), newFakeClock())
	cases := map[string]struct {
		reason   string
		cached   *Source
		reread   *Source
		outdated bool
		want     string // resource version
	}{
		"Current":       {"the cache has it as it is", read("5", now), nil, false, "5"},
		"Outdated":      {"the Namespace has changed since", read("5", before), nil, true, "5"},
		"Reread":        {"it has been read since", read("5", before), read("6", now), false, "6"},
		"RereadBefore":  {"the cache has come farther", read("7", before), read("6", now), true, "7"},
		"RereadByOther": {"it was read when there were yet other defaults", read("5", before), read("6", before), true, "5"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.reread != nil {
				c.rereads.note(tc.reread)
			}
			got, outdated := c.believed(tc.cached)
			if outdated != tc.outdated || got.ResourceVersion != tc.want {
				t.Errorf("%s: version %s, outdated %v", tc.reason, got.ResourceVersion, outdated)
			}
			c.rereads.drop(page)
		})
	}
}

// TestLately: a read serves for a second, unless the cache has seen something newer.
func TestLately(t *testing.T) {
	s := newAPIServer(t)
	clock := newFakeClock()
	c := newControllerOf(t, s, configured("", "", ""), clock)
	reads := func() int {
		t.Helper()
		s.mu.Lock()
		s.requests = nil
		s.mu.Unlock()
		if _, err := c.lately.get(t.Context(), c.clusters, "m1"); err != nil {
			t.Fatal(err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.requests)
	}
	if first, second := reads(), reads(); first != 1 || second != 0 {
		t.Errorf("%d and %d reads of what is current", first, second)
	}
	clock.Step(latelyPeriod + 1)
	if n := reads(); n != 1 {
		t.Errorf("%d reads after a while", n)
	}
	older := clusterObject("m1", "")
	older.SetResourceVersion("4") // the cache has seen 5
	c.lately.read.Set(ClustersResource.String()+"/m1", older, latelyPeriod)
	if n := reads(); n != 1 {
		t.Errorf("%d reads of what is known to have changed", n)
	}
}

// TestShrinkToDelete: a Work for whose deletion there is no room is shrunk and deleted,
// if it is as it was examined.
func TestShrinkToDelete(t *testing.T) {
	const workAt = "/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-m1/works/"
	s := newAPIServer(t)
	examined := pageWork(pageSource("1", "m1"), "m1")
	at := workAt + examined.Name
	s.answers["DELETE "+at] = apierrors.NewInternalError(errors.New("etcdserver: request is too large"))
	s.answers["GET "+at] = pageWorkObject(pageSource("1", "m1"), "m1", version("9"))
	c := newControllerOf(t, s, configured("", "", ""), newFakeClock())
	if err := c.client.delete(t.Context(), examined); err == nil {
		t.Error("no error of what is too large")
	}
	want := []string{"delete m1 if it is work-uid at 7", "shrink m1 at 7", "delete m1 if it is work-uid at 8"}
	if diff := cmp.Diff(want, s.sent()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
