package render

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// runOnce are the kinds of objects that run once, and where they say how long they stay after that; nil if they do not, or if
// that does not reach a member.
var runOnce = map[schema.GroupKind][]string{
	{Group: "argoproj.io", Kind: "Workflow"}:                  {"spec", "ttlStrategy"},
	{Group: "batch", Kind: "Job"}:                             nil,
	{Group: "batch.volcano.sh", Kind: "Job"}:                  nil, // Karmada's webhook removes it, by the kind
	{Group: "jobset.x-k8s.io", Kind: "JobSet"}:                {"spec", "ttlSecondsAfterFinished"},
	{Group: "kubeflow.org", Kind: "MPIJob"}:                   {"spec", "runPolicy", "ttlSecondsAfterFinished"},
	{Group: "kubeflow.org", Kind: "PyTorchJob"}:               {"spec", "runPolicy", "ttlSecondsAfterFinished"},
	{Group: "kubeflow.org", Kind: "TFJob"}:                    {"spec", "runPolicy", "ttlSecondsAfterFinished"},
	{Group: "ray.io", Kind: "RayJob"}:                         nil, // its field deletes the RayCluster alone
	{Group: "sparkoperator.k8s.io", Kind: "SparkApplication"}: {"spec", "timeToLiveSeconds"},
	{Group: "tekton.dev", Kind: "PipelineRun"}:                nil,
	{Group: "tekton.dev", Kind: "TaskRun"}:                    nil,
	{Group: "velero.io", Kind: "Backup"}:                      {"spec", "ttl"},
	{Group: "velero.io", Kind: "Restore"}:                     nil,
}

// expiresBy returns the field by which an object that runs once is deleted after it has finished; empty for none.
func expiresBy(obj *unstructured.Unstructured) string {
	path := runOnce[obj.GroupVersionKind().GroupKind()]
	value, _, err := unstructured.NestedFieldNoCopy(obj.Object, path...)
	if fields, isObject := value.(map[string]any); len(path) == 0 || err != nil || value == nil || isObject && len(fields) == 0 {
		return ""
	}
	return strings.Join(path, ".")
}

// runsOnce reports whether an object runs once: one that was deleted and created again is to run again.
func runsOnce(kind schema.GroupKind, obj map[string]any) bool {
	if kind == (schema.GroupKind{Kind: "Pod"}) {
		policy, _, _ := unstructured.NestedString(obj, "spec", "restartPolicy")
		return policy != "" && policy != string(corev1.RestartPolicyAlways)
	}
	_, is := runOnce[kind]
	return is
}
