package render

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
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
	{Kind: "PersistentVolume"}:      {{"metadata", "annotations", provisionedBy}, {"spec", "claimRef", "uid"}, {"spec", "claimRef", "resourceVersion"}},
	// By admission and the scheduler (plugin/pkg/admission of k8s.io/kubernetes). A member's admission refuses other values, or adds
	// them again, also when Karmada updates the Pod; it adds overhead only when the Pod is created.
	{Kind: "Pod"}: {{"spec", "nodeName"}, {"spec", "preemptionPolicy"}, {"spec", "priority"}, {"spec", "tolerations"}, {"spec", "volumes"}, {"spec", "containers", anyItem, "volumeMounts"}, {"spec", "initContainers", anyItem, "volumeMounts"}},
}

// provisionedBy says which driver may delete what a volume is stored in. Users write it in volumes that they make by hand.
const provisionedBy = "pv.kubernetes.io/provisioned-by"

// anyItem stands for any index of a list in a path.
const anyItem = "*"

// leftBehind are globs of the labels and annotations that API servers and controllers of the control plane leave in objects, by
// kind; the zero value is all kinds. Binding and provisioning volumes: k8s.io/component-helpers storage/volume; the use of a token:
// k8s.io/kubernetes pkg/serviceaccount/legacy.go; statuses of autoscalers: pkg/apis/autoscaling/annotations.go; copies and
// addresses: Rancher.
var leftBehind = map[schema.GroupKind][]string{
	{}: {"field.cattle.io/ingressState", "field.cattle.io/publicEndpoints", "objectset.rio.cattle.io/*"},

	{Kind: "Endpoints"}:             {"endpoints.kubernetes.io/last-change-trigger-time"},
	{Kind: "PersistentVolume"}:      {"pv.kubernetes.io/bound-by-controller", "pv.kubernetes.io/migrated-to", "volume.beta.kubernetes.io/storage-provisioner", "volume.kubernetes.io/storage-provisioner"},
	{Kind: "PersistentVolumeClaim"}: {"pv.kubernetes.io/*", "volume.beta.kubernetes.io/storage-provisioner", "volume.kubernetes.io/storage-provisioner"},
	{Kind: "Secret"}:                {"kubernetes.io/legacy-token-invalid-since", "kubernetes.io/legacy-token-last-used"},

	{Group: "apps", Kind: "DaemonSet"}:                      {"deprecated.daemonset.template.generation"},
	{Group: "apps", Kind: "ReplicaSet"}:                     {"deployment.kubernetes.io/*"},
	{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}: {"autoscaling.alpha.kubernetes.io/conditions", "autoscaling.alpha.kubernetes.io/current-metrics"},
	{Group: "batch", Kind: "Job"}:                           {"batch.kubernetes.io/job-tracking"},
	{Group: "discovery.k8s.io", Kind: "EndpointSlice"}:      {"endpoints.kubernetes.io/last-change-trigger-time"},
}

// isLeftBehind reports whether a label or annotation of an object is one of those.
func isLeftBehind(kind schema.GroupKind, key string) bool {
	is := func(glob string) bool {
		prefix, isPrefix := strings.CutSuffix(glob, "*")
		return glob == key || isPrefix && strings.HasPrefix(key, prefix)
	}
	return slices.ContainsFunc(leftBehind[schema.GroupKind{}], is) || slices.ContainsFunc(leftBehind[kind], is)
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
		if annotations := fieldsOf(metadata["annotations"]); annotations["pv.kubernetes.io/bind-completed"] != nil && !(annotations["pv.kubernetes.io/bound-by-controller"] == nil && chooses(obj.GetManagedFields(), "spec", "volumeName")) {
			delete(spec, "volumeName")
		}
	case schema.GroupKind{Kind: "PersistentVolume"}:
		claim := fieldsOf(spec["claimRef"])
		if claim["uid"] != nil && !chooses(obj.GetManagedFields(), "metadata", "annotations", provisionedBy) { // it was provisioned
			delete(fieldsOf(metadata["annotations"]), provisionedBy)
		}
		delete(claim, "uid")
		delete(claim, "resourceVersion")
	case schema.GroupKind{Kind: "Pod"}:
		stripPod(spec, obj.GetManagedFields())
	}
}

// stripPod removes what admission has added, which a member's adds again, and a node that no one has chosen.
func stripPod(spec map[string]any, managers []metav1.ManagedFieldsEntry) {
	if fields := owned(managers, func(string) bool { return true }); fields == nil || !fields.Has(fieldpath.MakePathOrDie("spec", "nodeName")) {
		delete(spec, "nodeName")
	}
	for _, field := range []string{"preemptionPolicy", "priority"} {
		delete(spec, field)
	}
	dropItems(spec, "tolerations", func(toleration map[string]any) bool {
		key := toleration["key"]
		return (key == corev1.TaintNodeNotReady || key == corev1.TaintNodeUnreachable) && toleration["operator"] == string(corev1.TolerationOpExists) &&
			toleration["effect"] == string(corev1.TaintEffectNoExecute) && fmt.Sprint(toleration["tolerationSeconds"]) == "300"
	})
	if spec["automountServiceAccountToken"] == false {
		return
	}
	dropped := map[string]bool{}
	dropItems(spec, "volumes", func(volume map[string]any) bool {
		name, _ := volume["name"].(string)
		dropped[name] = isAccountVolume(name, volume)
		return dropped[name]
	})
	for _, field := range []string{"containers", "initContainers"} {
		for container := range each(spec[field]) {
			dropItems(container, "volumeMounts", func(mount map[string]any) bool { name, _ := mount["name"].(string); return dropped[name] })
		}
	}
}

// isAccountVolume reports whether admission has added a volume for the token of a Pod's account: no other has, besides a token for
// the API server, the certificate of that (plugin/pkg/admission/serviceaccount of k8s.io/kubernetes).
func isAccountVolume(name string, volume map[string]any) bool {
	hasToken, hasCertificate := false, false
	for source := range each(fieldsOf(volume["projected"])["sources"]) {
		token, isToken := source["serviceAccountToken"]
		hasToken = hasToken || isToken && fieldsOf(token)["audience"] == nil
		hasCertificate = hasCertificate || fieldsOf(source["configMap"])["name"] == "kube-root-ca.crt"
	}
	return strings.HasPrefix(name, "kube-api-access-") && hasToken && hasCertificate
}

// dropItems deletes items of a list, and a list that becomes empty.
func dropItems(of map[string]any, field string, drops func(map[string]any) bool) {
	list, _ := of[field].([]any)
	if len(list) == 0 {
		return
	}
	if list = slices.DeleteFunc(list, func(item any) bool { return drops(fieldsOf(item)) }); len(list) == 0 {
		delete(of, field)
		return
	}
	of[field] = list
}

// chooses reports whether a user has written a field, and not what binds and provisions volumes.
func chooses(managers []metav1.ManagedFieldsEntry, path ...any) bool {
	isUser := func(manager string) bool {
		return manager != "kube-controller-manager" && !strings.Contains(manager, "provisioner")
	}
	fields := owned(managers, isUser)
	return len(managers) == 0 || fields != nil && fields.Has(fieldpath.MakePathOrDie(path...))
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
