package aggregate

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// counts are the fields of the status of a workload whose rollout is complete: those that are equal,
// and the one that is 0 or missing.
type counts struct {
	equal []string
	none  string
}

// completions are the kinds of which Karmada reports the generation. What it calls healthy is not
// enough: a Deployment with one replica is, while its new Pod fails and the old one still runs
// (interpretDeploymentHealth in pkg/resourceinterpreter/default/native/healthy.go, v1.18.2).
var completions = map[schema.GroupKind]counts{
	{Group: "apps", Kind: "Deployment"}:  {[]string{"replicas", "updatedReplicas", "readyReplicas", "availableReplicas"}, "unavailableReplicas"},
	{Group: "apps", Kind: "StatefulSet"}: {[]string{"replicas", "updatedReplicas", "readyReplicas", "availableReplicas"}, ""},
	{Group: "apps", Kind: "DaemonSet"}:   {[]string{"desiredNumberScheduled", "updatedNumberScheduled", "numberReady", "numberAvailable"}, "numberUnavailable"},
	{Group: "apps", Kind: "ReplicaSet"}:  {[]string{"replicas", "readyReplicas", "availableReplicas"}, ""},
}

// Advance is how far a member has got with the content of its Work, as far as what Karmada reports
// tells.
type Advance int

// The zero value is for kinds whose reports do not tell.
const (
	// Untold: the report does not say which content it is about.
	Untold Advance = iota
	// Behind: the member has not observed the content, or has not rolled it out.
	Behind
	// RolledOut: the member has observed the content and rolled it out.
	RolledOut
)

// AdvanceOf returns how far a member has got with an object of a kind by its status, which is nil if
// none is reported. generation is that of the source in the manifest; 0 if that does not say. replicas are
// those in the manifest; 0 if they are the member's to choose. lacks says what is missing from a member that
// is behind.
func AdvanceOf(kind schema.GroupKind, status map[string]any, generation, replicas int64) (a Advance, lacks string) {
	_, isWorkload := completions[kind]
	of, isKnown := status["resourceTemplateGeneration"].(int64)
	tells := isKnown || isWorkload
	switch {
	case tells && (generation > 0 && of != generation || number(status, "observedGeneration") < number(status, "generation") && status["observedGeneration"] != nil):
		return Behind, "this generation has not been observed"
	case isWorkload && status == nil:
		return Behind, "no status"
	}
	if lacks = Ails(kind, status); lacks != "" {
		return Behind, lacks
	}
	if present := number(status, "replicas"); isWorkload && present < replicas { // the member keeps fewer, or has none yet
		return Behind, fmt.Sprintf("replicas %d of %d", present, replicas)
	}
	switch { // what a Job does cannot be edited, so it has no generations; a suspended one waits for a user
	case kind == jobKind && !HasCondition(status, batchv1.JobComplete) && !HasCondition(status, batchv1.JobSuspended):
		return Behind, "it has not ended"
	case !tells:
		return Untold, ""
	}
	return RolledOut, ""
}

// Ails returns what keeps an object from being healthy by its status, whatever Karmada calls it; empty for
// nothing. To Karmada, what it has no rule for is always healthy. The conditions of kinds that are not built in
// are those of kstatus (sigs.k8s.io/cli-utils).
func Ails(kind schema.GroupKind, status map[string]any) string {
	rule := completions[kind]
	for _, field := range rule.equal {
		if n, of := number(status, field), number(status, rule.equal[0]); n != of {
			return fmt.Sprintf("%s %d of %d", field, n, of)
		}
	}
	ready := conditionOf(status, "Ready")
	switch {
	case rule.none != "" && number(status, rule.none) != 0:
		return fmt.Sprintf("%s %d", rule.none, number(status, rule.none))
	case kind == jobKind && HasCondition(status, batchv1.JobFailed):
		return "it has failed"
	case kind.Group == "": // a Pod that has succeeded is not ready
		return ""
	case conditionOf(status, "Stalled") == string(corev1.ConditionTrue):
		return "the condition Stalled is True"
	case ready != "" && ready != string(corev1.ConditionTrue):
		return "the condition Ready is " + ready
	}
	return ""
}

// PodsOf returns how many Pods a workload has, or should have, by its status, and how many of them at the
// least are new, ready and available. While a Deployment has old Pods, these may be the ones that are.
func PodsOf(kind schema.GroupKind, status map[string]any) (all, done int64) {
	rule := completions[kind]
	for i, field := range rule.equal {
		n := number(status, field)
		if i == 0 {
			all, done = n, n
		}
		done = min(done, n)
	}
	if kind.Kind == "Deployment" && number(status, "updatedReplicas") != all {
		return all, 0
	}
	return all, done
}

var jobKind = schema.GroupKind{Group: batchv1.GroupName, Kind: "Job"}

// HasCondition reports whether a condition in the status of a Job is true.
func HasCondition(status map[string]any, of batchv1.JobConditionType) bool {
	return conditionOf(status, string(of)) == string(corev1.ConditionTrue)
}

// conditionOf returns the status of a condition; empty if there is none.
func conditionOf(status map[string]any, of string) (is string) {
	conditions, _ := status["conditions"].([]any)
	for _, item := range conditions {
		if c, _ := item.(map[string]any); c["type"] == of {
			is, _ = c["status"].(string)
		}
	}
	return is
}

func number(status map[string]any, field string) int64 {
	n, _ := status[field].(int64)
	return n
}
