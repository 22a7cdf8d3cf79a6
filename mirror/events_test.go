package mirror

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/metrics"
	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/queue"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/watch"
)

// TestChangesAreEvents changes one thing after another, at random. Whenever a judgement on a source is
// another one afterwards, its sync must have been requested: a sweep would find it only much later, and
// what is said to users never.
func TestChangesAreEvents(t *testing.T) {
	for seed := range uint64(32) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newShifting(t, seed)
				for step := range 100 {
					w.step(t, step)
				}
			})
		})
	}
}

var deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}

// shiftingKinds are the kinds that there are.
var shiftingKinds = map[schema.GroupVersionResource]string{
	configMaps: "ConfigMap", deployments: "Deployment", state.AutoscalerResources[state.AutoscalerKind]: "HorizontalPodAutoscaler",
	state.NamespacesResource: "Namespace", state.ClustersResource: "Cluster", render.WorksResource: "Work",
	state.PoliciesResource: "OverridePolicy", state.ClusterPoliciesResource: "ClusterOverridePolicy",
	state.DefinitionsResource: "CustomResourceDefinition", state.APIServicesResource: "APIService",
}

// shiftingSources are the resources and names of the sources, all in one Namespace.
var shiftingSources = []spot{
	{configMaps, "shop", "cm-0"}, {configMaps, "shop", "cm-1"}, {deployments, "shop", "dep-0"}, {deployments, "shop", "dep-1"},
	{state.AutoscalerResources[state.AutoscalerKind], "shop", "hpa-0"},
}

// spot is where an object is.
type spot struct {
	resource        schema.GroupVersionResource
	namespace, name string
}

func (p spot) identity() render.Identity {
	return render.Identity{Group: p.resource.Group, Kind: shiftingKinds[p.resource], Namespace: p.namespace, Name: p.name}
}

// shifting is a Controller whose caches follow a control plane that changes at random.
type shifting struct {
	*rand.Rand
	*Controller
	client  *fake.FakeDynamicClient
	version int
}

func newShifting(t *testing.T, seed uint64) *shifting {
	lists := map[schema.GroupVersionResource]string{corev1.SchemeGroupVersion.WithResource("events"): "EventList"} // watched while a wave waits
	for r, kind := range shiftingKinds {
		lists[r] = kind + "List"
	}
	w := &shifting{Rand: rand.New(rand.NewPCG(seed, 0)), client: fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists), version: 100}
	w.set(t, spot{state.NamespacesResource, "", "shop"}, w.namespace())
	for _, cluster := range []string{"m1", "m2", "m3"} {
		w.set(t, spot{state.NamespacesResource, "", render.ExecutionNamespace(cluster)}, executionNamespace(cluster))
	}
	for range 60 {
		at, u := w.draw()
		w.set(t, at, u)
	}
	c, err := New(Options{
		REST: &rest.Config{Host: "http://127.0.0.1:1"}, Dynamic: w.client, Resolver: w, Events: make(recorded, 1000), ConcurrentSyncs: 1,
		Metrics: metrics.New(prometheus.NewRegistry(), metrics.Build{}), Logger: zap.NewNop(), Clock: newFakeClock(),
		Subject:               func() *corev1.ObjectReference { return nil },
		ConfigurationVersions: func(context.Context) (taken, live string, err error) { return "", "", nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Configure(config.Parts{config.Key: `{"apiVersion": "mirror.karmada.target/v1alpha1", "kind": "MirrorConfiguration", "overridePolicies": "Honor", "resources": [
		{"resource": "configmaps"}, {"group": "apps", "resource": "deployments"}, {"group": "autoscaling", "version": "v2", "resource": "horizontalpodautoscalers"}]}`}); err != nil {
		t.Fatal(err)
	}
	w.Controller = c
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = c.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	eventually(t, "the caches to be complete", func() bool {
		watches := slices.Concat(c.caches.Sources(), c.caches.Fixed(), c.caches.Definitions())
		return len(c.caches.Sources()) == 3 && c.caches.HasSynced() && !slices.ContainsFunc(watches, func(watched *watch.Watch) bool {
			return !watched.Status().Synced || !w.isWatched(watched.Resource.GroupResource)
		})
	})
	c.fence.Store(new("1"))
	return w
}

// isWatched reports whether the watch that follows the first list has begun: unlike an API server, the fake keeps
// no events for it.
func (w *shifting) isWatched(gr schema.GroupResource) bool {
	return slices.ContainsFunc(w.client.Actions(), func(a clienttesting.Action) bool {
		return a.GetVerb() == "watch" && a.GetResource().GroupResource() == gr
	})
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) { return is(), nil }); err != nil {
		t.Fatalf("waiting for %s: %v", what, err)
	}
}

// Resolve implements watch.Resolver.
func (w *shifting) Resolve(_ context.Context, r watch.Resource) (watch.Served, bool, error) {
	for gvr, kind := range shiftingKinds {
		if gvr.GroupResource() == r.GroupResource {
			return watch.Served{Resource: gvr, Kind: schema.GroupKind{Group: gvr.Group, Kind: kind}, Namespaced: true}, true, nil
		}
	}
	return watch.Served{}, false, nil
}

// set stores an object, or deletes it if it is nil.
func (w *shifting) set(t *testing.T, at spot, u *unstructured.Unstructured) {
	t.Helper()
	objects := w.client.Resource(at.resource).Namespace(at.namespace)
	w.version++
	var err error
	if u == nil {
		err = objects.Delete(t.Context(), at.name, metav1.DeleteOptions{})
	} else {
		u.SetResourceVersion(strconv.Itoa(w.version))
		if _, err = objects.Update(t.Context(), u, metav1.UpdateOptions{}); apierrors.IsNotFound(err) {
			_, err = objects.Create(t.Context(), u, metav1.CreateOptions{})
		}
	}
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
}

// step makes a change and compares the judgements on all sources.
func (w *shifting) step(t *testing.T, step int) {
	at, u := w.draw()
	before := map[spot][]string{}
	for _, source := range shiftingSources {
		w.sync(t, source)
	}
	synctest.Wait()
	q := queue.New("mirror", w.memory.IsFresh, 2)
	w.queue.Store(q)
	defer q.ShutDown()
	for _, source := range shiftingSources {
		before[source] = w.judge(source)
	}
	w.set(t, at, u)
	synctest.Wait() // until the handlers have run
	for _, source := range shiftingSources {
		after := w.judge(source)
		isLookedAt := q.IsPending(source.identity()) || keepsNeeded(before[source]) || keepsNeeded(after) // every minute
		if !slices.Equal(before[source], after) && !isLookedAt {
			t.Errorf("step %d: no sync of %s is requested for a change of %s %s, -before +after:\n%s", step, source.name, shiftingKinds[at.resource], at.name, cmp.Diff(before[source], after))
		}
	}
}

// keepsNeeded reports whether a judgement keeps what Pods need.
func keepsNeeded(judgement []string) bool {
	return slices.ContainsFunc(judgement, func(line string) bool { return strings.HasPrefix(line, "needed ") })
}

// sync does what a sync does, but for writes.
func (w *shifting) sync(t *testing.T, source spot) {
	t.Helper()
	j, err := w.look(t.Context(), w.caches.Facts(source.identity()))
	if err != nil {
		t.Fatal(err)
	}
	w.report(j.Facts, j.Verdict.Refusals, j.Verdict.Notices)
	w.caches.NoteRollout(j)
}

// judge returns what follows from the judgement on a source, by the caches.
func (w *shifting) judge(source spot) (all []string) {
	j := judge.On(w.caches.Facts(source.identity()))
	creates := false
	for _, op := range j.Plan {
		creates = creates || op.Kind == judge.Create
		if op.Kind != judge.Wake { // that it ends, no one needs to know
			all = append(all, fmt.Sprint(op.Kind, " ", op.Cluster))
		}
	}
	for cluster, target := range j.Verdict.Targets {
		if target.Decision == judge.Wanted {
			all = append(all, fmt.Sprintf("%s has %x", cluster, target.Digest()))
		}
	}
	for _, due := range j.Due {
		all = append(all, "due "+due.Namespace)
	}
	for _, r := range slices.Concat(j.Verdict.Refusals, j.Verdict.Notices) {
		if r.Reason != judge.KindNotServed || !creates { // a Work that cannot be created yet is retried
			all = append(all, string(r.Reason)+" "+r.Message)
		}
	}
	for cluster, target := range j.Verdict.Targets {
		if strings.Contains(target.Because, "need it there until") {
			all = append(all, "needed "+cluster)
		}
		if target.Lost != nil {
			all = append(all, fmt.Sprint("lost ", cluster, target.Lost))
		}
	}
	slices.Sort(all)
	return append(all, fmt.Sprint("finalizer ", j.Finalizer(), ", waves ", j.Verdict.Rollout.Current()))
}

// draw chooses a change: an object and where it is, or nil if it is deleted.
func (w *shifting) draw() (spot, *unstructured.Unstructured) {
	source := shiftingSources[w.IntN(len(shiftingSources))]
	cluster := w.pick("m1", "m1", "m2", "m3")
	deleted := w.chance(15)
	var at spot
	var u *unstructured.Unstructured
	switch n := w.IntN(20); {
	case n < 7:
		at, u = spot{state.ClustersResource, "", cluster}, w.cluster(cluster)
	case n < 8:
		return spot{state.NamespacesResource, "", "shop"}, w.namespace()
	case n < 9:
		at, u = spot{state.NamespacesResource, "", render.ExecutionNamespace(cluster)}, executionNamespace(cluster)
	case n < 13:
		at, u = source, w.source(source)
	case n < 15:
		at = []spot{{state.PoliciesResource, "shop", "op"}, {state.ClusterPoliciesResource, "", "cop"}}[w.IntN(2)]
		u = w.policy(at)
	default:
		id := source.identity()
		at = spot{render.WorksResource, render.ExecutionNamespace(cluster), w.pick(id.WorkName(), id.WorkName(), id.WorkName(), id.LongWorkName())}
		u = w.work(source, at, cluster)
	}
	if deleted {
		return at, nil
	}
	return at, u
}

func (w *shifting) pick(of ...string) string { return of[w.IntN(len(of))] }

// chance is true in so many of a hundred cases.
func (w *shifting) chance(percent int) bool { return w.IntN(100) < percent }

func (w *shifting) object(at spot) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(at.resource.GroupVersion().WithKind(shiftingKinds[at.resource]))
	u.SetNamespace(at.namespace)
	u.SetName(at.name)
	u.SetUID(types.UID("uid-" + at.name))
	u.SetCreationTimestamp(metav1.NewTime(sample.Created.Add(-24 * time.Hour)))
	return u
}

// wishes returns annotations, some of which cannot be read.
func (w *shifting) wishes(percent int) map[string]string {
	wishes := map[string]string{}
	choices := map[string][]string{
		render.ClustersAnnotation:           {"", "m1", "m1,m2", "*", "m*,!m2", "!m3", "m4", "M1", "m9,m1"},
		render.ClusterSelectorAnnotation:    {"tier=edge", "tier!=core", "tier in (", "topology.kubernetes.io/zone notin (z1)", "cluster.karmada.io/provider", "topology.kubernetes.io/region=eu", "!tier"},
		render.SuspendAnnotation:            {"true", "m1", "m1,m2", "m4,m9", "m*", "perhaps"},
		render.ExpandAnnotation:             {"true", "false"},
		render.ReplicasAnnotation:           {"divide", "m1=2,m4=1", "retain"},
		render.WavesAnnotation:              {"m1;*", "m4,m2(1);m*", "bad;;"},
		render.PreserveOnDeletionAnnotation: {"true", "maybe"},
		render.DeletionAnnotation:           {"foreground"},
	}
	for _, key := range slices.Sorted(maps.Keys(choices)) { // so that a seed says what happens
		values := choices[key]
		isTarget := key == render.ClustersAnnotation || key == render.ClusterSelectorAnnotation
		if value := w.pick(values...); w.chance(percent) && (isTarget || w.chance(40)) {
			wishes[key] = value
		}
	}
	return wishes
}

func (w *shifting) namespace() *unstructured.Unstructured {
	u := w.object(spot{state.NamespacesResource, "", "shop"})
	u.SetAnnotations(w.wishes(30))
	if w.chance(10) {
		sample.SetLabel(u, "namespace.karmada.io/skip-auto-propagation", "true")
	}
	return u
}

func (w *shifting) source(at spot) *unstructured.Unstructured {
	u := w.object(at)
	u.SetAnnotations(w.wishes(60))
	sample.SetLabel(u, "app", w.pick("a", "b"))
	if w.chance(4) {
		sample.SetLabel(u, "propagationpolicy.karmada.io/permanent-id", "x")
	}
	text := w.pick("plain", "$(cluster.region:-none)", "$(cluster.label:tier:-x)", "$(cluster.name)", "$(cluster.zone)", "$(cluster.provider:-x) $(cluster.annotation:a:-y)", "$(cluster.label:topology.kubernetes.io/zone)", "$(cluster.label:cluster.karmada.io/provider:-)")
	switch at.resource {
	case configMaps:
		if w.chance(30) {
			u.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: w.pick("dep-0", "dep-1"), Controller: new(true)}})
		}
		u.Object["data"] = map[string]any{"key": text}
	case deployments:
		container := map[string]any{"name": "c", "image": text, "envFrom": []any{map[string]any{"configMapRef": map[string]any{"name": w.pick("cm-0", "cm-1")}}}}
		u.Object["spec"] = map[string]any{"replicas": int64(3 + w.IntN(4)), "template": map[string]any{"spec": map[string]any{"containers": []any{container}}}}
	default:
		u.Object["spec"] = map[string]any{"scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": w.pick("dep-0", "dep-1")}}
	}
	return u
}

// cluster returns a cluster as it is, but for one thing.
func (w *shifting) cluster(name string) *unstructured.Unstructured {
	u, err := w.client.Resource(state.ClustersResource).Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		u = readyCluster(name, sample.Created.Add(-3*time.Hour))
	}
	switch n := w.IntN(16); {
	case n >= 15:
		now := metav1.Now()
		u.SetDeletionTimestamp(&now)
		if w.chance(50) {
			u.SetDeletionTimestamp(nil)
		}
	case n >= 13:
		u.SetAnnotations(map[string]string{"a": w.pick("1", "2")})
		if w.chance(30) {
			u.SetAnnotations(nil)
		}
	case n >= 10:
		u.Object["spec"] = map[string]any{w.pick("provider", "zone", "region"): w.pick("p", "z1", "eu"), "zones": [][]any{{"z1"}, {"z1", "z2"}, {}}[w.IntN(3)]}
	case n < 5:
		sample.SetLabel(u, "tier", w.pick("edge", "core"))
	case n < 6:
		u.SetLabels(nil)
	case n < 7:
		u.Object["spec"] = map[string]any{"region": w.pick("eu", "us")}
	case n < 9:
		u.Object["status"] = readyCluster(name, sample.Created.Add(-3*time.Hour)).Object["status"]
		if w.chance(50) {
			u.Object["status"].(map[string]any)["conditions"].([]any)[0].(map[string]any)["status"] = "False"
		}
	default:
		u.SetUID(types.UID(w.pick("1", "2")))
	}
	return u
}

func (w *shifting) policy(at spot) *unstructured.Unstructured {
	u := w.object(at)
	selector := map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}
	if w.chance(50) {
		selector = map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "labelSelector": map[string]any{"matchLabels": map[string]any{"app": "a"}}}
	}
	rule := map[string]any{"overriders": map[string]any{"labelsOverrider": []any{map[string]any{"operator": "add", "value": map[string]any{w.pick("x", "app"): w.pick("1", "2")}}}}}
	if w.chance(60) {
		rule["targetCluster"] = map[string]any{"labelSelector": map[string]any{"matchLabels": map[string]any{"tier": "edge"}}}
	}
	if w.chance(40) {
		rule["targetCluster"] = map[string]any{"fieldSelector": map[string]any{"matchExpressions": []any{map[string]any{"key": w.pick("zone", "region", "provider"), "operator": w.pick("In", "NotIn"), "values": []any{w.pick("z1", "eu", "p")}}}}}
	}
	if w.chance(15) {
		rule["overriders"] = map[string]any{"plaintext": []any{map[string]any{"path": "/nowhere/x", "operator": "add", "value": "x"}}}
	}
	if w.chance(15) {
		rule["unknown"] = "x"
	}
	u.Object["spec"] = map[string]any{"resourceSelectors": []any{selector}, "overrideRules": []any{rule}}
	if w.chance(10) {
		delete(u.Object["spec"].(map[string]any), "resourceSelectors")
	}
	if w.chance(5) {
		u.Object["spec"].(map[string]any)["resourceSelectors"] = "odd"
	}
	return u
}

// work returns a Work of a source as it may be now, or as it was, in some state or with another owner.
func (w *shifting) work(source, at spot, cluster string) *unstructured.Unstructured {
	from := w.source(source)
	manifest, err := render.NewManifest(from, source.identity(), from.GetUID())
	if err != nil {
		panic(err) // a mistake in the test
	}
	u := sample.WorkOf(manifest.Template(render.Options{PreserveOnDeletion: w.chance(20), Suspend: w.chance(10)}).Work(cluster))
	u.SetName(at.name)
	u.SetUID(types.UID(w.pick("a", "b")))
	u.SetCreationTimestamp(metav1.NewTime(sample.Created.Add(-time.Duration(4+w.IntN(5)) * time.Minute)))
	if status := w.pick("True", "False", ""); status != "" {
		sample.Applied(status)(u)
	}
	if w.chance(30) {
		sample.Annotate(u, render.WrittenAnnotation, "x")
	}
	if w.chance(30) {
		sample.Annotate(u, render.ShareAnnotation, w.pick("0", "2", "9", "x"))
	}
	if w.chance(20) {
		sample.Annotate(u, render.OverriddenByAnnotation, w.pick("OverridePolicy/op", "ClusterOverridePolicy/cop", "OverridePolicy/gone"))
	}
	if w.chance(35) {
		[]sample.Change{sample.Bound, sample.Terminating, sample.Unfinalized, sample.Overwritten, sample.Emptied, sample.Marked, sample.Quota}[w.IntN(7)](u)
	}
	return u
}
