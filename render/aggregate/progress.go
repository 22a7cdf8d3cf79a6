package aggregate

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// rollouts are the counts that are the same once a rollout is complete: all replicas, the new ones,
// and those that work. Each is part of the first, so that equal sums mean equal counts in every
// member.
var rollouts = map[schema.GroupKind][]string{
	{Group: "apps", Kind: "Deployment"}:  {"replicas", "updatedReplicas", "readyReplicas", "availableReplicas"},
	{Group: "apps", Kind: "StatefulSet"}: {"replicas", "updatedReplicas", "readyReplicas", "availableReplicas"},
	{Group: "apps", Kind: "DaemonSet"}:   {"desiredNumberScheduled", "updatedNumberScheduled", "numberReady", "numberAvailable"},
	{Group: "apps", Kind: "ReplicaSet"}:  {"replicas", "replicas", "readyReplicas", "availableReplicas"}, // it replaces none
}

// Progress says what changes of a status are still to come.
type Progress int

// The values of Progress.
const (
	// Complete: none. A kind without rollouts always is.
	Complete Progress = iota
	// Settling: some replicas do not work, yet or any more.
	Settling
	// Rolling: a generation is being rolled out.
	Rolling
)

// ProgressOf returns the progress of a generation of an object by its status.
func ProgressOf(kind schema.GroupKind, generation int64, status map[string]any) Progress {
	counts := rollouts[kind]
	if counts == nil {
		return Complete
	}
	number := func(field string) int64 {
		n, _ := status[field].(int64) // an omitted count is 0
		return n
	}
	all := number(counts[0])
	switch {
	case number("observedGeneration") < generation || number(counts[1]) != all:
		return Rolling
	case slices.ContainsFunc(counts, func(field string) bool { return number(field) != all }):
		return Settling
	}
	return Complete
}
