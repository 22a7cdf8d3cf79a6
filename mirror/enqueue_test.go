package mirror

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clusterv1alpha1 "github.com/karmada-io/api/cluster/v1alpha1"
	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/mirror/gather"
	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/memory"
	"github.com/karmada-target/karmada-mirror/mirror/queue"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/mirror/write"
	"github.com/karmada-target/karmada-mirror/render"
)

// leading makes a Controller queue sources without syncing any.
func leading(t *testing.T, c *Controller) *queue.Queue {
	t.Helper()
	q := queue.New("mirror", c.memory.IsFresh, 2)
	c.fence.Store(new(string))
	c.queue.Store(q)
	t.Cleanup(q.ShutDown)
	return q
}

// idleCaches are caches that know nothing.
func idleCaches(c *Controller) *gather.Caches {
	return gather.NewCaches(gather.Options{Clock: c.Clock, Memory: c.memory, Logger: zap.NewNop(), Failures: zap.NewNop()})
}

// waiting drains a queue and returns the names.
func waiting(q *queue.Queue) []string {
	var names []string
	for q.Len() > 0 {
		id, _ := q.Get()
		names = append(names, id.String())
		q.Done(id)
	}
	slices.Sort(names)
	return names
}

// TestObjectChanged: every changed object is synced; those that ask go first.
func TestObjectChanged(t *testing.T) {
	object := func(wishes sample.Annotations) *state.Object { return state.NewObject(sample.Object(wishes)) }
	m1 := sample.Annotations{render.ClustersAnnotation: "m1"}
	cases := map[string]struct {
		reason   string
		old, new *state.Object
		isFresh  bool
	}{
		"Asks":        {"a new object", nil, object(m1), true},
		"Edited":      {"a change", object(m1), object(m1), true},
		"OptsOut":     {"an empty value", object(m1), object(sample.Annotations{render.ClustersAnnotation: ""}), true},
		"AsksNoMore":  {"an annotation that was removed", object(m1), object(nil), true},
		"BeginsToAsk": {"or added", object(nil), object(m1), true},
		"Deleted":     {"an object that was deleted", object(m1), nil, true},
		"DoesNotAsk":  {"an object that does not ask may have a Work", object(nil), object(nil), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			c := newControllerOf(t, s, configured("", "", ""), newFakeClock())
			q := leading(t, c)
			c.objectChanged(tc.old, tc.new)
			if isFresh := c.memory.IsFresh(sample.Page); isFresh != tc.isFresh {
				t.Errorf("%s: fresh: %v", tc.reason, isFresh)
			}
			if diff := cmp.Diff([]string{"ConfigMap/shop/page"}, waiting(q)); diff != "" {
				t.Errorf("%s, -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestWorkChanged(t *testing.T) {
	work := func(changes ...sample.Change) *state.Work {
		return state.NewWork(sample.Work(sample.Asking("1", "m1"), "m1", changes...))
	}
	namesake := func(u *unstructured.Unstructured) { u.SetUID("another") }
	cases := map[string]struct {
		reason   string
		old, new *state.Work
		want     bool
	}{
		"New":         {"a new Work", nil, work(), true},
		"Applied":     {"its status, which matters at most for a wake", work(), work(sample.Applied("True"), sample.Version("9")), true},
		"Edited":      {"an edit is repaired", work(), work(sample.Edited), true},
		"Recreated":   {"one that was recreated unnoticed", work(), work(namesake), true},
		"Marked":      {"a mark", work(), work(sample.Marked), true},
		"Unmarked":    {"or one that a user removed", work(sample.Marked), work(), true},
		"Bound":       {"one that a binding has taken over", work(), work(sample.Bound), true},
		"GivenBack":   {"or given back", work(sample.Bound), work(), true},
		"Misfiled":    {"a label that differs from ours", work(), work(sample.Misfiled), true},
		"Unfinalized": {"or a finalizer", work(), work(sample.Unfinalized), true},
		"Remarked":    {"or an annotation", work(), work(sample.Remarked), true},
		"Going":       {"a deletion that has begun", work(), work(sample.Terminating), true},
		"Gone":        {"one that was deleted", work(), nil, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := &Controller{Options: Options{Clock: newFakeClock()}, memory: memory.New(newFakeClock()), breaker: write.NewBreaker(newFakeClock(), 0)}
			c.caches = idleCaches(c)
			q := leading(t, c)
			c.workChanged(tc.old, tc.new)
			var want []string
			if tc.want {
				want = []string{"ConfigMap/shop/page"}
			}
			if diff := cmp.Diff(want, waiting(q)); diff != "" {
				t.Errorf("%s, -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestScaledIsLookedAt: who owns the replicas of a workload changes when its autoscaler, or the
// autoscaler's Work, is created or deleted.
func TestScaledIsLookedAt(t *testing.T) {
	autoscaler := sample.Autoscaler(sample.Annotations{render.ClustersAnnotation: "m1"}, "v1", "ConfigMap", "page")
	object, work := state.NewObject(autoscaler.DeepCopy()), state.NewWork(sample.Work(autoscaler, "m1"))
	cases := map[string]func(*Controller){
		"Made":     func(c *Controller) { c.objectChanged(nil, object) },
		"Gone":     func(c *Controller) { c.objectChanged(object, nil) },
		"WorkMade": func(c *Controller) { c.workChanged(nil, work) },
		"WorkGone": func(c *Controller) { c.workChanged(work, nil) },
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			c := newControllerOf(t, newAPIServer(t), configured("", "", ""), newFakeClock())
			q := leading(t, c)
			change(c)
			want := []string{"ConfigMap/shop/page", "HorizontalPodAutoscaler.autoscaling/shop/autoscaler"}
			if diff := cmp.Diff(want, waiting(q)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestNamespaceChanged: any change of a Namespace enqueues the objects in it.
func TestNamespaceChanged(t *testing.T) {
	plain, asks := state.NewNamespace(sample.Namespace(nil)), state.NewNamespace(sample.Namespace(sample.Annotations{render.ClustersAnnotation: "m1"}))
	for name, change := range map[string][2]*state.Namespace{
		"Seen": {nil, plain}, "AsksNow": {plain, asks}, "AsksNoMore": {asks, plain}, "Same": {plain, plain}, "Gone": {plain, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			s.list(configMaps, sample.Object(nil))
			c := newControllerOf(t, s, configured("", "", ""), newFakeClock())
			q := leading(t, c)
			c.namespaceChanged(change[0], change[1])
			if diff := cmp.Diff([]string{"ConfigMap/shop/page"}, waiting(q)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestNamespaceGone: what was reported of a Namespace ends with it, even if a watch that has not
// seen its deletion reports it again.
func TestNamespaceGone(t *testing.T) {
	s := newAPIServer(t)
	s.list(state.NamespacesResource)
	c := newControllerOf(t, s, configured("", "", ""), newFakeClock())
	leading(t, c)
	id := namespaceIdentity(sample.Page.Namespace)
	c.noticed.Replace(id, []judge.Refusal{{Reason: judge.UnknownCluster}})
	c.reportNamespace(id.Name)
	if left := c.noticed.All(); len(left) > 0 {
		t.Errorf("still reported: %v", left)
	}
}

// TestNamespaceReported: problems of a Namespace are reported on it, once.
func TestNamespaceReported(t *testing.T) {
	m1 := sample.Annotations{render.ClustersAnnotation: "m1"}
	protected := sample.Namespace(m1)
	protected.SetLabels(map[string]string{"resourcetemplate.karmada.io/deletion-protected": "Always"})
	for name, tc := range map[string]struct {
		reason    string
		namespace *unstructured.Unstructured
		want      []judge.Reason
	}{
		"Plain":       {"it asks for nothing", sample.Namespace(nil), nil},
		"Unprotected": {"its deletion would empty members", sample.Namespace(m1), []judge.Reason{judge.NamespaceUnprotected}},
		"Protected":   {"Karmada rejects its deletion", protected, nil},
		"Invalid":     {"a mistake", sample.Namespace(sample.Annotations{render.ClustersAnnotation: "Not A Name"}), []judge.Reason{judge.InvalidAnnotation, judge.NamespaceUnprotected}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			s.list(state.NamespacesResource, tc.namespace)
			c := newControllerOf(t, s, configured("", "", ""), newFakeClock())
			c.reportNamespace(sample.Page.Namespace) // no effect on a standby
			leading(t, c)
			c.reportNamespace(sample.Page.Namespace)
			c.reportNamespace(sample.Page.Namespace)
			var told []judge.Reason
			for _, a := range c.announcements.take() {
				told = append(told, a.refusal.Reason)
			}
			if diff := cmp.Diff(tc.want, told); diff != "" {
				t.Errorf("%s, -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestClusterChanged: sources with a Work on a cluster are synced even if nothing chooses the
// cluster any more; a status report without changes enqueues nothing.
func TestClusterChanged(t *testing.T) {
	edge, core := state.NewCluster(sample.Cluster("m1", "edge")), state.NewCluster(sample.Cluster("m1", "core"))
	ready, remade, removed := *core, *core, *core
	ready.IsReady, remade.UID, removed.Terminating = true, "another", true
	upgraded := state.NewCluster(serving(sample.Cluster("m1", "core"), "example.io/v1", "Widget"))
	cases := map[string]struct {
		reason        string
		before, after *state.Cluster
		want          []string
	}{
		"Returned":   {"it has come back without the label that chose it", nil, core, []string{"ConfigMap/shop/page"}},
		"Relabelled": {"only sources that choose by the old or the new label are synced", edge, core, nil},
		"Remade":     {"it is another cluster of that name", edge, &remade, []string{"ConfigMap/shop/page"}},
		"Removed":    {"it is being removed", core, &removed, []string{"ConfigMap/shop/page"}},
		"Upgraded":   {"it serves other kinds", core, upgraded, []string{"ConfigMap/shop/page"}},
		"Gone":       {"it has left", edge, nil, []string{"ConfigMap/shop/page"}},
		"Same":       {"it reports every few seconds", core, core, nil},
		"Ready":      {"the Works that wait for it are woken one by one", core, &ready, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			s.list(render.WorksResource, sample.Work(sample.Asking("1", "m1"), "m1"))
			c := newControllerOf(t, s, configured("", "", ""), newFakeClock())
			q := leading(t, c)
			c.clusterChanged(tc.before, tc.after)
			if diff := cmp.Diff(tc.want, waiting(q)); diff != "" {
				t.Errorf("%s, -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestClusterBackWithDeletions: a Work that is being deleted is looked at when its cluster is back,
// however short the outage was.
func TestClusterBackWithDeletions(t *testing.T) {
	s := newAPIServer(t)
	going, staying := sample.Work(sample.Asking("1", "m1"), "m1", sample.Terminating), sample.Work(gadgetObject("m1"), "m1", sample.Applied("True"))
	s.list(render.WorksResource, going, staying)
	c := newControllerOf(t, s, configured("", "", ""), newFakeClock())
	q := leading(t, c)
	before, after := state.NewCluster(sample.Cluster("m1", "")), state.NewCluster(sample.Cluster("m1", ""))
	before.ReadySince, after.ReadySince = sample.Created.Add(-time.Hour), sample.Created.Add(-time.Hour).Add(time.Second)
	after.IsReady = true
	c.clusterChanged(before, after)
	if !q.IsPending(sample.Page) || q.IsPending(gadget) {
		t.Errorf("pending: %v of the Work that is being deleted, %v of the other", q.IsPending(sample.Page), q.IsPending(gadget))
	}
}

// serving returns a Cluster whose API enablements are complete.
func serving(cluster *unstructured.Unstructured, version, kind string) *unstructured.Unstructured {
	cluster.Object["status"] = map[string]any{
		"conditions":     []any{map[string]any{"type": clusterv1alpha1.ClusterConditionCompleteAPIEnablements, "status": "True"}},
		"apiEnablements": []any{map[string]any{"groupVersion": version, "resources": []any{map[string]any{"name": "any", "kind": kind}}}},
	}
	return cluster
}

// TestUnserved: when a resource goes away, its refused sources and those with Works are synced.
func TestUnserved(t *testing.T) {
	s := newAPIServer(t)
	s.list(render.WorksResource, sample.Work(gadgetObject("m1"), "m1"), sample.Work(sample.Asking("1", "m1"), "m1"))
	c := newControllerOf(t, s, configured("", "", ""), newFakeClock())
	q := leading(t, c)
	refused := gadget
	refused.Name = "refused"
	c.refused.Replace(refused, []judge.Refusal{{Reason: judge.NotAuthorized, Message: "no"}})
	c.refused.Replace(sample.Numbered(1), []judge.Refusal{{Reason: judge.NotAuthorized, Message: "no"}})
	c.enqueueGroup(gadget.Group)
	if diff := cmp.Diff([]string{"Widget.example.io/shop/gadget", "Widget.example.io/shop/refused"}, waiting(q)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestWorkGone: a source that was refused because of a Work is synced when that is deleted.
func TestWorkGone(t *testing.T) {
	c := &Controller{Options: Options{Clock: newFakeClock()}, memory: memory.New(newFakeClock())}
	c.caches = idleCaches(c)
	q := leading(t, c)
	conflict := []judge.Refusal{{Reason: judge.WorkConflict, Message: "it has another owner"}}
	c.refused.Replace(render.Identity{Group: "example.io", Kind: "ConfigMap", Namespace: "shop", Name: "page"}, conflict)
	c.refused.Replace(render.Identity{Kind: "Secret", Namespace: "shop", Name: "page"}, conflict)
	c.workChanged(state.NewWork(sample.Work(sample.Asking("1", "m1"), "m1")), nil)
	if diff := cmp.Diff([]string{"ConfigMap.example.io/shop/page", "ConfigMap/shop/page"}, waiting(q)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestEnqueueEverything: a new leader syncs sources that ask, and deleted ones that still
// have a Work.
func TestEnqueueEverything(t *testing.T) {
	s := newAPIServer(t)
	plain := sample.Object(nil)
	plain.SetName("plain")
	gone := sample.Object(sample.Annotations{render.ClustersAnnotation: "m1"})
	gone.SetName("gone")
	forged := sample.Work(sample.Asking("1", "m2"), "m2", func(u *unstructured.Unstructured) {
		sample.Annotate(u, render.SourceAnnotation, "ConfigMap/shop/forged")
	})
	s.list(configMaps, sample.Object(sample.Annotations{render.ClustersAnnotation: "m1"}), plain)
	s.list(render.WorksResource, sample.Work(gone, "m1"), forged)
	c := newControllerOf(t, s, configured("", "", ""), newFakeClock())
	c.enqueueEverything() // no effect on a standby
	q := leading(t, c)
	c.enqueueEverything()
	if diff := cmp.Diff([]string{"ConfigMap/shop/gone", "ConfigMap/shop/page"}, waiting(q)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestConflictEnds: a Work without a source stood in the way of one, and no longer does.
func TestConflictEnds(t *testing.T) {
	page := sample.Asking("1", "m1")
	stray := func(changes ...sample.Change) *unstructured.Unstructured {
		return sample.Work(page, "m1", append(changes, func(u *unstructured.Unstructured) {
			annotations := u.GetAnnotations()
			delete(annotations, render.SourceAnnotation)
			u.SetAnnotations(annotations)
			u.SetUID("stray")
		})...)
	}
	namesake := sample.Work(page, "m1", sample.OfNamesake)
	for name, tc := range map[string]struct {
		reason        string
		before, after *unstructured.Unstructured
		beside        []*unstructured.Unstructured
	}{
		"Deleted": {"it had the longer name, because a namesake has the other", stray(sample.Long), nil, []*unstructured.Unstructured{namesake}},
		"Carries": {"it carries another object now, so that the longer name is free", stray(), stray(sample.Overwritten, sample.Version("9")), nil},
	} {
		t.Run(name, func(t *testing.T) {
			with := func(work *unstructured.Unstructured) *Controller {
				s := newAPIServer(t)
				s.list(configMaps, page.DeepCopy())
				works := slices.Clone(tc.beside)
				if work != nil {
					works = append(works, work)
				}
				s.list(render.WorksResource, works...)
				return newControllerOf(t, s, configured("", "", ""), newFakeClock())
			}
			before, after := judge.On(with(tc.before).caches.Facts(sample.Page)), with(tc.after)
			if len(before.Plan) != 0 || len(judge.On(after.caches.Facts(sample.Page)).Plan) != 1 {
				t.Fatalf("%s: planned before: %v", tc.reason, before.Plan)
			}
			q := leading(t, after)
			after.report(before.Facts, before.Verdict.Refusals, nil)
			var now *state.Work
			if tc.after != nil {
				now = state.NewWork(tc.after)
			}
			after.workChanged(state.NewWork(tc.before), now)
			if !q.IsPending(sample.Page) {
				t.Errorf("%s: the source is not synced", tc.reason)
			}
		})
	}
}

// TestConflictBegins: a Work that carries an object without naming it as its source gets in the way of it.
func TestConflictBegins(t *testing.T) {
	s := newAPIServer(t)
	page := sample.Asking("1", "m1")
	s.list(configMaps, page)
	c := newControllerOf(t, s, configured("", "", ""), newFakeClock())
	q := leading(t, c)
	stray := sample.Work(page, "m1")
	annotations := stray.GetAnnotations()
	delete(annotations, render.SourceAnnotation)
	stray.SetAnnotations(annotations)
	c.workChanged(nil, state.NewWork(stray))
	if diff := cmp.Diff([]string{sample.Page.String()}, waiting(q)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestListedWithout: a source with a refusal or a notice, and without a Work, has gone while its
// resource was not watched.
func TestListedWithout(t *testing.T) {
	for name, told := range map[string]func(*Controller) *memory.Refusals{
		"Refusal": func(c *Controller) *memory.Refusals { return &c.refused },
		"Notice":  func(c *Controller) *memory.Refusals { return &c.noticed },
	} {
		t.Run(name, func(t *testing.T) {
			c := newControllerOf(t, newAPIServer(t), configured("", "", ""), newFakeClock())
			q := leading(t, c)
			told(c).Replace(sample.Page, []judge.Refusal{{Reason: judge.WaveHeld}})
			c.noticed.Replace(namespaceIdentity("shop"), []judge.Refusal{{Reason: judge.NamespaceUnprotected}})
			for _, w := range c.caches.Sources() {
				c.resourceListed(w)
			}
			c.enqueueGroup("example.io") // another one
			if diff := cmp.Diff([]string{"ConfigMap/shop/page"}, waiting(q)); diff != "" {
				t.Errorf("listed, -want +got:\n%s", diff)
			}
			c.enqueueGroup("")
			if diff := cmp.Diff([]string{"ConfigMap/shop/page"}, waiting(q)); diff != "" {
				t.Errorf("its definition is gone, -want +got:\n%s", diff)
			}
			c.enqueueEverything()
			if diff := cmp.Diff([]string{"ConfigMap/shop/page"}, waiting(q)); diff != "" {
				t.Errorf("another configuration, -want +got:\n%s", diff)
			}
		})
	}
}

// TestOutageBetweenLists: the watch has only seen the cluster before and after it was away.
func TestOutageBetweenLists(t *testing.T) {
	s := newAPIServer(t)
	before, after := readyCluster("m1", sample.Created.Add(-time.Hour)), readyCluster("m1", sample.Created.Add(-time.Minute))
	failed := sample.Work(sample.Asking("1", "m1"), "m1", sample.Applied("False"), sample.WrittenAt(sample.Created.Add(-10*time.Minute)))
	failed.SetCreationTimestamp(metav1.NewTime(sample.Created.Add(-10 * time.Minute)))
	s.list(configMaps, sample.Asking("1", "m1"))
	s.list(render.WorksResource, failed)
	s.list(state.ClustersResource, after)
	c := newControllerOf(t, s, configured("", "", ""), newFakeClock())
	if plan := judge.On(c.caches.Facts(sample.Page)).Plan; len(plan) != 1 || plan[0].Kind != judge.Wake {
		t.Fatalf("planned: %v", plan)
	}
	q := leading(t, c)
	c.clusterChanged(state.NewCluster(before), state.NewCluster(after))
	if !q.IsPending(sample.Page) {
		t.Error("the source whose Work is to be woken is not synced")
	}
	q = leading(t, c)
	if c.clusterChanged(state.NewCluster(after), state.NewCluster(after)); q.IsPending(sample.Page) {
		t.Error("a cluster that stays ready has come back")
	}
}

// TestAutoscalersListed: whose replicas an autoscaler has had may have lost it while no one watched.
func TestAutoscalersListed(t *testing.T) {
	retained, plain := sample.Asking("1", "m1"), sample.Asking("1", "m1")
	retained.SetName("retained")
	work := sample.Work(retained, "m1")
	manifest, err := render.ManifestOf(work.Object)
	if err != nil {
		t.Fatal(err)
	}
	sample.SetLabel(&unstructured.Unstructured{Object: manifest}, "resourcetemplate.karmada.io/retain-replicas", "true")
	s := newAPIServer(t)
	s.list(render.WorksResource, work, sample.Work(plain, "m1"))
	c := newControllerOf(t, s, configured("", "", ""), newFakeClock())
	var depending []string
	for id := range c.caches.DependingOn(state.AutoscalerKind) {
		depending = append(depending, id.Name)
	}
	if !slices.Equal(depending, []string{"retained"}) {
		t.Errorf("%q depend on autoscalers", depending)
	}
}
