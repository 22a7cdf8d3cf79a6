package state

import (
	"slices"
	"testing"

	clusterv1alpha1 "github.com/karmada-io/api/cluster/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
)

// TestKinds: what Karmada says of the kinds that a member serves, and of their versions.
func TestKinds(t *testing.T) {
	enablement := func(version string, kinds ...string) map[string]any {
		var resources []any
		for _, kind := range kinds {
			resources = append(resources, map[string]any{"name": "any", "kind": kind})
		}
		return map[string]any{"groupVersion": version, "resources": resources}
	}
	kindsOf := func(complete string) Kinds {
		u := sample.Cluster("m1", "")
		u.Object["status"] = map[string]any{
			"conditions":     []any{map[string]any{"type": clusterv1alpha1.ClusterConditionCompleteAPIEnablements, "status": complete}},
			"apiEnablements": []any{enablement("v1", "ConfigMap", "Pod"), enablement("x.io/v2", "Site"), enablement("x.io/v1", "Site", "Site", "SiteMap"), enablement("a/b/c", "Odd")},
		}
		return NewCluster(u).Kinds
	}
	for kind, want := range map[schema.GroupKind][]string{
		{Kind: "ConfigMap"}:                {"v1"},
		{Kind: "Config"}:                   nil,
		{Group: "x.io", Kind: "ConfigMap"}: nil,
		{Group: "x.io", Kind: "Site"}:      {"v2", "v1"},
		{Group: "x.io", Kind: "SiteMap"}:   {"v1"},
		{Kind: "Odd"}:                      nil,
	} {
		if got, isKnown := kindsOf("True").Of(kind); !slices.Equal(got, want) || !isKnown {
			t.Errorf("%s: %q, known: %t", kind, got, isKnown)
		}
	}
	if got, isKnown := kindsOf("False").Of(schema.GroupKind{Kind: "ConfigMap"}); len(got) > 0 || isKnown {
		t.Errorf("incomplete: %q, known: %t", got, isKnown)
	}
}
