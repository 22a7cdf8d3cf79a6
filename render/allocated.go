package render

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// allocatedFields are those that stripAllocated may remove, besides annotations. What an API server allocates for a Service is in
// pkg/registry/core/service/storage/alloc.go of k8s.io/kubernetes.
var allocatedFields = map[schema.GroupKind][][]string{
	{Kind: "Service"}:               {{"spec", "healthCheckNodePort"}, {"spec", "ipFamilies"}, {"spec", "ipFamilyPolicy"}, {"spec", "ports", anyItem, "nodePort"}},
	{Kind: "PersistentVolumeClaim"}: {{"spec", "volumeName"}},
	{Kind: "PersistentVolume"}:      {{"spec", "claimRef", "uid"}, {"spec", "claimRef", "resourceVersion"}},
}

// anyItem stands for any index of a list in a path.
const anyItem = "*"

// isOfControlPlane reports whether a label or annotation was left by what binds and provisions volumes (k8s.io/component-helpers
// storage/volume), or by the API server about the use of a token (k8s.io/kubernetes pkg/serviceaccount/legacy.go).
func isOfControlPlane(kind schema.GroupKind, key string) bool {
	domain, name, _ := strings.Cut(key, "/")
	switch kind {
	case schema.GroupKind{Kind: "PersistentVolumeClaim"}, schema.GroupKind{Kind: "PersistentVolume"}:
		return domain == "pv.kubernetes.io" || name == "storage-provisioner" && (domain == "volume.kubernetes.io" || domain == "volume.beta.kubernetes.io")
	case schema.GroupKind{Kind: "Secret"}:
		return key == "kubernetes.io/legacy-token-last-used" || key == "kubernetes.io/legacy-token-invalid-since"
	}
	return false
}

// stripAllocated removes from an object of a built-in kind what the control plane has allocated or a controller has bound, and
// the user has not chosen. Karmada copies it (https://github.com/karmada-io/karmada/issues/7823), and a member in which a port
// is taken refuses the Service. By the managed fields, no one owns what an API server allocates; without any, all is the user's.
func stripAllocated(obj *unstructured.Unstructured) {
	spec, metadata, kind := fieldsOf(obj.Object["spec"]), fieldsOf(obj.Object["metadata"]), obj.GroupVersionKind().GroupKind()
	switch kind {
	case schema.GroupKind{Kind: "Service"}:
		stripService(spec, obj.GetManagedFields())
	case schema.GroupKind{Kind: "PersistentVolumeClaim"}:
		if annotations := fieldsOf(metadata["annotations"]); annotations["pv.kubernetes.io/bind-completed"] != nil && !(annotations["pv.kubernetes.io/bound-by-controller"] == nil && choosesVolume(obj.GetManagedFields())) {
			delete(spec, "volumeName")
		}
	case schema.GroupKind{Kind: "PersistentVolume"}:
		claim := fieldsOf(spec["claimRef"])
		delete(claim, "uid")
		delete(claim, "resourceVersion")
	case schema.GroupKind{Kind: "Secret"}:
	default:
		return
	}
	for _, field := range []string{"labels", "annotations"} {
		if _, has := metadata[field]; has {
			stripKeys(metadata, field, func(key, _ string) bool { return isOfControlPlane(kind, key) })
		}
	}
}

// choosesVolume reports whether a user has named the volume of a claim.
func choosesVolume(managers []metav1.ManagedFieldsEntry) bool {
	fields := owned(managers, func(manager string) bool { return manager != "kube-controller-manager" })
	return fields != nil && fields.Has(fieldpath.MakePathOrDie("spec", "volumeName"))
}

func stripService(spec map[string]any, managers []metav1.ManagedFieldsEntry) {
	fields := owned(managers, func(string) bool { return true })
	if fields == nil {
		return
	}
	for _, field := range []string{"healthCheckNodePort", "ipFamilies", "ipFamilyPolicy"} {
		if !fields.Has(fieldpath.MakePathOrDie("spec", field)) {
			delete(spec, field)
		}
	}
	ports, _ := spec["ports"].([]any)
	for _, port := range ports {
		port, _ := port.(map[string]any)
		key := fieldpath.KeyByFields("port", port["port"], "protocol", port["protocol"])
		if !fields.Has(fieldpath.MakePathOrDie("spec", "ports", key, "nodePort")) {
			delete(port, "nodePort")
		}
	}
}

// owned returns the fields that some managers own; nil if that is not known.
func owned(managers []metav1.ManagedFieldsEntry, counts func(manager string) bool) (all *fieldpath.Set) {
	for _, m := range managers {
		if m.FieldsV1 == nil || m.Subresource != "" || !counts(m.Manager) {
			continue
		}
		set := &fieldpath.Set{}
		if err := set.FromJSON(strings.NewReader(m.FieldsV1.String())); err != nil {
			return nil
		}
		if all == nil {
			all = &fieldpath.Set{}
		}
		all = all.Union(set)
	}
	return all
}
