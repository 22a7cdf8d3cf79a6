package render

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// HandoverAnnotation is on a Work that was ours when a policy claimed its
// source. Its value is that of SourceAnnotation. It stays, so that the Work is
// recognized when the policy is deleted, even if a binding that the policy left
// behind takes it again.
const HandoverAnnotation = Domain + "handover"

// Release returns a JSON merge patch that removes our labels and annotations from a
// Work, at exactly this resource version, and records its source. The rest stays, and so
// does the object in the member.
func Release(id Identity, resourceVersion string) []byte {
	return unmark(resourceVersion, new(id.String()), nil)
}

// Disown is a Release of a Work that carries another object, so that no source takes it
// back. owners replace the owners that it has; nil keeps them.
func Disown(resourceVersion string, owners []metav1.OwnerReference) []byte {
	return unmark(resourceVersion, nil, owners)
}

// OwnersOf returns the owners of a Work plus the Namespace that it carries; nil if it
// carries none, or has that owner already. Karmada's namespace controller relies on the
// garbage collector to delete the Works of a Namespace, and makes the Namespace their owner
// when it creates them. When it updates an existing Work it writes the manifest, but no
// owner (CreateOrUpdateWork in pkg/controllers/ctrlutil/work.go, v1.18.2).
func OwnersOf(work *unstructured.Unstructured) []metav1.OwnerReference {
	manifest, _ := ManifestOf(work.Object)
	u := unstructured.Unstructured{Object: manifest}
	uid := types.UID(u.GetAnnotations()[templateUIDAnnotation])
	owners := work.GetOwnerReferences()
	if u.GroupVersionKind() != corev1.SchemeGroupVersion.WithKind("Namespace") || uid == "" || slices.ContainsFunc(owners, func(o metav1.OwnerReference) bool { return o.UID == uid }) {
		return nil
	}
	return append(owners, metav1.OwnerReference{APIVersion: u.GetAPIVersion(), Kind: u.GetKind(), Name: u.GetName(), UID: uid, Controller: new(true)})
}

// Detach returns a JSON merge patch that removes Karmada's finalizer from a Work, at exactly
// this resource version: the object in the member then stays as it is when the Work is
// deleted. finalizers are all that the Work has: a merge patch replaces lists.
func Detach(resourceVersion string, finalizers []string) []byte {
	others := slices.DeleteFunc(slices.Clone(finalizers), func(f string) bool { return f == ExecutionFinalizer })
	return mustEncode(map[string]any{"metadata": map[string]any{"resourceVersion": resourceVersion, "finalizers": others}})
}

func unmark(resourceVersion string, handover *string, owners []metav1.OwnerReference) []byte {
	return metadata{
		ResourceVersion: resourceVersion,
		Labels:          map[string]*string{ManagedByLabel: nil, SourceIDLabel: nil, HeldKey: nil},
		Annotations: map[string]*string{
			SourceAnnotation: nil, SourceUIDAnnotation: nil, SourceCreatedAnnotation: nil, HeldKey: nil,
			HandoverAnnotation: handover, OverriddenByAnnotation: nil, ShareAnnotation: nil, RenderedAnnotation: nil, WrittenAnnotation: nil,
		},
		OwnerReferences: owners,
	}.patch()
}

// bindingLabels and bindingAnnotations are what Karmada's binding controllers
// put on a Work (mergeLabel and mergeAnnotations in
// pkg/controllers/binding/common.go, v1.18.2).
var (
	bindingLabels = []string{
		bindingIDLabel,
		clusterBindingIDLabel,
	}
	bindingAnnotations = []string{
		bindingNamespaceAnnotation,
		bindingNameAnnotation,
		clusterBindingAnnotation,
		conflictResolutionAnnotation,
		"policy.karmada.io/applied-overrides",
		"policy.karmada.io/applied-cluster-overrides",
	}
)

// BoundTo names the binding that a Work says it belongs to; the namespace is empty for a
// ClusterResourceBinding. It is not ok if the Work names none, or both.
func BoundTo(annotations map[string]string) (namespace, name string, ok bool) {
	cluster, namespaced := annotations[clusterBindingAnnotation], annotations[bindingNameAnnotation]
	if namespaced != "" {
		return annotations[bindingNamespaceAnnotation], namespaced, cluster == "" && annotations[bindingNamespaceAnnotation] != ""
	}
	return "", cluster, cluster != ""
}

// unbind removes from a Work what a binding has put on it.
func (m metadata) unbind() {
	for _, key := range bindingLabels {
		m.Labels[key] = nil
	}
	for _, key := range bindingAnnotations {
		m.Annotations[key] = nil
	}
}
