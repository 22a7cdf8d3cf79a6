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
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// TestReconcile looks at one source, with caches that say one thing and an API server
// that may say another: what is written is what the server was sent.
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
		configuration string // in force; empty is that of all namespaces
		fence         string // empty is long ago
		look          render.Identity
		defined       bool // the process has known the definition of widgets
		want          []string
		fails         bool
	}{
		"New": {reason: "what is asked for is created",
			state: func(s *apiServer) { s.list(configMaps, object("m1,m2")) },
			want:  []string{"create m1", "create m2"}},
		"AsWanted": {reason: "what is as wanted is not written",
			state: func(s *apiServer) { s.list(configMaps, object("m1")); s.list(render.WorksResource, work) }},
		"Orphan": {reason: "what a live read proves to be unwanted is deleted, if it is as it was examined",
			state: func(s *apiServer) { s.list(render.WorksResource, work) },
			want:  deleted},
		"LostByTheCache": {reason: "what the cache has lost and the API server has is not deleted",
			state: func(s *apiServer) { s.list(render.WorksResource, work); s.answers[pageAt] = object("m1") }},
		"Moved": {reason: "creates go before deletes",
			state: func(s *apiServer) { s.list(configMaps, object("m2")); s.list(render.WorksResource, work) },
			want:  append([]string{"create m2"}, deleted...)},
		"AsksAgain": {reason: "what has been asked for since is not deleted",
			state: func(s *apiServer) {
				s.list(configMaps, object("m2"))
				s.list(render.WorksResource, work, sample.Work(asks, "m2"))
				s.answers[pageAt] = object("m1,m2")
			}},
		"CannotBeRead": {reason: "an error proves nothing",
			state: func(s *apiServer) { s.list(render.WorksResource, work); s.answers[pageAt] = boom },
			fails: true},
		"NoPath": {reason: "a 404 that does not name the object is not of the object",
			state: func(s *apiServer) {
				s.list(render.WorksResource, work)
				s.answers[pageAt] = &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound}}
			},
			fails: true},
		"NoNamespace": {reason: "nor is one that names another",
			state: func(s *apiServer) {
				s.list(render.WorksResource, work)
				s.answers[pageAt] = apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "shop")
			},
			fails: true},
		"AnotherObject": {reason: "the answer must be the object",
			state: func(s *apiServer) {
				another := object("m2")
				another.SetName("another")
				s.list(render.WorksResource, work)
				s.answers[pageAt] = another
			},
			fails: true},
		"LeftOut": {reason: "what leaves the configuration is not deleted",
			state:         func(s *apiServer) { s.list(render.WorksResource, work) },
			configuration: configured(`"other"`, "", "")},
		"SourcesUnsynced": {reason: "what has not been listed is not absent",
			state: func(s *apiServer) { s.list(render.WorksResource, work); s.answers["/api/v1/configmaps"] = boom }},
		"NamespaceUnseen": {reason: "what a Namespace says and is labelled is not known before it is seen",
			state: func(s *apiServer) { s.list(configMaps, object("m1")); s.list(state.NamespacesResource) }},
		"WorksUnsynced": {reason: "nor are Works",
			state: func(s *apiServer) {
				s.list(configMaps, object("m1"))
				s.answers["/apis/work.karmada.io/v1alpha1/works?ours"] = boom
			}},
		"LabelGone": {reason: "a cluster that has lost the label loses the object",
			state: func(s *apiServer) { s.list(configMaps, selecting); s.list(render.WorksResource, work) },
			want:  deleted},
		"LabelInSpiteOfTheCache": {reason: "but not one that bears it by a live read",
			state: func(s *apiServer) {
				s.list(configMaps, selecting)
				s.list(render.WorksResource, work)
				s.answers[m1At] = sample.Cluster("m1", "edge")
			}},
		"LabelsCannotBeRead": {reason: "an error proves nothing of labels either",
			state: func(s *apiServer) {
				s.list(configMaps, selecting)
				s.list(render.WorksResource, work)
				s.answers[m1At] = boom
			},
			fails: true},
		"DefaultInSpiteOfTheCache": {reason: "what its Namespace asks for by a live read is not deleted",
			state: func(s *apiServer) {
				s.list(configMaps, sample.Object(nil))
				s.list(render.WorksResource, work)
				s.answers[shopAt] = sample.Namespace(sample.Annotations{render.ClustersAnnotation: "m1"})
			}},
		"DefaultCannotBeRead": {reason: "and nothing is known while that cannot be read",
			state: func(s *apiServer) {
				s.list(configMaps, sample.Object(nil))
				s.list(render.WorksResource, work)
				s.answers[shopAt] = boom
			},
			fails: true},
		"StaleCacheOfANewLeader": {reason: "a cache from before the leader led brings nothing back",
			state: func(s *apiServer) { s.list(configMaps, object("m1")); s.answers[pageAt] = sample.Object(nil) },
			fence: "200"},
		"FreshCacheOfANewLeader": {reason: "one from after is believed",
			state: func(s *apiServer) { s.list(configMaps, object("m1")); s.answers[pageAt] = sample.Object(nil) },
			fence: listVersion,
			want:  []string{"create m1"}},
		"DefinitionGone": {reason: "what goes with its definition is held, however few",
			state:   func(s *apiServer) { s.list(render.WorksResource, ofGadget); s.served[widgets.GroupResource()] = nil },
			look:    gadget,
			defined: true,
			want:    []string{"hold m1 at 7"}},
		"DefinitionThere": {reason: "a definition that is there and not served yet proves nothing",
			state: func(s *apiServer) {
				s.list(render.WorksResource, ofGadget)
				s.served[widgets.GroupResource()] = nil
				s.answers[widgetsDefinitionAt] = definitionObject()
			},
			look:    gadget,
			defined: true,
			fails:   true},
		"DefinitionCannotBeRead": {reason: "nor does an error",
			state: func(s *apiServer) {
				s.list(render.WorksResource, ofGadget)
				s.served[widgets.GroupResource()] = nil
				s.answers[widgetsDefinitionAt] = boom
			},
			look:    gadget,
			defined: true,
			fails:   true},
		"DefinitionUnknown": {reason: "how an object went is not known while its definition cannot be read",
			state: func(s *apiServer) { s.list(render.WorksResource, ofGadget); s.answers[widgetsDefinitionAt] = boom },
			look:  gadget,
			fails: true},
		"OtherVersionServed": {reason: "nor does a version that is not served, if another is",
			state:         func(s *apiServer) { s.list(render.WorksResource, ofGadget) },
			configuration: configured("", "v2", ""),
			look:          gadget,
			defined:       true,
			fails:         true},
		"NeverDefined": {reason: "what an aggregated API server serves has no definition, and is there while that is away",
			state: func(s *apiServer) { s.list(render.WorksResource, ofGadget); s.served[widgets.GroupResource()] = nil },
			look:  gadget},
		"DefinedBeforeTheRestart": {reason: "what another process has marked says that there was one",
			state: func(s *apiServer) {
				s.list(render.WorksResource, ofGadget, sample.Work(gadgetObject("m2"), "m2", sample.MarkedAs(judge.BecauseDefinitionDeleted)))
				s.served[widgets.GroupResource()] = nil
			},
			look: gadget,
			want: []string{"hold m1 at 7"}},
		"GoingBeforeTheRestart": {reason: "also if that was on its way",
			state: func(s *apiServer) {
				s.list(render.WorksResource, ofGadget, sample.Work(gadgetObject("m2"), "m2", sample.MarkedAs(judge.BecauseDefinitionTerminating)))
				s.served[widgets.GroupResource()] = nil
			},
			look: gadget,
			want: []string{"hold m1 at 7"}},
		"MarkedForAnother": {reason: "but not what was marked for another reason",
			state: func(s *apiServer) {
				s.list(render.WorksResource, ofGadget, sample.Work(gadgetObject("m2"), "m2", sample.MarkedAs("the source does not exist")))
				s.served[widgets.GroupResource()] = nil
			},
			look: gadget},
		"GoneWithItsDefinition": {reason: "an object is found absent before the watch tells that its definition is",
			state: func(s *apiServer) {
				s.list(render.WorksResource, ofGadget)
				s.list(state.DefinitionsResource, definitionObject())
				s.answers[widgetsDefinitionAt] = apierrors.NewNotFound(state.DefinitionsResource.GroupResource(), "widgets.example.io")
			},
			look: gadget,
			want: []string{"hold m1 at 7"}},
		"GoneByItself": {reason: "and is deleted if that is there as before",
			state: func(s *apiServer) {
				s.list(render.WorksResource, ofGadget)
				s.list(state.DefinitionsResource, definitionObject())
			},
			look: gadget,
			want: deleted},
		"HeldAlready": {reason: "what is marked is not marked again, for a later mark needs a later approval",
			state: func(s *apiServer) { s.list(render.WorksResource, sample.Work(asks, "m1", sample.Marked)) }},
		"HashOfAnother": {reason: "a source whose hash begins alike has nothing to do with it",
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

// bucketmate is a source whose hash begins as that of the page does, by more than what the
// caches find Works by.
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
	t.Fatal("no other source is in the bucket of the page")
	return nil
}

// TestReconcileCountsDeletions: those that were made hold back those that follow.
func TestReconcileCountsDeletions(t *testing.T) {
	s := newAPIServer(t)
	other := sample.Object(sample.Annotations{render.ClustersAnnotation: "m2"})
	other.SetName("other")
	otherID := render.Identity{Kind: sample.Page.Kind, Namespace: sample.Page.Namespace, Name: "other"}
	s.list(render.WorksResource, sample.Work(sample.Asking("1", "m1"), "m1"), sample.Work(other, "m2"))
	c := newControllerOf(t, s, configured("", "", `"holdAbove": {"works": 1, "percent": 10}`), newFakeClock())
	for _, id := range []render.Identity{sample.Page, sample.Page, otherID} { // the second time on its way
		if _, err := c.reconcile(t.Context(), id, false); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"delete m1 if it is work-uid at 7", "hold m2 at 7"}, s.sent()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestCountWorks: the share that a deletion is of is of what this daemon has to lose.
func TestCountWorks(t *testing.T) {
	s := newAPIServer(t)
	elsewhere := sample.Asking("2", "m1")
	elsewhere.SetNamespace("other")
	s.list(render.WorksResource, sample.Work(sample.Asking("1", "m1"), "m1"), sample.Work(elsewhere, "m1"), sample.Work(sample.Asking("1", "m2"), "m2", sample.Terminating))
	c := newControllerOf(t, s, configured(`"shop"`, "", ""), newFakeClock())
	if n := c.caches.CountWorks(sample.Page.GroupKind()); n[sample.Page.Namespace] != 1 || len(n) != 1 {
		t.Errorf("counted %v, and not the one that stays and is of the configuration", n)
	}
}

// TestCaughtUp: whoever begins to lead knows the Namespaces and Clusters as they are.
func TestCaughtUp(t *testing.T) {
	newer := func(u *unstructured.Unstructured) *unstructured.Unstructured {
		u.SetResourceVersion("6")
		return u
	}
	cases := map[string]struct {
		reason string
		now    func(*apiServer)
		behind bool
	}{
		"Same":    {"nothing has happened", func(*apiServer) {}, false},
		"Default": {"a Namespace has got a default since", func(s *apiServer) { s.list(state.NamespacesResource, newer(sample.Namespace(nil))) }, true},
		"Made": {"one was made", func(s *apiServer) {
			s.list(state.NamespacesResource, sample.Namespace(nil), newer(sample.Cluster("other", "")))
		}, true},
		"Gone": {"one is gone", func(s *apiServer) { s.list(state.NamespacesResource) }, true},
		"Label": {"a Cluster has got a label", func(s *apiServer) {
			s.list(state.ClustersResource, newer(sample.Cluster("m1", "edge")), sample.Cluster("m2", ""))
		}, true},
		"Older": {"the cache may be newer", func(s *apiServer) {
			u := sample.Namespace(nil)
			u.SetResourceVersion("4")
			s.list(state.NamespacesResource, u)
		}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newAPIServer(t)
			c := newControllerOf(t, s, configured("", "", ""), newFakeClock())
			tc.now(s)
			err := c.caches.CaughtUp(t.Context())
			if errors.Is(err, gather.ErrBehind) != tc.behind {
				t.Errorf("%s: %v", tc.reason, err)
			}
		})
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
	s.answers["/apis/work.karmada.io/v1alpha1/works?ours"] = apierrors.NewInternalError(errors.New("boom"))
	looks := counting{clock.RealClock{}, make(chan bool)}
	c = newControllerOf(t, s, configured("", "", ""), looks)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan bool, 1)
	go func() { ended <- c.awaitCaches(ctx, nil) }()
	for range 3 { // it begins to wait for the third look when it has looked twice
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
