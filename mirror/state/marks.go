package state

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/render"
)

// specMarks are facts about a Work, mostly from its spec, as bits: there are very many Works.
type specMarks uint8

const (
	dispatchGiven specMarks = 1 << iota
	preserves
	retains
	bound
	inPlace
	finished
	behind
	complete
)

func marksOf(obj *unstructured.Unstructured) specMarks {
	var m specMarks
	if _, given, _ := unstructured.NestedFieldNoCopy(obj.Object, "spec", "suspendDispatching"); given {
		m |= dispatchGiven
	}
	o := render.OptionsOf(obj.Object)
	if o.PreserveOnDeletion {
		m |= preserves
	}
	if o.RetainReplicas {
		m |= retains
	}
	if dispatchStateOf(obj) == WorkApplied {
		m |= inPlace
	}
	if reportsFinishedJob(obj) {
		m |= finished
	}
	return m | advanceOf(obj)
}

// DispatchGiven reports whether spec.suspendDispatching is set, to true or false.
func (m specMarks) DispatchGiven() bool { return m&dispatchGiven != 0 }

// Preserves reports whether the object stays in the member when the Work is deleted.
func (m specMarks) Preserves() bool { return m&preserves != 0 }

// Bound reports whether a binding, and no other controller, took over the Work.
func (m specMarks) Bound() bool { return m&bound != 0 }

// IsInPlace reports whether Karmada has applied the Work and does not leave it alone: it
// recreates an object that is deleted in the member.
func (m specMarks) IsInPlace() bool { return m&inPlace != 0 }

// IsFinished reports whether the Work carries a Job that has ended in the member, with success or
// without.
func (m specMarks) IsFinished() bool { return m&finished != 0 }

// IsBehind reports whether the member, by what Karmada reports, is not healthy, or has not rolled out
// what the Work carries. What the reports do not tell is not behind.
func (m specMarks) IsBehind() bool { return m&behind != 0 }

// HasRolledOut reports whether the member, by a report that is later than the Work's content, has
// observed and rolled out what the Work carries.
func (m specMarks) HasRolledOut() bool { return m&complete != 0 }

// Retains reports whether the member keeps its own number of replicas.
func (m specMarks) Retains() bool { return m&retains != 0 }
