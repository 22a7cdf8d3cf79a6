package render

import (
	"strings"

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
	// SystemEverywhere is an object that a cluster or a tool makes in every namespace, in
	// a member as well.
	SystemEverywhere
	// SystemRecord is a record of this cluster, which means nothing elsewhere unless a
	// user wants exactly that: of a tool, or the Secret of a ServiceAccount's token, which
	// a member fills in itself.
	SystemRecord
)

const (
	// helmRelease is the type of the Secrets in which Helm keeps its releases, and helmPrefix
	// begins the names of the ConfigMaps (Helm v3, pkg/storage).
	helmRelease, helmPrefix = "helm.sh/release.v1", "sh.helm.release.v1."
)

// systemNames are the objects that a cluster or a tool makes in every namespace.
var systemNames = map[schema.GroupKind]map[string]System{
	{Kind: "ConfigMap"}: {
		"kube-root-ca.crt":         SystemOwn,
		"istio-ca-root-cert":       SystemEverywhere, // istio.io/istio pkg/kube/namespace
		"openshift-service-ca.crt": SystemEverywhere,
	},
	{Kind: "ServiceAccount"}: {"default": SystemEverywhere},
}

// recordAnnotations mark a lock of an elected leader (client-go tools/leaderelection/resourcelock, before Leases), and the
// copies that kubernetes-reflector, kubernetes-replicator and Config Syncer make of an object of another namespace.
var recordAnnotations = []string{
	"control-plane.alpha.kubernetes.io/leader",
	"reflector.v1.k8s.emberstack.com/reflects", "reflector.v1.k8s.emberstack.com/auto-reflects",
	"replicator.v1.mittwald.de/replicated-at", "replicator.v1.mittwald.de/replicated-from-version",
	"kubed.appscode.com/origin",
}

// bundleLabel marks the certificates that trust-manager puts into namespaces.
const bundleLabel = "trust.cert-manager.io/bundle"

// SystemOfName is SystemOf of an object of which only the name is known.
func SystemOfName(id Identity) System { return systemNames[id.GroupKind()][id.Name] }

// SystemOf classifies an object. Such objects are in every namespace, and a user who
// mirrors a namespace does not mean them.
func SystemOf(obj *unstructured.Unstructured) System {
	kind := obj.GroupVersionKind().GroupKind()
	system := systemNames[kind][obj.GetName()]
	switch {
	case system != NotSystem:
		return system
	case kind == schema.GroupKind{Kind: "Service"} && obj.GetNamespace() == "default" && obj.GetName() == "kubernetes": // of the API server itself
		return SystemOwn
	case isToken(obj), typeOf(obj) == helmRelease, kind == schema.GroupKind{Kind: "ConfigMap"} && strings.HasPrefix(obj.GetName(), helmPrefix):
		return SystemRecord
	}
	annotations, labels := fieldsOf(fieldsOf(obj.Object["metadata"])["annotations"]), fieldsOf(fieldsOf(obj.Object["metadata"])["labels"])
	for _, key := range recordAnnotations {
		if annotations[key] != nil {
			return SystemRecord
		}
	}
	if labels[bundleLabel] != nil {
		return SystemEverywhere
	}
	return NotSystem
}

// accountOf returns the ServiceAccount whose token a Secret is for; empty if it is for none.
func accountOf(obj *unstructured.Unstructured) string {
	if !isToken(obj) {
		return ""
	}
	return obj.GetAnnotations()[corev1.ServiceAccountNameKey]
}

func isToken(obj *unstructured.Unstructured) bool {
	return typeOf(obj) == string(corev1.SecretTypeServiceAccountToken)
}

// typeOf returns the type of a Secret; empty for another kind.
func typeOf(obj *unstructured.Unstructured) string {
	if (obj.GroupVersionKind().GroupKind() != schema.GroupKind{Kind: "Secret"}) {
		return ""
	}
	secretType, _ := obj.Object["type"].(string)
	return secretType
}
