package mirror

import (
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/metrics"
	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/state"
)

// TestJoinsBeforeNamespace: many clusters join, and their execution namespaces come one by one. However often
// their sources are synced meanwhile, nothing is sent for a cluster without one: a Work that
// appears enqueues its source, so each of N Works would have all the others retried. The
// source counts as failing until the last has come.
func TestJoinsBeforeNamespace(t *testing.T) {
	const fleet = 20
	s := newAPIServer(t)
	var clusters []*unstructured.Unstructured
	for i := range fleet {
		clusters = append(clusters, sample.Cluster(fmt.Sprint("e", i), ""))
	}
	s.list(state.ClustersResource, clusters...)
	s.list(configMaps, sample.Asking("1", "e*"))
	comes := make(chan any)
	s.events = map[schema.GroupVersionResource]chan any{state.NamespacesResource: comes}
	c := newControllerOf(t, s, configured("", "", ""), newFakeClock())
	q := leading(t, c)
	syncs := func() {
		for range 3 {
			q.Add(sample.Page)
			c.processNext(t.Context(), q)
		}
	}
	syncs()
	var want []string
	for i := range fleet {
		if failing := c.snapshot().Failing["mirror"].Sources; failing != 1 || !slices.Equal(s.sent(), want) {
			t.Fatalf("with %d namespaces, %d sources fail, sent %q", i, failing, s.sent())
		}
		for q.Len() > 0 {
			c.processNext(t.Context(), q)
		}
		u := executionNamespace(fmt.Sprint("e", i))
		u.SetResourceVersion(fmt.Sprint(200 + i))
		comes <- map[string]any{"type": "ADDED", "object": u}
		eventually(t, "the source to be enqueued", func() bool { return q.Len() > 0 })
		want = append(want, fmt.Sprint("create e", i))
		slices.Sort(want)
		syncs()
	}
	if failing := c.snapshot().Failing["mirror"]; failing != (metrics.Failing{}) || len(s.sent()) != fleet {
		t.Errorf("in the end, %v fail, sent %q", failing, s.sent())
	}
}
