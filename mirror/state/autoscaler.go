package state

import (
	"cmp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/render"
)

// AutoscalerKind is the kind that scales workloads in a member, where Karmada would keep
// resetting the replicas to the source's number.
var AutoscalerKind = schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}

// ScaledObjectKind is KEDA's: in the member, KEDA makes an autoscaler of it.
var ScaledObjectKind = schema.GroupKind{Group: "keda.sh", Kind: "ScaledObject"}

// AutoscalerResources are the resources to read autoscalers from, by kind.
var AutoscalerResources = map[schema.GroupKind]schema.GroupVersionResource{
	AutoscalerKind:   {Group: AutoscalerKind.Group, Version: "v2", Resource: "horizontalpodautoscalers"},
	ScaledObjectKind: {Group: ScaledObjectKind.Group, Version: "v1alpha1", Resource: "scaledobjects"},
}

// IsAutoscaler reports whether objects of a kind scale others.
func IsAutoscaler(kind schema.GroupKind) bool {
	return kind == AutoscalerKind || kind == ScaledObjectKind
}

// scaledBy returns the workload that an object scales; nil if it is not an autoscaler.
func scaledBy(u *unstructured.Unstructured) *render.Identity {
	gk := u.GroupVersionKind().GroupKind()
	if !IsAutoscaler(gk) {
		return nil
	}
	usual := map[string]string{}
	if gk == ScaledObjectKind {
		usual = map[string]string{"apiVersion": "apps/v1", "kind": "Deployment"}
	}
	field := func(name string) string {
		value, _, _ := unstructured.NestedString(u.Object, "spec", "scaleTargetRef", name)
		return cmp.Or(value, usual[name])
	}
	gv, err := schema.ParseGroupVersion(field("apiVersion"))
	if err != nil || field("kind") == "" || field("name") == "" {
		return nil
	}
	return &render.Identity{Group: gv.Group, Kind: field("kind"), Namespace: u.GetNamespace(), Name: field("name")}
}
