package render

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// System says what a Kubernetes cluster makes by itself.
type System int

// The kinds of such objects.
const (
	// NotSystem: a user has made it.
	NotSystem System = iota
	// SystemOwn: every cluster makes its own, and another cluster's would do harm.
	SystemOwn
	// SystemRecord: a tool's record of this cluster, which means nothing elsewhere
	// unless somebody wants just that.
	SystemRecord
)

// helmRelease is the type of the Secrets in which Helm keeps its releases (Helm v3,
// pkg/storage/driver/secrets.go).
const helmRelease = "helm.sh/release.v1"

// SystemOf tells whether an object is such a one. Those are in every namespace, and
// nobody who has a namespace mirrored means them.
func SystemOf(obj *unstructured.Unstructured) System {
	kind := obj.GroupVersionKind().GroupKind()
	switch kind {
	case schema.GroupKind{Kind: "ConfigMap"}:
		if obj.GetName() == "kube-root-ca.crt" {
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
