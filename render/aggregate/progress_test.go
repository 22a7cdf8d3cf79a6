package aggregate

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestProgressOf(t *testing.T) {
	deployments := func(observed, updated, ready, available int64) map[string]any {
		return map[string]any{"observedGeneration": observed, "replicas": int64(6), "updatedReplicas": updated, "readyReplicas": ready, "availableReplicas": available}
	}
	cases := map[string]struct {
		reason string
		kind   schema.GroupKind
		status map[string]any
		want   Progress
	}{
		"Complete":    {reason: "all replicas are new and available", status: deployments(2, 6, 6, 6)},
		"ScaledDown":  {reason: "none is wanted", status: map[string]any{"observedGeneration": int64(2)}},
		"Unobserved":  {reason: "the counts are those of the last generation", status: deployments(1, 6, 6, 6), want: Rolling},
		"Old":         {reason: "a replica is an old one", status: deployments(2, 5, 6, 6), want: Rolling},
		"Unready":     {reason: "a replica is not ready", status: deployments(2, 6, 5, 5), want: Settling},
		"Unavailable": {reason: "a replica is not available for long enough", status: deployments(2, 6, 6, 5), want: Settling},
		"Empty":       {reason: "no member has reported", status: map[string]any{}, want: Rolling},
		"DaemonSet": {reason: "its counts have other names", kind: schema.GroupKind{Group: "apps", Kind: "DaemonSet"},
			status: map[string]any{"observedGeneration": int64(2), "desiredNumberScheduled": int64(3), "updatedNumberScheduled": int64(3), "numberReady": int64(3)}, want: Settling},
		"Service": {reason: "nothing is rolled out", kind: schema.GroupKind{Kind: "Service"}, status: map[string]any{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			kind := tc.kind
			if kind.Kind == "" {
				kind = schema.GroupKind{Group: "apps", Kind: "Deployment"}
			}
			if got := ProgressOf(kind, 2, tc.status); got != tc.want {
				t.Errorf("%s: got %d", tc.reason, got)
			}
		})
	}
}
