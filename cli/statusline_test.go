package cli

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// TestIgnored: a Work of which Karmada says nothing at all needs attention, unless it is new or its cluster is away.
func TestIgnored(t *testing.T) {
	written, now := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)), time.Date(2026, 1, 2, 4, 0, 0, 0, time.UTC)
	source := configMapOf("shop", "page", map[string]string{render.ClustersAnnotation: "m1"}, nil)
	pending := reported(t, source, metav1.ConditionTrue, "", "Healthy")
	unstructured.RemoveNestedField(pending.Object, "status")
	applied := reported(t, source, metav1.ConditionTrue, "", "Healthy")
	away := judge.ClusterFacts{State: judge.ClusterJoined, Away: true, AwaySince: written.Time}
	for name, tc := range map[string]struct {
		work *unstructured.Unstructured
		now  time.Time
		in   judge.ClusterFacts
		want bool
	}{
		"Ignored": {pending, now, judge.ClusterFacts{State: judge.ClusterJoined}, true},
		"New":     {pending, written.Add(10 * time.Second), judge.ClusterFacts{State: judge.ClusterJoined}, false},
		"Away":    {pending, now, away, false},
		"Applied": {applied, now, judge.ClusterFacts{State: judge.ClusterJoined}, false},
	} {
		u := tc.work.DeepCopy()
		u.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "a", Operation: metav1.ManagedFieldsOperationUpdate, Time: &written}})
		f := judge.Facts{Works: map[string]*state.Work{"m1": state.NewWork(u)}, Clusters: map[string]judge.ClusterFacts{"m1": tc.in}, Now: tc.now}
		if got := isIgnored(f, "m1"); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
