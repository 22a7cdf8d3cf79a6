package shared

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/render"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// label sets a label of a cluster; an empty value removes it.
func label(t *testing.T, cluster, key, value string) {
	t.Helper()
	Change(t, Clusters, "", cluster, func(u *unstructured.Unstructured) {
		labels := u.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels[key] = value
		if value == "" {
			delete(labels, key)
		}
		u.SetLabels(labels)
	})
}

// TestClusterSelector has clusters selected by their labels, and labels change.
func TestClusterSelector(t *testing.T) {
	ns := Isolate(t)
	const key = "example.com/tier"
	StartDaemon(t)
	t.Cleanup(func() {
		for _, cluster := range []string{Push, Push2, Pull} {
			label(t, cluster, key, "")
		}
	})
	label(t, Push, key, "edge")
	label(t, Pull, key, "edge")
	selected := Plain(ns, "selected", "one")
	selected.SetAnnotations(map[string]string{render.ClusterSelectorAnnotation: key + " in (edge)"})
	Create(t, ConfigMaps, selected)
	both := Plain(ns, "both", "one")
	both.SetAnnotations(map[string]string{render.ClusterSelectorAnnotation: key + "=edge", render.ClustersAnnotation: Push2 + ",!" + Pull})
	Create(t, ConfigMaps, both)
	Create(t, ConfigMaps, ConfigMap(ns, "named", Push, "one"))
	WantInMembers(t, ns, "selected", "one", Push, Pull)
	WantInMembers(t, ns, "both", "one", Push, Push2)
	WantNoWork(t, ConfigMapWork(ns, "both", Pull))
	WantNoWork(t, ConfigMapWork(ns, "selected", Push2))

	audit := AuditFromNow(t)
	label(t, Push2, key, "edge")
	WantInMembers(t, ns, "selected", "one", Push2)
	label(t, Push, key, "core")
	WantGone(t, ConfigMaps, ns, "selected", Push)
	WantGone(t, ConfigMaps, ns, "both", Push)
	WantInMembers(t, ns, "both", "one", Push2)
	if diff := cmp.Diff(map[string]int{"create works": 1, "delete works": 2}, audit.Writes(t)); diff != "" {
		t.Errorf("writes after two changes of labels, -want +got:\n%s", diff)
	}

	Change(t, ConfigMaps, ns, "selected", SetAnnotation(render.ClusterSelectorAnnotation, key+" in (core)"))
	WantInMembers(t, ns, "selected", "one", Push)
	WantGone(t, ConfigMaps, ns, "selected", Push2, Pull)
	Change(t, ConfigMaps, ns, "selected", SetAnnotation(render.ClusterSelectorAnnotation, ""))
	WantEvent(t, ns, "selected", "InvalidAnnotation", "selects every cluster")
	WantInMembers(t, ns, "selected", "one", Push)
}
