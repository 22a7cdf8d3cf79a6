package aggregate

import (
	"fmt"

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
// none is reported. generation is that of the source in the manifest; 0 if that does not say. lacks
// says what is missing from a member that is behind.
func AdvanceOf(kind schema.GroupKind, status map[string]any, generation int64) (a Advance, lacks string) {
	rule, isWorkload := completions[kind]
	of, isTold := status["resourceTemplateGeneration"].(int64)
	switch {
	case !isWorkload && !isTold:
		return Untold, ""
	case generation > 0 && of != generation || number(status, "observedGeneration") < number(status, "generation") && status["observedGeneration"] != nil:
		return Behind, "this generation has not been observed"
	case isWorkload && status == nil:
		return Behind, "no status"
	}
	for _, field := range rule.equal {
		if n, of := number(status, field), number(status, rule.equal[0]); n != of {
			return Behind, fmt.Sprintf("%s %d of %d", field, n, of)
		}
	}
	if rule.none != "" && number(status, rule.none) != 0 {
		return Behind, fmt.Sprintf("%s %d", rule.none, number(status, rule.none))
	}
	return RolledOut, ""
}

func number(status map[string]any, field string) int64 {
	n, _ := status[field].(int64)
	return n
}
