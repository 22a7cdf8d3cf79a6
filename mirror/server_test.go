package mirror

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/metrics"
	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/watch"
)

var (
	configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	widgets    = schema.GroupVersionResource{Group: "example.io", Version: "v1", Resource: "widgets"}
	// collections are all collections of the API server, by path.
	collections = map[string]schema.GroupVersionResource{
		"/apis/policy.karmada.io/v1alpha1/overridepolicies":        state.PoliciesResource,
		"/apis/policy.karmada.io/v1alpha1/clusteroverridepolicies": state.ClusterPoliciesResource,
		"/api/v1/configmaps":                                      configMaps,
		"/api/v1/namespaces":                                      state.NamespacesResource,
		"/api/v1/pods":                                            pods,
		"/apis/example.io/v1/widgets":                             widgets,
		"/apis/example.io/v2/widgets":                             widgetsV2,
		"/apis/cluster.karmada.io/v1alpha1/clusters":              state.ClustersResource,
		"/apis/work.karmada.io/v1alpha1/works":                    render.WorksResource,
		"/apis/apiextensions.k8s.io/v1/customresourcedefinitions": state.DefinitionsResource,
		"/apis/apiregistration.k8s.io/v1/apiservices":             state.APIServicesResource,
	}
)

// The paths of the live reads that matter.
const (
	pageAt              = "/api/v1/namespaces/shop/configmaps/page"
	shopAt              = "/api/v1/namespaces/shop"
	m1At                = "/apis/cluster.karmada.io/v1alpha1/clusters/m1"
	widgetsDefinitionAt = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.io"
)

// listVersion is the resource version of every list.
const listVersion = "100"

// apiServer is an API server at one moment: what its watches have shown, and what it
// answers to a live read, which may differ.
type apiServer struct {
	*httptest.Server

	mu sync.Mutex
	// listed is what the caches hold.
	listed map[schema.GroupVersionResource][]*unstructured.Unstructured
	// leaving are the objects whose deletion the watches report after they have been listed.
	leaving map[schema.GroupVersionResource]*unstructured.Unstructured
	// answers override what is listed, for a path or for a method and a path: with an object
	// or an error. Our Works have a path of their own.
	answers map[string]any
	// asked are functions to call when a path is read.
	asked map[string]func()
	// versions are the resource versions of lists, where they differ from listVersion.
	versions map[schema.GroupVersionResource]string
	// told are the newest versions in events.
	told sync.Map
	// served are the versions that discovery returns, the preferred one first.
	served map[schema.GroupResource][]watch.Served
	// watchesFail makes every watch fail.
	watchesFail atomic.Bool
	// writes are the write requests, in words.
	writes []string
	// events are what the watches report later, by resource.
	events map[schema.GroupVersionResource]chan any
}

func newAPIServer(t testing.TB) *apiServer {
	s := &apiServer{
		listed: map[schema.GroupVersionResource][]*unstructured.Unstructured{}, versions: map[schema.GroupVersionResource]string{},
		leaving: map[schema.GroupVersionResource]*unstructured.Unstructured{}, answers: map[string]any{}, asked: map[string]func(){},
		served: map[schema.GroupResource][]watch.Served{
			configMaps.GroupResource():             {{Resource: configMaps, Kind: sample.Page.GroupKind(), Namespaced: true}},
			widgets.GroupResource():                {{Resource: widgets, Kind: gadget.GroupKind(), Namespaced: true}},
			render.WorksResource.GroupResource():   {{Resource: render.WorksResource, Kind: schema.GroupKind{Group: render.WorksResource.Group, Kind: "Work"}, Namespaced: true}},
			state.ClustersResource.GroupResource(): {{Resource: state.ClustersResource, Kind: schema.GroupKind{Group: state.ClustersResource.Group, Kind: "Cluster"}}},
		},
	}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	s.list(state.ClustersResource, sample.Cluster("m1", ""), sample.Cluster("m2", ""))
	s.list(state.NamespacesResource, sample.Namespace(nil))
	return s
}

// list makes the caches and the API server hold objects of a resource.
func (s *apiServer) list(r schema.GroupVersionResource, objects ...*unstructured.Unstructured) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r == state.NamespacesResource {
		for _, cluster := range []string{"m1", "m2", "m3"} {
			objects = append(objects, executionNamespace(cluster))
		}
	}
	s.listed[r] = objects
}

// listAt makes lists say that they show a version.
func (s *apiServer) listAt(r schema.GroupVersionResource, version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.versions[r] = version
}

// executionNamespace is the namespace that Karmada creates for a cluster, some time after that has joined.
func executionNamespace(cluster string) *unstructured.Unstructured {
	u := sample.Namespace(nil)
	u.SetName(render.ExecutionNamespace(cluster))
	return u
}

// leave makes the caches hold an object until the watch reports its deletion; the API server
// no longer has it.
func (s *apiServer) leave(r schema.GroupVersionResource, u *unstructured.Unstructured) {
	s.list(r, u)
	s.answers[pathOf(r, u)] = apierrors.NewNotFound(r.GroupResource(), u.GetName())
	s.leaving[r] = u.DeepCopy()
	s.leaving[r].SetResourceVersion("101")
}

// reply makes the API server answer from now on with this, for a path or for a method and a path; nil
// is its own answer.
func (s *apiServer) reply(at string, answer any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answers[at] = answer; answer == nil {
		delete(s.answers, at)
	}
}

// onRead makes the API server call a function when a path is read.
func (s *apiServer) onRead(at string, do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked[at] = do
}

// serveNo makes discovery no longer return a resource.
func (s *apiServer) serveNo(r schema.GroupResource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.served, r)
}

// Resolve implements watch.Resolver.
func (s *apiServer) Resolve(_ context.Context, r watch.Resource) (watch.Served, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, served := range s.served[r.GroupResource] {
		if r.Version == "" || r.Version == served.Resource.Version {
			return served, true, nil
		}
	}
	return watch.Served{}, false, nil
}

// ServeHTTP implements http.Handler.
func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	collection, isCollection := collections[r.URL.Path]
	switch query := r.URL.Query(); {
	case r.Method == http.MethodGet && query.Get("sendInitialEvents") == "true":
		reply(w, apierrors.NewInvalid(schema.GroupKind{}, "", nil)) // as API servers do that cannot stream lists
	case r.Method == http.MethodGet && query.Has("watch") && s.watchesFail.Load():
		reply(w, apierrors.NewForbidden(collection.GroupResource(), "", nil))
	case r.Method == http.MethodGet && query.Has("watch"):
		if gone := s.leaving[collection]; gone != nil {
			s.reached(collection, gone.GetResourceVersion())
			reply(w, map[string]any{"type": "DELETED", "object": gone})
		}
		w.(http.Flusher).Flush()
		for {
			select {
			case event := <-s.events[collection]:
				if told, ok := event.(map[string]any); ok {
					if u, ok := told["object"].(*unstructured.Unstructured); ok {
						s.reached(collection, u.GetResourceVersion())
					}
				}
				reply(w, event)
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				return
			}
		}
	case isCollection && r.Method == http.MethodGet:
		reply(w, s.listOf(collection, r.URL.Path, query.Get("labelSelector")))
	default:
		body, _ := io.ReadAll(r.Body)
		reply(w, s.answer(r.Method, r.URL.Path, body))
	}
}

// reached makes the lists of a resource as new as an event about it.
func (s *apiServer) reached(r schema.GroupVersionResource, version string) {
	s.told.Store(r, version)
}

func (s *apiServer) listOf(r schema.GroupVersionResource, at, selector string) any {
	if selector == render.OurWorks {
		at += "?ours"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if refused, isRefused := s.answers[at]; isRefused {
		return refused
	}
	chosen, err := labels.Parse(selector)
	if err != nil {
		return err
	}
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion(r.GroupVersion().String())
	list.SetKind("List")
	list.SetResourceVersion(cmp.Or(s.versions[r], listVersion))
	if told, _ := s.told.LoadOrStore(r, ""); state.IsOlder(list.GetResourceVersion(), told.(string)) {
		list.SetResourceVersion(told.(string))
	}
	for _, u := range s.listed[r] {
		if chosen.Matches(labels.Set(u.GetLabels())) {
			list.Items = append(list.Items, *u)
		}
	}
	return list
}

func (s *apiServer) answer(method, at string, body []byte) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	if method != http.MethodGet {
		s.writes = append(s.writes, inWords(method, at, body))
	}
	if asked, ok := s.asked[at]; ok && method == http.MethodGet {
		asked()
	}
	if answer, ok := s.answers[method+" "+at]; ok {
		return answer
	}
	if answer, ok := s.answers[at]; ok {
		return answer
	}
	if method != http.MethodGet {
		return written("8")
	}
	for r, objects := range s.listed {
		for _, u := range objects {
			if at == pathOf(r, u) {
				return u
			}
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{}, path.Base(at))
}

func pathOf(r schema.GroupVersionResource, u *unstructured.Unstructured) string {
	root := "/apis/" + r.Group + "/"
	if r.Group == "" {
		root = "/api/"
	}
	if u.GetNamespace() == "" {
		return root + path.Join(r.Version, r.Resource, u.GetName())
	}
	return root + path.Join(r.Version, "namespaces", u.GetNamespace(), r.Resource, u.GetName())
}

// written returns the answer to a write.
func written(version string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion("meta.k8s.io/v1")
	u.SetKind("PartialObjectMetadata")
	u.SetResourceVersion(version)
	return u
}

func reply(w http.ResponseWriter, answer any) {
	w.Header().Set("Content-Type", "application/json")
	if err, ok := answer.(*apierrors.StatusError); ok {
		w.WriteHeader(int(err.ErrStatus.Code))
		status := err.ErrStatus // several requests may get the same answer at once
		status.APIVersion, status.Kind = "v1", "Status"
		answer = status
	}
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		panic(err) // a mistake in the test
	}
}

// inWords describes a write: what it does, to which cluster's Work, and on what condition.
func inWords(method, at string, body []byte) string {
	cluster, _ := render.ClusterOf(strings.Split(strings.TrimPrefix(at, "/apis/work.karmada.io/v1alpha1/namespaces/"), "/")[0])
	var sent struct {
		Preconditions struct{ UID, ResourceVersion string }
		Metadata      struct {
			UID, ResourceVersion string
			Labels               map[string]*string
			Finalizers           json.RawMessage
		}
		Status json.RawMessage
	}
	if err := json.Unmarshal(body, &sent); err != nil {
		panic(err) // ours
	}
	ours, isLabelled := sent.Metadata.Labels["app.kubernetes.io/managed-by"]
	held := sent.Metadata.Labels["karmada.target/deletion-held"]
	switch {
	case path.Base(at) == "status":
		return fmt.Sprintf("status %s if it is %s", sent.Status, sent.Metadata.UID)
	case sent.Metadata.Finalizers != nil && cluster == "":
		return fmt.Sprintf("finalizers %s if it is %s at %s", sent.Metadata.Finalizers, sent.Metadata.UID, sent.Metadata.ResourceVersion)
	case method == http.MethodPost:
		return "create " + cluster
	case method == http.MethodDelete:
		return fmt.Sprintf("delete %s if it is %s at %s", cluster, sent.Preconditions.UID, sent.Preconditions.ResourceVersion)
	case held != nil:
		return fmt.Sprintf("hold %s at %s", cluster, sent.Metadata.ResourceVersion)
	case isLabelled && ours == nil:
		return fmt.Sprintf("release %s at %s", cluster, sent.Metadata.ResourceVersion)
	}
	return fmt.Sprintf("update %s at %s", cluster, sent.Metadata.ResourceVersion)
}

// resources is how many resources a configuration has.
const resources = 2

// configured returns a configuration of two resources; deletion is its block of that name.
func configured(namespaces, version, deletion string) string {
	return fmt.Sprintf(`{"apiVersion": "mirror.karmada.target/v1alpha1", "kind": "MirrorConfiguration", "deletion": {%s},
		"resources": [{"resource": "configmaps", "namespaces": [%s]}, {"group": "example.io", "version": %q, "resource": "widgets"}]}`,
		deletion, namespaces, version)
}

func newFakeClock() *clocktesting.FakeClock { return clocktesting.NewFakeClock(sample.Created) }

// newControllerOf creates a Controller that leads, and waits until its caches are complete.
func newControllerOf(t testing.TB, s *apiServer, configuration string, clock clock.WithTicker) *Controller {
	t.Helper()
	connection := &rest.Config{Host: s.URL, QPS: -1}
	client, err := watch.NewClient(connection)
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(Options{
		REST: connection, Dynamic: client, Resolver: s, Events: make(recorded, 100),
		Metrics: metrics.New(prometheus.NewRegistry(), metrics.Build{}), Logger: zap.NewNop(), Clock: clock, ConcurrentSyncs: 2,
		Subject:               func() *corev1.ObjectReference { return nil },
		ConfigurationVersions: func(context.Context) (taken, live string, err error) { return "", "", nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Configure(config.Parts{config.Key: configuration}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := c.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	if err := wait.PollUntilContextCancel(ctx, time.Millisecond, true, func(context.Context) (bool, error) { return areAsTheyWillBe(c, s), nil }); err != nil {
		t.Fatal("the caches are not complete")
	}
	c.fence.Store(new("1"))
	return c
}

// areAsTheyWillBe reports whether each watch has synced, or cannot, and knows of deletions.
func areAsTheyWillBe(c *Controller, s *apiServer) bool {
	sources := c.caches.Sources()
	fails := slices.ContainsFunc(c.caches.Fixed(), func(w *watch.Watch) bool { return w.Status().Err != nil })
	return len(sources) == resources && !slices.ContainsFunc(slices.Concat(sources, c.caches.Fixed(), c.caches.Definitions()), func(w *watch.Watch) bool {
		status := w.Status()
		return !status.Synced && !status.Unserved && (status.Err == nil || errors.Is(status.Err, watch.ErrNotKnownYet) && !fails) || len(w.List()) > 0 && s.leaving[w.Resource.WithVersion(w.Resource.Version)] != nil
	})
}

// gadget is a custom resource.
var gadget = render.Identity{Group: "example.io", Kind: "Widget", Namespace: "shop", Name: "gadget"}

func gadgetObject(clusters string) *unstructured.Unstructured {
	u := sample.Object(sample.Annotations{render.ClustersAnnotation: clusters})
	u.SetAPIVersion("example.io/v1")
	u.SetKind(gadget.Kind)
	u.SetName(gadget.Name)
	u.SetResourceVersion("6")
	return u
}

func definitionObject() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(state.DefinitionsResource.GroupVersion().WithKind("CustomResourceDefinition"))
	u.SetName("widgets.example.io")
	u.SetCreationTimestamp(metav1.NewTime(sample.Created.Add(-1)))
	return u
}

// readyCluster is a cluster that has been ready for some time.
func readyCluster(name string, since time.Time) *unstructured.Unstructured {
	u := sample.Cluster(name, "")
	u.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True", "reason": "x", "message": "", "lastTransitionTime": since.Format(time.RFC3339)}}}
	return u
}
