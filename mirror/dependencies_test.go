package mirror

import (
	"context"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/mirror/write"
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
	s.reply(webAt, apierrors.NewNotFound(pods.GroupResource(), web.Name))
	c := newControllerOf(t, s, podConfiguration, newFakeClock())
	if len(c.caches.Facts(web).Dependencies) == 0 {
		t.Fatal("nothing is missing, by the cache")
	}
	if _, err := c.reconcile(t.Context(), web, write.Others); err != nil {
		t.Error(err)
	}
}

// TestDependenciesAreLive: the dependencies are those of the live object, each reported once.
func TestDependenciesAreLive(t *testing.T) {
	s := podServer(t, sample.Object(nil))
	now := podNeeding("m1", "other")
	now.SetResourceVersion("9")
	s.reply(webAt, now)
	c := newControllerOf(t, s, podConfiguration, newFakeClock())
	if f, err := c.caches.LiveFacts(t.Context(), web); err != nil || len(f.Dependencies) > 0 {
		t.Errorf("it needs %v: %v", f.Dependencies, err)
	}
	s.reply(webAt, podNeeding("m1", "page"))
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

// lacking is why a Pod is noticed, by the caches.
func lacking(c *Controller) (reasons []judge.Reason) {
	for _, n := range judge.On(c.caches.Facts(web)).Verdict.Notices {
		reasons = append(reasons, n.Reason)
	}
	return reasons
}

// TestDependencyWork: the Work of an object that a Pod needs, and that does not ask, goes or comes.
func TestDependencyWork(t *testing.T) {
	work := sample.Work(sample.Asking("1", "m1"), "m1")
	there := podServer(t, sample.Object(nil))
	there.list(render.WorksResource, work)
	with, without := newControllerOf(t, there, podConfiguration, newFakeClock()), newControllerOf(t, podServer(t, sample.Object(nil)), podConfiguration, newFakeClock())
	if before, after := lacking(with), lacking(without); len(before) != 0 || len(after) != 1 {
		t.Fatalf("noticed: %v with the Work, %v without", before, after)
	}
	q := leading(t, without)
	without.workChanged(state.NewWork(work), nil)
	if !q.IsPending(web) {
		t.Error("the Pod is not synced when the Work is gone")
	}
	q = leading(t, with)
	with.workChanged(nil, state.NewWork(work))
	if !q.IsPending(web) {
		t.Error("the Pod is not synced when the Work is there")
	}
}

// TestDependencyRelabelled: an object that a Pod needs no longer selects the Pod's cluster, or does now.
func TestDependencyRelabelled(t *testing.T) {
	of := func(tier string) *Controller {
		s := podServer(t, sample.Object(sample.Annotations{render.ClusterSelectorAnnotation: "tier=edge"}))
		s.list(state.ClustersResource, sample.Cluster("m1", tier), sample.Cluster("m2", ""))
		return newControllerOf(t, s, podConfiguration, newFakeClock())
	}
	edge, core := of("edge"), of("core")
	if a, b := lacking(edge), lacking(core); len(a) != 0 || len(b) != 1 {
		t.Fatalf("noticed: %v if it is selected, else %v", a, b)
	}
	for now, c := range map[string]*Controller{"core": core, "edge": edge} {
		before := map[string]string{"core": "edge", "edge": "core"}[now]
		q := leading(t, c)
		c.clusterChanged(state.NewCluster(sample.Cluster("m1", before)), state.NewCluster(sample.Cluster("m1", now)))
		if !q.IsPending(web) {
			t.Errorf("the Pod is not synced when the cluster becomes %s", now)
		}
	}
}

// TestDependencyListed: ConfigMaps are added to the configuration, and listed after the Pod was looked at.
func TestDependencyListed(t *testing.T) {
	s := podServer(t, sample.Object(nil))
	c := newControllerOf(t, s, `{"apiVersion": "mirror.karmada.target/v1alpha1", "kind": "MirrorConfiguration", "resources": [{"group": "example.io", "version": "v1", "resource": "widgets"}, {"resource": "pods"}]}`, newFakeClock())
	q := leading(t, c)
	s.reply("/api/v1/configmaps", apierrors.NewServiceUnavailable("later"))
	if err := c.Configure(config.Parts{config.Key: podConfiguration}); err != nil {
		t.Fatal(err)
	}
	if n := lacking(c); !q.IsPending(web) || len(n) != 0 {
		t.Fatalf("before the list: pending %t, noticed %v", q.IsPending(web), n)
	}
	waiting(q)
	s.reply("/api/v1/configmaps", nil)
	isSeen := func(context.Context) (bool, error) { return len(lacking(c)) == 1 && q.IsPending(web), nil }
	if err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 10*time.Second, true, isSeen); err != nil {
		t.Errorf("the Pod is not synced when the ConfigMaps have been listed: %v, pending %t", lacking(c), q.IsPending(web))
	}
}

// TestDependencyOfInheriting: a Pod is mirrored because its Namespace asks, and what it needs opts out.
func TestDependencyOfInheriting(t *testing.T) {
	inherits, optsOut := sample.Object(nil), sample.Object(sample.Annotations{render.ClustersAnnotation: ""})
	pod := podNeeding("m1", "page")
	pod.SetAnnotations(nil)
	s := podServer(t, optsOut.DeepCopy())
	s.list(pods, pod)
	s.list(state.NamespacesResource, sample.Namespace(sample.Annotations{render.ClustersAnnotation: "m1"}))
	c := newControllerOf(t, s, podConfiguration, newFakeClock())
	if n := lacking(c); len(n) != 1 {
		t.Fatal(n)
	}
	q := leading(t, c)
	c.objectChanged(state.NewObject(inherits), state.NewObject(optsOut))
	if !q.IsPending(web) {
		t.Error("the Pod is not synced")
	}
}

// TestDependencyOfAnotherDaemon: what is not watched may be another daemon's, which mirrors it: its Work is there.
func TestDependencyOfAnotherDaemon(t *testing.T) {
	pod := podNeeding("m1", "page")
	pod.SetAnnotations(nil)
	s := podServer(t, sample.Object(nil))
	s.list(pods, pod)
	s.list(state.NamespacesResource, sample.Namespace(sample.Annotations{render.ClustersAnnotation: "m1"}))
	s.list(render.WorksResource, sample.Work(sample.Asking("1", "m1"), "m1"), sample.Work(podNeeding("m1", "page"), "m1"))
	c := newControllerOf(t, s, `{"apiVersion": "mirror.karmada.target/v1alpha1", "kind": "MirrorConfiguration", "resources": [{"group": "example.io", "version": "v1", "resource": "widgets"}, {"resource": "pods"}]}`, newFakeClock())
	leading(t, c)
	if _, err := c.reconcile(t.Context(), web, write.Others); err != nil {
		t.Fatal(err)
	}
	if told := c.announcements.take(); len(told) != 0 {
		t.Errorf("told %+v", told)
	}
}
