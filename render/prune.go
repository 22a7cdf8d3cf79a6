package render

import (
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// pruners remove per kind what Karmada removes
// (pkg/resourceinterpreter/default/native/prune, v1.18.2). The group is the one
// that each was meant for; Karmada checks only the kind.
var pruners = map[string]struct {
	group string
	prune func(obj map[string]any)
}{
	"Deployment":            {"apps", pruneDeployment},
	"Job":                   {"batch", pruneJob},
	"Secret":                {"", pruneSecret},
	"Service":               {"", pruneService},
	"ServiceAccount":        {"", pruneServiceAccount},
	"PersistentVolumeClaim": {"", prunePersistentVolumeClaim},
}

// pruneBuiltin prunes an object of a built-in kind.
func pruneBuiltin(obj map[string]any) {
	apiVersion, _ := obj["apiVersion"].(string)
	kind, _ := obj["kind"].(string)
	gv, err := schema.ParseGroupVersion(apiVersion)
	if p, ok := pruners[kind]; ok && err == nil && p.group == gv.Group {
		p.prune(obj)
	}
}

// pruneKind prunes an object as Karmada's webhook does, whatever its group.
func pruneKind(obj map[string]any) {
	kind, _ := obj["kind"].(string)
	if p, ok := pruners[kind]; ok {
		p.prune(obj)
	}
}

// The annotations of a Deployment controller (k8s.io/kubectl
// pkg/util/deployment).
const (
	revisionAnnotation        = "deployment.kubernetes.io/revision"
	revisionHistoryAnnotation = "deployment.kubernetes.io/revision-history"
	// selectedNodeAnnotation is the scheduler's (k8s.io/component-helpers
	// storage/volume).
	selectedNodeAnnotation = "volume.kubernetes.io/selected-node"
)

func pruneDeployment(obj map[string]any) {
	deleteKeys(obj, []string{revisionAnnotation, revisionHistoryAnnotation}, "metadata", "annotations")
}

// pruneJob removes the selector and labels that the API server generates,
// unless the user manages them, and the TTL: a Job that a member deletes would
// be created again forever.
func pruneJob(obj map[string]any) {
	unstructured.RemoveNestedField(obj, "spec", "ttlSecondsAfterFinished")
	if manual, _, _ := unstructured.NestedBool(obj, "spec", "manualSelector"); manual {
		return
	}
	uid := []string{"controller-uid", batchv1.ControllerUidLabel}
	deleteKeys(obj, uid, "spec", "selector", "matchLabels")
	deleteKeys(obj, append(uid, "job-name", batchv1.JobNameLabel), "spec", "template", "metadata", "labels")
}

func pruneService(obj map[string]any) {
	ip, found, err := unstructured.NestedString(obj, "spec", "clusterIP")
	if err == nil && found && ip != corev1.ClusterIPNone {
		unstructured.RemoveNestedField(obj, "spec", "clusterIP")
		unstructured.RemoveNestedField(obj, "spec", "clusterIPs")
	}
}

// pruneSecret empties a service account's token: the member makes its own.
// Karmada leaves a null behind, which means the same.
func pruneSecret(obj map[string]any) {
	if secretType, _ := obj["type"].(string); secretType == string(corev1.SecretTypeServiceAccountToken) {
		deleteKeys(obj, []string{corev1.ServiceAccountUIDKey}, "metadata", "annotations")
		delete(obj, "data")
	}
}

// pruneServiceAccount removes the references to generated token Secrets (Karmada
// misses every second one in a row) and those without a name, which refer to
// nothing and make its webhook panic.
func pruneServiceAccount(obj map[string]any) {
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

func prunePersistentVolumeClaim(obj map[string]any) {
	deleteKeys(obj, []string{selectedNodeAnnotation}, "metadata", "annotations")
}

func deleteKeys(obj map[string]any, keys []string, path ...string) {
	for _, key := range keys {
		unstructured.RemoveNestedField(obj, append(slices.Clone(path), key)...)
	}
}
