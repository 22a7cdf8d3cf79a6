package render

import (
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// pruner removes fields, if it does not spare them in an object.
type pruner struct {
	group  string
	fields [][]string
	prune  func(obj map[string]any, fields [][]string)
}

// pruners remove per kind what Karmada removes
// (pkg/resourceinterpreter/default/native/prune, v1.18.2). The group is the one
// that each was meant for; Karmada checks only the kind.
var pruners = map[string]pruner{
	// Of the Deployment controller (k8s.io/kubectl pkg/util/deployment).
	"Deployment": {"apps", annotations("deployment.kubernetes.io/revision", "deployment.kubernetes.io/revision-history"), remove},
	"Job": {"batch", [][]string{
		{"spec", "ttlSecondsAfterFinished"},
		{"spec", "selector", "matchLabels", "controller-uid"}, {"spec", "selector", "matchLabels", batchv1.ControllerUidLabel},
		{"spec", "template", "metadata", "labels", "controller-uid"}, {"spec", "template", "metadata", "labels", batchv1.ControllerUidLabel},
		{"spec", "template", "metadata", "labels", "job-name"}, {"spec", "template", "metadata", "labels", batchv1.JobNameLabel},
	}, pruneJob},
	"Secret":         {"", append(annotations(corev1.ServiceAccountUIDKey), []string{"data"}), pruneSecret},
	"Service":        {"", [][]string{{"spec", "clusterIP"}, {"spec", "clusterIPs"}}, pruneService},
	"ServiceAccount": {"", nil, pruneServiceAccount},
	// Of the scheduler (k8s.io/component-helpers storage/volume).
	"PersistentVolumeClaim": {"", annotations("volume.kubernetes.io/selected-node"), remove},
}

func annotations(keys ...string) (fields [][]string) {
	for _, key := range keys {
		fields = append(fields, []string{"metadata", "annotations", key})
	}
	return fields
}

// pruneBuiltin prunes an object of a built-in kind.
func pruneBuiltin(obj map[string]any) {
	apiVersion, _ := obj["apiVersion"].(string)
	kind, _ := obj["kind"].(string)
	gv, err := schema.ParseGroupVersion(apiVersion)
	if p, ok := pruners[kind]; ok && err == nil && p.group == gv.Group {
		p.prune(obj, p.fields)
		if _, has, err := unstructured.NestedFieldNoCopy(obj, "spec", "clusterIP"); kind == "Service" && !has && err == nil {
			unstructured.RemoveNestedField(obj, "spec", "clusterIPs") // an override may leave them alone, or add them
		}
	}
}

// prunedOf returns what pruneBuiltin removes from an object, or has removed.
func prunedOf(obj *unstructured.Unstructured) [][]string {
	p := pruners[obj.GetKind()]
	serviceType, _, _ := unstructured.NestedString(obj.Object, "spec", "type")
	isManual, _, _ := unstructured.NestedBool(obj.Object, "spec", "manualSelector")
	switch kind := obj.GetKind(); {
	case p.group != obj.GroupVersionKind().Group, kind == "Secret" && !isToken(obj), kind == "Service" && serviceType == string(corev1.ServiceTypeExternalName):
		return nil
	case kind == "Job" && isManual:
		return p.fields[:1]
	}
	return p.fields
}

// pruneKind prunes an object as Karmada's webhook does, whatever its group.
func pruneKind(obj map[string]any) {
	kind, _ := obj["kind"].(string)
	if p, ok := pruners[kind]; ok {
		p.prune(obj, p.fields)
	}
}

// pruneJob removes the selector and labels that the API server generates,
// unless the user manages them, and the TTL: a Job that a member deletes would
// be created again forever.
func pruneJob(obj map[string]any, fields [][]string) {
	if manual, _, _ := unstructured.NestedBool(obj, "spec", "manualSelector"); manual {
		fields = fields[:1]
	}
	remove(obj, fields)
}

func pruneService(obj map[string]any, fields [][]string) {
	ip, found, err := unstructured.NestedString(obj, "spec", "clusterIP")
	if err == nil && found && ip != corev1.ClusterIPNone {
		remove(obj, fields)
	}
}

// pruneSecret empties a service account's token: the member makes its own.
// Karmada leaves a null behind, which means the same.
func pruneSecret(obj map[string]any, fields [][]string) {
	if secretType, _ := obj["type"].(string); secretType == string(corev1.SecretTypeServiceAccountToken) {
		remove(obj, fields)
	}
}

// pruneServiceAccount removes the references to generated token Secrets (Karmada
// misses every second one in a row) and those without a name, which refer to
// nothing and make its webhook panic.
func pruneServiceAccount(obj map[string]any, _ [][]string) {
	secrets, ok := obj["secrets"].([]any)
	if !ok || len(secrets) == 0 {
		return
	}
	name, _, _ := unstructured.NestedString(obj, "metadata", "name")
	obj["secrets"] = slices.DeleteFunc(slices.Clone(secrets), func(secret any) bool {
		reference, _ := secret.(map[string]any)
		referred, named := reference["name"].(string)
		return !named || strings.HasPrefix(referred, name+"-token-")
	})
}

func remove(obj map[string]any, fields [][]string) {
	for _, field := range fields {
		unstructured.RemoveNestedField(obj, field...)
	}
}
