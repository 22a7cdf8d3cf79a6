package mirror

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/watch"
)

var pods = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

var web = render.Identity{Kind: "Pod", Namespace: "shop", Name: "web"}

const webAt = "/api/v1/namespaces/shop/pods/web"

// podNeeding is a Pod that needs a ConfigMap.
func podNeeding(clusters, configMap string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"namespace": web.Namespace, "name": web.Name, "uid": "1", "resourceVersion": "5", "creationTimestamp": "2026-01-02T03:04:05Z"},
		"spec":     map[string]any{"containers": []any{map[string]any{"name": "c", "envFrom": []any{map[string]any{"configMapRef": map[string]any{"name": configMap}}}}}},
	}}
	u.SetAnnotations(map[string]string{render.ClustersAnnotation: clusters})
	return u
}

// podServer serves a Pod for m1 that needs a ConfigMap, and that ConfigMap.
func podServer(t *testing.T, page *unstructured.Unstructured) *apiServer {
	t.Helper()
	s := newAPIServer(t)
	s.served[pods.GroupResource()] = []watch.Served{{Resource: pods, Kind: schema.GroupKind{Kind: "Pod"}, Namespaced: true}}
	s.list(pods, podNeeding("m1", "page"))
	s.list(configMaps, page)
	return s
}

const podConfiguration = `{"apiVersion": "mirror.karmada.target/v1alpha1", "kind": "MirrorConfiguration", "resources": [{"resource": "configmaps"}, {"resource": "pods"}]}`

// TestDependenciesOfTheGone: a workload with an unmirrored dependency that the live read finds
// deleted needs nothing.
func TestDependenciesOfTheGone(t *testing.T) {
	s := podServer(t, sample.Object(nil))
	s.list(render.WorksResource, sample.Work(podNeeding("m1", "page"), "m1"), sample.Work(podNeeding("m1", "page"), "m2"))
	s.answers[webAt] = apierrors.NewNotFound(pods.GroupResource(), web.Name)
	c := newControllerOf(t, s, podConfiguration, newFakeClock())
	if len(c.caches.Facts(web).Dependencies) == 0 {
		t.Fatal("nothing is missing, by the cache")
	}
	if _, err := c.reconcile(t.Context(), web, false); err != nil {
		t.Error(err)
	}
}

// TestDependenciesAreLive: the dependencies are those of the live object, each reported once.
func TestDependenciesAreLive(t *testing.T) {
	s := podServer(t, sample.Object(nil))
	now := podNeeding("m1", "other")
	now.SetResourceVersion("9")
	s.answers[webAt] = now
	c := newControllerOf(t, s, podConfiguration, newFakeClock())
	if f, err := c.caches.LiveFacts(t.Context(), web); err != nil || len(f.Dependencies) > 0 {
		t.Errorf("it needs %v: %v", f.Dependencies, err)
	}
	s.answers[webAt] = podNeeding("m1", "page")
	if f, err := c.caches.LiveFacts(t.Context(), web); err != nil || len(f.Dependencies) != 1 {
		t.Errorf("it needs %v: %v", f.Dependencies, err)
	}
}

// TestNeedingIsLookedAt: when a dependency of a workload changes, the workload is synced.
func TestNeedingIsLookedAt(t *testing.T) {
	c := newControllerOf(t, podServer(t, sample.Asking("1", "m1")), podConfiguration, newFakeClock())
	q := leading(t, c)
	other := sample.Object(nil)
	other.SetName("other")
	c.objectChanged(nil, state.NewObject(other))
	if q.IsPending(web) {
		t.Error("the Pod is synced for a ConfigMap that it does not need")
	}
	c.objectChanged(state.NewObject(sample.Asking("1", "m1")), state.NewObject(sample.Object(nil)))
	if !q.IsPending(web) {
		t.Error("the Pod that needs the ConfigMap is not synced")
	}
}

// TestNamespaceMessage: the message names each missing cluster.
func TestNamespaceMessage(t *testing.T) {
	s := newAPIServer(t)
	s.list(state.NamespacesResource, sample.Namespace(sample.Annotations{render.ClustersAnnotation: "x1,m1,x2"}))
	c := newControllerOf(t, s, configured("", "", ""), newFakeClock())
	leading(t, c)
	c.reportNamespace(sample.Page.Namespace)
	const want = `no cluster "x1", "x2" has joined yet: correct the default of this Namespace, or let the cluster join`
	var told []string
	for _, a := range c.announcements.take() {
		told = append(told, a.refusal.Message)
	}
	for _, message := range told {
		if message == want {
			return
		}
	}
	t.Errorf("reported: %q", told)
}
