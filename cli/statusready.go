package cli

import (
	"fmt"
	"strings"
	"time"

	workv1alpha1 "github.com/karmada-io/api/work/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// readiness returns how much of what a Work's object wants is ready in the member, as `kubectl get`
// prints it there. It is not known before Karmada has reported a status, nor for kinds that do not
// run Pods.
func readiness(work *unstructured.Unstructured) (ready, wanted *int64) {
	status := state.ReportedBy(work)
	manifest, err := render.ManifestOf(work.Object)
	if status == nil || err != nil {
		return nil, nil
	}
	object := unstructured.Unstructured{Object: manifest}
	switch object.GroupVersionKind().GroupKind() {
	case schema.GroupKind{Group: appsv1.GroupName, Kind: "Deployment"},
		schema.GroupKind{Group: appsv1.GroupName, Kind: "StatefulSet"},
		schema.GroupKind{Group: appsv1.GroupName, Kind: "ReplicaSet"}:
		if render.OptionsOf(work.Object).RetainReplicas {
			return readyOfRetained(work, status)
		}
		return countIn(status, "readyReplicas"), countOr1(manifest, "spec", "replicas")
	case schema.GroupKind{Group: appsv1.GroupName, Kind: "DaemonSet"}:
		return countIn(status, "numberReady"), countIn(status, "desiredNumberScheduled")
	case schema.GroupKind{Group: batchv1.GroupName, Kind: "Job"}:
		return countIn(status, "succeeded"), countOr1(manifest, "spec", "completions")
	case schema.GroupKind{Kind: "Pod"}:
		return readyContainers(manifest, status)
	}
	return nil, nil
}

// readyOfRetained is readiness where the member sets spec.replicas, which no report contains: the Pods that there are count. If it
// lacks some of them, as when a quota allows no more, it is not known how many.
func readyOfRetained(work *unstructured.Unstructured, status map[string]any) (ready, wanted *int64) {
	ready, wanted = countIn(status, "readyReplicas"), countIn(status, "replicas")
	areAll := *ready == *wanted && *countIn(status, "updatedReplicas") == *wanted && *countIn(status, "availableReplicas") == *wanted
	if areAll && state.HealthOf(work) == string(workv1alpha1.ResourceUnhealthy) {
		return ready, nil
	}
	return ready, wanted
}

// countIn returns a count of a status, where zero is omitted.
func countIn(status map[string]any, field string) *int64 {
	n, _, _ := unstructured.NestedInt64(status, field)
	return &n
}

// countOr1 returns a number of a manifest. The API servers' default for all that are read here is 1.
func countOr1(manifest map[string]any, fields ...string) *int64 {
	n, found, err := unstructured.NestedInt64(manifest, fields...)
	if !found || err != nil {
		n = 1
	}
	return &n
}

// readyContainers counts the containers of a Pod and its sidecars (printPod in
// pkg/printers/internalversion/printers.go of Kubernetes, v1.35.4).
func readyContainers(manifest, status map[string]any) (ready, wanted *int64) {
	var pod corev1.Pod
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"spec": manifest["spec"], "status": status}, &pod); err != nil {
		return nil, nil
	}
	ready = new(int64)
	counts := map[string]bool{}
	for _, c := range pod.Spec.Containers {
		counts[c.Name] = true
	}
	for _, c := range pod.Spec.InitContainers {
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			counts[c.Name] = true
		}
	}
	for _, c := range append(pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses...) {
		if c.Ready && counts[c.Name] {
			*ready++
		}
	}
	return ready, new(int64(len(counts)))
}

// readyCell formats the column READY; empty if nothing is known.
func readyCell(ready, wanted *int64) string {
	switch {
	case ready == nil:
		return ""
	case wanted == nil:
		return fmt.Sprintf("%d/?", *ready)
	}
	return fmt.Sprintf("%d/%d", *ready, *wanted)
}

// goodConditions are those whose type says what is well: it is amiss if they are not true. Others are amiss if they are.
var goodConditions = sets.New("Available", "Complete", "ContainersReady", "Established", "Healthy", "Initialized", "PodScheduled", "Progressing", "Ready", "Reconciled", "ScalingActive", "Synced")

// badConditions are those whose type says what is amiss.
var badConditions = sets.New("Failed", "Failure", "FailureTarget", "ReplicaFailure", "Stalled")

// maxAilment is how many characters are shown of what a member says.
const maxAilment = 1000

// unavailableSince returns since when a status says that too little of an object is available, by the clock of the member; zero if it does
// not. A workload that rolls out, or is scaled, stays available.
func unavailableSince(status map[string]any) (since time.Time) {
	conditions, _ := status["conditions"].([]any)
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		if (condition["type"] == "Available" || condition["type"] == "Ready") && condition["status"] == string(metav1.ConditionFalse) {
			text, _ := condition["lastTransitionTime"].(string)
			since, _ = time.Parse(time.RFC3339, text) // zero if there is none
		}
	}
	return since
}

// ailmentOf returns what a status says is amiss, in its own words: the conditions, and the phase; empty if it says nothing that is known.
func ailmentOf(status map[string]any) string {
	var all []string
	conditions, _ := status["conditions"].([]any)
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		text := func(field string) string { s, _ := condition[field].(string); return s }
		isTrue := text("status") == string(metav1.ConditionTrue)
		if !isTrue && goodConditions.Has(text("type")) || isTrue && badConditions.Has(text("type")) {
			all = append(all, strings.Trim(fmt.Sprintf("%s is %s: %s: %s", text("type"), text("status"), text("reason"), text("message")), ": "))
		}
	}
	if phase, _ := status["phase"].(string); phase != "" {
		all = append(all, "phase "+phase)
	}
	return cut(strings.Join(all, "; "), maxAilment)
}
