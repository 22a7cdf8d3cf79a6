package mirror

import (
	"maps"
	"slices"
)

// OperationKind is what to do with a Work.
type OperationKind string

// The operations; the words are those of the metric work_operations_total.
const (
	Create OperationKind = "create"
	Update OperationKind = "update"
	Delete OperationKind = "delete"
	// Hold marks a Work whose deletion the breaker holds back. Plan never says so:
	// a Delete becomes one.
	Hold OperationKind = "hold"
	// Release takes our labels and annotations off a Work that a policy claims.
	Release OperationKind = "release"
)

// Operation is one write.
type Operation struct {
	Kind    OperationKind
	Cluster string
	// Work is the Work as observed; nil for Create.
	Work *Work
	// Because is why.
	Because string
	// approved: it is a Delete that the breaker has held and may go now.
	approved bool
}

// verb is the value of the label operation of the metric work_operations_total.
func (k OperationKind) verb() string {
	if k == Hold || k == Release {
		return string(Update)
	}
	return string(k)
}

// writesContent: what is written comes from the source.
func (k OperationKind) writesContent() bool { return k == Create || k == Update }

// Plan lists the writes that make what is observed into what is wanted, creates
// and updates before deletes, each in order of cluster:
//
//	decision   observed Work         operation
//	Wanted     none                  create
//	Wanted     as wanted             –
//	Wanted     different             update
//	Wanted     terminating           – (its removal is an event)
//	Unwanted   there                 delete
//	Unwanted   not labelled as ours  –
//	Unwanted   terminating           –
//	Released   there                 release
//	Unknown    any                   –
func Plan(v Verdict, works map[string]*Work) []Operation {
	var writes, deletes []Operation
	for _, cluster := range slices.Sorted(maps.Keys(v.Targets)) {
		target, w := v.Targets[cluster], works[cluster]
		switch {
		case target.Decision == Unknown:
		case w == nil:
			if target.Decision == Wanted {
				writes = append(writes, Operation{Kind: Create, Cluster: cluster, Because: target.Because})
			}
		case w.Terminating:
		case target.Decision == Unwanted:
			if w.Labelled {
				deletes = append(deletes, Operation{Kind: Delete, Cluster: cluster, Work: w, Because: target.Because})
			}
		case target.Decision == Released:
			writes = append(writes, Operation{Kind: Release, Cluster: cluster, Work: w, Because: target.Because})
		default:
			if difference := differs(v, w); difference != "" {
				writes = append(writes, Operation{Kind: Update, Cluster: cluster, Work: w, Because: difference})
			}
		}
	}
	return append(writes, deletes...)
}

// differs tells in what a Work is not as wanted; empty if it is.
func differs(v Verdict, w *Work) string {
	switch {
	case w.Foreign != "":
		return "it was handed over to a policy that is gone"
	case !w.IsMadeFrom(v.Template.UID()):
		return "the source was recreated"
	case w.Digest != v.Template.Digest():
		return "the content differs"
	case w.Held != nil:
		return "its deletion is not due any more"
	case !w.complete():
		return "a label, annotation or finalizer of ours is missing"
	}
	return ""
}
