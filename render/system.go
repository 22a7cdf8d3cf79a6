package render

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// System classifies objects by whether a Kubernetes cluster or a tool made them.
type System uint8

// The values of System.
const (
	// NotSystem is an object that a user made.
	NotSystem System = iota
	// SystemOwn is an object that every cluster makes for itself; another cluster's
	// would do harm.
	SystemOwn
	// SystemRecord is a tool's record of this cluster, which means nothing elsewhere
	// unless a user wants exactly that.
	SystemRecord
)

// helmRelease is the type of the Secrets in which Helm keeps its releases (Helm v3,
// pkg/storage/driver/secrets.go).
const helmRelease = "helm.sh/release.v1"

// SystemOf classifies an object. Such objects are in every namespace, and a user who
// mirrors a namespace does not mean them.
func SystemOf(obj *unstructured.Unstructured) System {
	kind := obj.GroupVersionKind().GroupKind()
	switch kind {
	case schema.GroupKind{Kind: "ConfigMap"}:
		if obj.GetName() == "kube-root-ca.crt" {
			return SystemOwn
		}
	case schema.GroupKind{Kind: "Service"}: // of the API server itself
		if obj.GetNamespace() == "default" && obj.GetName() == "kubernetes" {
			return SystemOwn
		}
	case schema.GroupKind{Kind: "ServiceAccount"}:
		if obj.GetName() == "default" {
			return SystemRecord
		}
	case schema.GroupKind{Kind: "Secret"}:
		kind, _, _ := unstructured.NestedString(obj.Object, "type")
		switch kind {
		case string(corev1.SecretTypeServiceAccountToken):
			return SystemOwn
		case helmRelease:
			return SystemRecord
		}
	}
	return NotSystem
}
