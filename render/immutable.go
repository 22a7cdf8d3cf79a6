package render

import (
	"encoding/json"
	"hash/fnv"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Immutable stands for the fields of an object that Kubernetes lets no one change.
type Immutable struct {
	// fixed are those of its kind; 0 if the object has none, and may then get them. sealed are those that the user of this object
	// has made immutable; 0 for none.
	fixed, sealed uint32
}

// Bars reports whether an object cannot become another one of its name: it has to be deleted, and the other one created.
func (i Immutable) Bars(other Immutable) bool {
	return i.fixed != 0 && other.fixed != 0 && i.fixed != other.fixed || i.sealed != 0 && i.sealed != other.sealed
}

// ImmutableOf returns what no one can change in the object of a manifest. Of an object that runs once, that is its UID:
// one that was deleted and created again is to run again.
func ImmutableOf(manifest map[string]any) (i Immutable) {
	kind := (&unstructured.Unstructured{Object: manifest}).GroupVersionKind().GroupKind()
	of := fixed[kind]
	if runsOnce(kind, manifest) {
		of = at([]string{"metadata", "annotations", templateUIDAnnotation})
	}
	if of != nil {
		i.fixed = hashOf(of(manifest))
	}
	isSealed := kind == schema.GroupKind{Kind: "ConfigMap"} || kind == schema.GroupKind{Kind: "Secret"}
	if isSealed && manifest["immutable"] == true {
		i.sealed = hashOf([]any{manifest["data"], manifest["binaryData"]})
	}
	return i
}

// hashOf returns 0 for nil only.
func hashOf(value any) uint32 {
	if value == nil {
		return 0
	}
	hash := fnv.New32a()
	_ = json.NewEncoder(hash).Encode(value) // what comes from JSON encodes, and a hash takes everything
	return max(1, hash.Sum32())
}

// reader returns what no one can change in an object; nil for nothing.
type reader func(obj map[string]any) any

// fixed are the readers of Kubernetes' kinds (ValidateUpdate in pkg/apis and pkg/registry of k8s.io/kubernetes, v1.35).
// CustomResourceDefinitions, volumes and claims are missing: more than the object would be deleted with them. So are fields that an
// API server lets a user set once, or fills in: that one Work has them, and another has not, says nothing.
var fixed = map[schema.GroupKind]reader{
	{Kind: "Pod"}:           ofPod,
	{Kind: "ResourceQuota"}: ofQuota,
	{Kind: "Secret"}:        at([]string{"type"}),
	{Kind: "Service"}:       ofService,

	{Group: "apps", Kind: "ControllerRevision"}:                      at([]string{"data"}),
	{Group: "apps", Kind: "DaemonSet"}:                               at([]string{"spec", "selector"}),
	{Group: "apps", Kind: "Deployment"}:                              at([]string{"spec", "selector"}),
	{Group: "apps", Kind: "ReplicaSet"}:                              at([]string{"spec", "selector"}),
	{Group: "apps", Kind: "StatefulSet"}:                             ofStatefulSet,
	{Group: "discovery.k8s.io", Kind: "EndpointSlice"}:               at([]string{"addressType"}),
	{Group: "networking.k8s.io", Kind: "IngressClass"}:               at([]string{"spec", "controller"}),
	{Group: "node.k8s.io", Kind: "RuntimeClass"}:                     at([]string{"handler"}),
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"}: at([]string{"roleRef"}),
	{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}:        at([]string{"roleRef"}),
	{Group: "resource.k8s.io", Kind: "ResourceClaim"}:                at([]string{"spec"}),
	{Group: "resource.k8s.io", Kind: "ResourceClaimTemplate"}:        at([]string{"spec"}),
	{Group: "scheduling.k8s.io", Kind: "PriorityClass"}:              at([]string{"value"}, []string{"preemptionPolicy"}),
	{Group: "storage.k8s.io", Kind: "CSIDriver"}:                     at([]string{"spec", "attachRequired"}, []string{"spec", "volumeLifecycleModes"}),
	{Group: "storage.k8s.io", Kind: "StorageClass"}:                  at([]string{"provisioner"}, []string{"parameters"}, []string{"reclaimPolicy"}, []string{"volumeBindingMode"}),
	{Group: "storage.k8s.io", Kind: "VolumeAttributesClass"}:         at([]string{"driverName"}, []string{"parameters"}),
}

func at(paths ...[]string) reader {
	return func(obj map[string]any) any {
		values := make([]any, len(paths))
		for i, path := range paths {
			values[i], _, _ = unstructured.NestedFieldNoCopy(obj, path...)
		}
		return values
	}
}

func withoutKeys(m map[string]any, keys ...string) map[string]any {
	m = maps.Clone(m)
	for _, key := range keys {
		delete(m, key)
	}
	return m
}

// ofService reads whether a Service is headless, but nothing of one that only names another host.
func ofService(obj map[string]any) any {
	spec := fieldsOf(obj["spec"])
	if spec["type"] == string(corev1.ServiceTypeExternalName) {
		return nil
	}
	return spec["clusterIP"] == corev1.ClusterIPNone
}

// ofQuota reads the scopes of a ResourceQuota, in any order.
func ofQuota(obj map[string]any) any {
	scopes, isGiven, _ := unstructured.NestedStringSlice(obj, "spec", "scopes")
	if slices.Sort(scopes); !isGiven {
		return []string{}
	}
	return scopes
}

// ofStatefulSet reads a StatefulSet, unless its claims are deleted with it.
func ofStatefulSet(obj map[string]any) any {
	if when, _, _ := unstructured.NestedString(obj, "spec", "persistentVolumeClaimRetentionPolicy", "whenDeleted"); when == string(appsv1.DeletePersistentVolumeClaimRetentionPolicyType) {
		return nil
	}
	return at([]string{"spec", "selector"}, []string{"spec", "serviceName"}, []string{"spec", "podManagementPolicy"}, []string{"spec", "volumeClaimTemplates"})(obj)
}

// ofPod reads a Pod without what may change: images, its deadlines, and tolerations.
func ofPod(obj map[string]any) any {
	spec := withoutKeys(fieldsOf(obj["spec"]), "activeDeadlineSeconds", "ephemeralContainers", "terminationGracePeriodSeconds", "tolerations")
	value := []any{withoutKeys(spec, "containers", "initContainers")}
	for _, field := range []string{"containers", "initContainers"} {
		for container := range each(spec[field]) {
			value = append(value, withoutKeys(container, "image"))
		}
	}
	return value
}
