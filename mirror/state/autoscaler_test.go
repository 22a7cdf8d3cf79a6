package state

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/render"
)

// TestScaledBy: the Work of an autoscaler scales the same workload in a member.
func TestScaledBy(t *testing.T) {
	m1 := sample.Annotations{render.ClustersAnnotation: "m1"}
	odd := func(change sample.Change) *unstructured.Unstructured {
		u := sample.Autoscaler(m1, "apps/v1", "Deployment", "web")
		change(u)
		return u
	}
	cases := map[string]struct {
		reason string
		object *unstructured.Unstructured
		want   string
	}{
		"Deployment":  {"whatever the version", sample.Autoscaler(m1, "apps/v1", "Deployment", "web"), "Deployment.apps/shop/web"},
		"Core":        {"a workload in the core group", sample.Autoscaler(m1, "v1", "ReplicationController", "web"), "ReplicationController/shop/web"},
		"OddGroup":    {"the group is invalid", sample.Autoscaler(m1, "a/b/c", "Deployment", "web"), ""},
		"NoName":      {"the target has no name", sample.Autoscaler(m1, "apps/v1", "Deployment", ""), ""},
		"NoReference": {"the API server would reject it", odd(func(u *unstructured.Unstructured) { u.Object["spec"] = map[string]any{"scaleTargetRef": "web"} }), ""},
		"ScaledObject": {"KEDA makes an autoscaler of it", odd(func(u *unstructured.Unstructured) {
			u.SetAPIVersion("keda.sh/v1alpha1")
			u.SetKind("ScaledObject")
			u.Object["spec"] = map[string]any{"scaleTargetRef": map[string]any{"name": "web"}}
		}), "Deployment.apps/shop/web"},
		"NoAutoscaler": {"a ConfigMap scales nothing", odd(func(u *unstructured.Unstructured) { u.SetKind("ConfigMap") }), ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, ofWork := "", ""
			if scaled, ok := NewWork(sample.Work(tc.object, "m1")).Scales(); ok {
				ofWork = scaled.String()
			}
			if scaled, ok := NewObject(tc.object).Scales(); ok {
				got = scaled.String()
			}
			if got != tc.want || ofWork != tc.want {
				t.Errorf("%s: %q, its Work %q", tc.reason, got, ofWork)
			}
		})
	}
}
