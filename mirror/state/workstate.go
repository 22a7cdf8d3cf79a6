package state

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/karmada-target/karmada-mirror/render"
)

// WorkState is how far Karmada has got with a Work.
type WorkState uint8

// The states of the metric karmada_mirror_works. The zero value is for a Work that could not
// be read.
const (
	WorkUnknown WorkState = iota
	WorkApplied
	WorkPending
	WorkFailed
	WorkSuspended
	WorkDeleting
)

// String returns the value of the metric's label state.
func (s WorkState) String() string {
	return [...]string{"", "applied", "pending", "failed", "suspended", "deleting"}[s]
}

func stateOf(obj *unstructured.Unstructured) WorkState {
	if obj.GetDeletionTimestamp() != nil {
		return WorkDeleting
	}
	return dispatchStateOf(obj)
}

// dispatchStateOf is stateOf as if the Work were not being deleted.
func dispatchStateOf(obj *unstructured.Unstructured) WorkState {
	if suspended, _, _ := unstructured.NestedBool(obj.Object, "spec", "suspendDispatching"); suspended {
		return WorkSuspended
	}
	switch applied := AppliedCondition(obj); {
	case applied == nil:
		return WorkPending
	case applied.Status == metav1.ConditionTrue:
		return WorkApplied
	default:
		return WorkFailed
	}
}

// AppliedCondition returns the condition by which Karmada reports whether a Work is applied;
// nil if there is none.
func AppliedCondition(work *unstructured.Unstructured) *metav1.Condition {
	conditions, _, _ := unstructured.NestedSlice(work.Object, "status", "conditions")
	return meta.FindStatusCondition(toConditions(conditions), render.AppliedCondition)
}

func toConditions(list []any) []metav1.Condition {
	var conditions []metav1.Condition
	for _, item := range list {
		var c metav1.Condition
		fields, ok := item.(map[string]any)
		if !ok || runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &c) != nil {
			continue // not a condition: the schema of Work forbids it
		}
		conditions = append(conditions, c)
	}
	return conditions
}
