package state

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/render"
)

// AutoscalerKind is the kind that scales workloads in a member, where Karmada would keep
// resetting the replicas to the source's number.
var AutoscalerKind = schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}

// AutoscalersResource is the resource to read autoscalers from.
var AutoscalersResource = schema.GroupVersionResource{Group: AutoscalerKind.Group, Version: "v2", Resource: "horizontalpodautoscalers"}

// scaledBy returns the workload that an object scales; nil if it is not an autoscaler.
func scaledBy(u *unstructured.Unstructured) *render.Identity {
	if u.GroupVersionKind().GroupKind() != AutoscalerKind {
		return nil
	}
	field := func(name string) string {
		value, _, _ := unstructured.NestedString(u.Object, "spec", "scaleTargetRef", name)
		return value
	}
	gv, err := schema.ParseGroupVersion(field("apiVersion"))
	if err != nil || field("kind") == "" || field("name") == "" {
		return nil
	}
	return &render.Identity{Group: gv.Group, Kind: field("kind"), Namespace: u.GetNamespace(), Name: field("name")}
}
