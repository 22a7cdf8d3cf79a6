package mirror

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	policyv1alpha1 "github.com/karmada-io/api/policy/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/render"
)

// leading has a Controller queue what it is told, and sync nothing.
func leading(t *testing.T, c *Controller) *queue {
	t.Helper()
	q := newQueue(c.arrivals.has)
	c.queue.Store(q)
	t.Cleanup(q.ShutDown)
	return q
}

// waiting takes all that is in a queue, by their names.
func waiting(q *queue) []string {
	var names []string
	for q.Len() > 0 {
		id, _ := q.Get()
		names = append(names, id.String())
		q.Done(id)
	}
	slices.Sort(names)
	return names
}

func TestSourceChanged(t *testing.T) {
	source := func(wishes annotations, changes ...func(*unstructured.Unstructured)) *Source {
		u := pageObject(wishes)
		for _, change := range changes {
			change(u)
		}
		return NewSource(u, render.Wishes{})
	}
	m1 := annotations{render.ClustersAnnotation: "m1"}
	another := func(u *unstructured.Unstructured) { u.SetUID("2") }
	edited := func(u *unstructured.Unstructured) { u.Object["data"] = map[string]any{"key": "other"} }
	claimed := func(u *unstructured.Unstructured) {
		u.SetLabels(map[string]string{policyv1alpha1.PropagationPolicyPermanentIDLabel: "p"})
	}
	cases := map[string]struct {
		reason   string
		old, new *Source
		want     bool
	}{
		"Asks":           {"a new object", nil, source(m1), true},
		"DoesNotAsk":     {"one that is none of ours", nil, source(nil), false},
		"Same":           {"a change of what is not mirrored", source(m1), source(m1, version("9")), false},
		"Edited":         {"a change of what is", source(m1), source(m1, edited), true},
		"Recreated":      {"another object of that name", source(m1), source(m1, another), true},
		"Retargeted":     {"another cluster", source(m1), source(annotations{render.ClustersAnnotation: "m1,m2"}), true},
		"Excluded":       {"a cluster less", source(annotations{render.ClustersAnnotation: "m*"}), source(annotations{render.ClustersAnnotation: "m*,!m1"}), true},
		"Claimed":        {"the claim of a policy", source(m1), source(m1, claimed), true},
		"AsksNoMore":     {"an annotation that was removed", source(m1), source(nil), true},
		"BeginsToAsk":    {"or added", source(nil), source(m1), true},
		"Deleted":        {"an object that is gone", source(m1), nil, true},
		"DeletedUnasked": {"one that was none of ours", source(nil), nil, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := &Controller{Options: Options{Clock: newFakeClock()}}
			q := leading(t, c)
			var old, new any
			if tc.old != nil {
				old = tc.old
			}
			if tc.new != nil {
				new = tc.new
			}
			c.sourceChanged(old, new)
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

func TestWorkChanged(t *testing.T) {
	asks := pageSource("1", "m1")
	work := func(changes ...func(*unstructured.Unstructured)) *Work { return pageWork(asks, "m1", changes...) }
	namesake := func(u *unstructured.Unstructured) { u.SetUID("another") }
	cases := map[string]struct {
		reason   string
		old, new *Work
		want     bool
	}{
		"New":         {"one that nobody knew of", nil, work(), true},
		"Applied":     {"its status changes all the time", work(), work(applied("True"), version("9")), false},
		"Edited":      {"an edit is repaired", work(), work(edited), true},
		"Recreated":   {"one that was made again unseen", work(), work(namesake), true},
		"Marked":      {"a mark", work(), work(marked), true},
		"Unmarked":    {"or one that somebody took off", work(marked), work(), true},
		"Bound":       {"one that a binding has taken", work(), work(bound), true},
		"GivenBack":   {"or given back", work(bound), work(), true},
		"Misfiled":    {"a label that is not as we write it", work(), work(misfiled), true},
		"Unfinalized": {"or a finalizer", work(), work(unfinalized), true},
		"Remarked":    {"or an annotation", work(), work(remarked), true},
		"Going":       {"a deletion that has begun", work(), work(terminating), true},
		"Gone":        {"one that is gone", work(), nil, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := &Controller{Options: Options{Clock: newFakeClock()}, ledger: newLedger(newFakeClock())}
			q := leading(t, c)
			var old, new any
			if tc.old != nil {
				old = tc.old
			}
			if tc.new != nil {
				new = tc.new
			}
			c.workChanged(old, new)
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

// TestWorkGone: who was refused because of a Work is looked at when it goes.
func TestWorkGone(t *testing.T) {
	c := &Controller{Options: Options{Clock: newFakeClock()}, ledger: newLedger(newFakeClock())}
	q := leading(t, c)
	conflict := []Refusal{{Reason: WorkConflict, Message: "it is somebody else's"}}
	c.refused.replace(render.Identity{Group: "example.io", Kind: "ConfigMap", Namespace: "shop", Name: "page"}, conflict)
	c.refused.replace(render.Identity{Kind: "Secret", Namespace: "shop", Name: "page"}, conflict)
	c.workChanged(pageWork(pageSource("1", "m1"), "m1"), nil)
	if diff := cmp.Diff([]string{"ConfigMap.example.io/shop/page", "ConfigMap/shop/page"}, waiting(q)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestEnqueueEverything: a new leader looks at what asks, and at what has a Work though
// its source is gone.
func TestEnqueueEverything(t *testing.T) {
	s := newAPIServer(t)
	plain := pageObject(nil)
	plain.SetName("plain")
	gone := pageObject(annotations{render.ClustersAnnotation: "m1"})
	gone.SetName("gone")
	forged := pageWorkObject(pageSource("1", "m2"), "m2", func(u *unstructured.Unstructured) { annotate(u, render.SourceAnnotation, "ConfigMap/shop/forged") })
	s.list(configMaps, pageObject(annotations{render.ClustersAnnotation: "m1"}), plain)
	s.list(WorksResource, pageWorkObject(NewSource(gone, render.Wishes{}), "m1"), forged)
	c := newControllerOf(t, s, configured("", "", ""), newFakeClock())
	c.enqueueEverything() // while another leads: for nothing
	q := leading(t, c)
	c.enqueueEverything()
	if diff := cmp.Diff([]string{"ConfigMap/shop/gone", "ConfigMap/shop/page"}, waiting(q)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
