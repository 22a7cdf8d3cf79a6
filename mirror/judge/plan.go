package judge

import (
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// OperationKind is what to do with a Work.
type OperationKind string

// The operations; the words are those of the metric work_operations_total.
const (
	Create OperationKind = "create"
	Update OperationKind = "update"
	Delete OperationKind = "delete"
	// Hold marks a Work whose deletion the breaker holds. No Verdict has it: the
	// breaker turns a Delete into it.
	Hold OperationKind = "hold"
	// Wake makes Karmada reconcile a Work at once, by a change without effect.
	Wake OperationKind = "wake"
	// Amend makes a Work that is to be deleted preserve its object, as the source asks.
	Amend OperationKind = "amend"
	// Detach separates a Work from its object in the member, so that Drop, its deletion,
	// has no effect there. It completes a deletion that has been requested already.
	Detach OperationKind = "detach"
	Drop   OperationKind = "drop"
	// Adjust gives a Work whose content stays as it is for now what takes effect at once: its options,
	// and our labels, also if it is taken back.
	Adjust OperationKind = "adjust"
	// Release removes our labels and annotations from a Work that now belongs to another
	// owner.
	Release OperationKind = "release"
)

// Operation is one write.
type Operation struct {
	Kind    OperationKind
	Cluster string
	// Work is the Work as observed; nil for Create.
	Work *state.Work
	// Because is the reason for the write.
	Because string
	// From is the Work whose content is written, instead of the source's; nil for the source's.
	From *state.Work
	// Unconfirmed: what it rests on has not been read, since it would be refused again. It must not be sent.
	Unconfirmed bool
	// LeavesObject: a deletion must not touch the object, which another owner's Work carries, too.
	LeavesObject bool
	// Replaces: a deletion makes way for the Work of an object that was created again.
	Replaces bool
}

// IsHeld reports whether this is a deletion that the breaker holds, by the mark on the Work, and IsApproved whether it did.
func (op Operation) IsHeld() bool { return op.Kind == Delete && op.Work.Held.Holds() }

// IsApproved: see IsHeld.
func (op Operation) IsApproved() bool {
	return op.Kind == Delete && op.Work.Held != nil && !op.IsHeld()
}

// Body returns what to send: the Work to create, or a merge patch. It is nil for Delete and
// Drop, for Hold, whose body the breaker writes, and for content From another Work, which must be
// read.
func (op Operation) Body(v Verdict) ([]byte, error) {
	if op.From != nil {
		return nil, nil
	}
	w, target := op.Work, v.Targets[op.Cluster]
	switch op.Kind {
	case Create:
		return target.create(op.Cluster)
	case Update:
		return target.update(op, wasOurs(w, v.ID))
	case Amend:
		return render.Amend(w.ResourceVersion, w.Renoted(w.Generation+1)), nil
	case Adjust:
		return target.adjust(w)
	case Wake:
		return render.Wake(w.ResourceVersion, w.DispatchGiven(), w.Renoted(w.Generation+1)), nil
	case Detach:
		return render.Detach(w.ResourceVersion, w.Finalizers), nil
	case Release:
		if w.IsOverwritten() {
			return render.Disown(w.ResourceVersion, w.Owners()), nil
		}
		return render.Release(v.ID, w.ResourceVersion), nil
	}
	return nil, nil
}

// BodyLike is Body, also for content From another Work, which is given whole, and for what is created once a Work is deleted.
func (op Operation) BodyLike(v Verdict, like map[string]any) ([]byte, error) {
	if op.Replaces {
		return v.Targets[op.Cluster].create(op.Cluster)
	}
	if op.From == nil {
		return op.Body(v)
	}
	as := render.Likeness{Cluster: op.Cluster, Name: op.WorkName(v), Generation: 1, Options: v.Targets[op.Cluster].options}
	if op.Work != nil {
		as.ResourceVersion, as.Finalizers, as.Generation = op.Work.ResourceVersion, op.Work.Finalizers, op.Work.Generation+1
	}
	return render.Resemble(like, as)
}

// WorkName returns the name of the Work that is written.
func (op Operation) WorkName(v Verdict) string {
	if op.Work != nil {
		return op.Work.Name
	}
	return v.Targets[op.Cluster].Name()
}

// Deletes reports whether the operation deletes the Work.
func (k OperationKind) Deletes() bool { return k == Delete || k == Drop }

// WritesContent reports whether the operation writes content of the source.
func (k OperationKind) WritesContent() bool { return k == Create || k == Update }

// decideOperations completes the decisions: what to write on each cluster, and when to decide again.
//
//	decision   observed Work         operation
//	Wanted     none                  create
//	Wanted     as wanted             –
//	Wanted     different             update
//	Wanted     terminating           – (its deletion is an event)
//	Unwanted   there                 delete
//	Unwanted   must preserve first   amend, proved or not
//	Unwanted   not labelled as ours  –
//	Unwanted   terminating           –
//	Released   there                 release
//	Unneeded   there                 detach, and then drop
//	Unknown    waits for its turn    adjust, or create and update from another Work
//	Unknown    content fails or lost adjust
//	Unknown    held, but not due     adjust
//	Unknown    any                   –
//	any        stalled               detach
//	any        waits for Karmada     wake, if there is nothing else to write
func (v *Verdict) decideOperations(f Facts) {
	v.RecheckAfter = v.Rollout.recheckAfter(f)
	for cluster, t := range v.Targets {
		w := f.Works[cluster]
		stallsIn, mayStall := f.stallsIn(cluster)
		op := Operation{Cluster: cluster, Work: w, From: t.from, Replaces: t.Replaces}
		switch op.Kind, op.Because = t.operationOn(w); {
		case mayStall && stallsIn == 0:
			op.Kind, op.Because = Detach, "Karmada does not complete its deletion: the member may not have the object to preserve"
		case op.Kind == "" && t.IsToWake():
			op.Kind, op.Because = Wake, BecauseWake
		}
		if t.Operation = op; op.Kind == "" {
			t.Operation = Operation{}
		}
		if t.RecheckAfter = Sooner(t.wakeIn, stallsIn); t.AsksBinding { // it waits for something that has no event
			t.RecheckAfter = Sooner(t.RecheckAfter, bindingPeriod(f.ID))
		}
		t.RecheckAfter = Sooner(t.RecheckAfter, f.startsIn(w))
		if t.neededBy { // what the workload says may change without an event of its Work
			t.RecheckAfter = Sooner(t.RecheckAfter, neededPeriod)
		}
		v.Targets[cluster], v.RecheckAfter = t, Sooner(v.RecheckAfter, t.RecheckAfter)
	}
}

// neededPeriod is how often it is looked whether a workload still needs what is not wanted any more.
const neededPeriod = time.Minute

// BecauseWake is the reason for waking a Work.
const BecauseWake = "Karmada is to apply it at once"

// IsToWake reports whether Karmada is to apply the Work at once.
func (t Target) IsToWake() bool { return !t.Wake.IsZero() && t.wakeIn == 0 }

// bindingPeriod is how often it is decided again about a Work that a binding has taken over, which may have lost its policy.
// It differs by source, so that not all are read at the same time.
func bindingPeriod(id render.Identity) time.Duration {
	spread := fnv.New32a()
	_, _ = spread.Write([]byte(id.String()))
	return 30*time.Second + time.Duration(spread.Sum32()%6000)*time.Millisecond
}

// Sooner returns the shorter of two waits. One of 0 or less never ends.
func Sooner(a, b time.Duration) time.Duration {
	if b > 0 && (a <= 0 || b < a) {
		return b
	}
	return max(0, a)
}

// Plan lists the operations: creates and updates before deletes, each sorted by cluster.
func (v Verdict) Plan() []Operation {
	var writes, deletes []Operation
	for _, cluster := range slices.Sorted(maps.Keys(v.Targets)) {
		switch op := v.Targets[cluster].Operation; op.Kind {
		case "":
		case Delete:
			deletes = append(deletes, op)
		default:
			writes = append(writes, op)
		}
	}
	return append(writes, deletes...)
}

// operationOn returns the operation that makes a Work what it should be; empty for none.
func (t Target) operationOn(w *state.Work) (kind OperationKind, because string) {
	switch {
	case t.amends && w.Labelled && !w.Terminating:
		return Amend, "the source asks to preserve its object, and the Work does not say so yet"
	case t.from != nil && w == nil:
		return Create, t.Because
	case t.from != nil && !w.Terminating:
		return Update, t.Because
	case t.adjusts && !w.Terminating && t.Rendering == nil:
		return Adjust, becauseNotDue
	case t.adjusts && !w.Terminating:
		return Adjust, "its options or labels are not as wanted, and its content has to wait"
	case t.Decision == Unknown, w == nil && t.Decision != Wanted:
	case w == nil:
		return Create, t.Because
	case w.Terminating, t.Decision == Unwanted && !w.Labelled:
	case t.Decision == Unwanted:
		return Delete, t.Because
	case t.Decision == Unneeded && slices.Contains(w.Finalizers, render.ExecutionFinalizer):
		return Detach, t.Because
	case t.Decision == Unneeded:
		return Drop, t.Because
	case t.Decision == Released:
		return Release, t.Because
	default:
		if difference := differs(t, w); difference != "" {
			return Update, difference
		}
	}
	return "", ""
}

const becauseNotDue = "its deletion is no longer due"

// differs returns how a Work differs from what is wanted; empty if it does not.
func differs(wanted Target, w *state.Work) string {
	switch {
	case w.Foreign != "":
		return "the policy that took it over no longer exists"
	case !w.IsMadeFrom(wanted.UID()):
		return "the source was recreated"
	case w.Digest != wanted.Digest():
		return "the content differs"
	case w.Notes().OfEdit() != wanted.notes.OfEdit():
		return "its notes on what differs by cluster are not as written"
	case wanted.notes.Written != "" && w.Notes().Written != "" && !w.IsAsWritten():
		return "its note on what was written is not true"
	case w.Held != nil:
		return becauseNotDue
	case !w.IsComplete():
		return "one of karmada-mirror's labels, annotations or finalizers is missing"
	}
	return ""
}

// Due is a Work whose deletion is due. Unselected is that of its [Target].
type Due struct {
	*state.Work
	Unselected bool
}

// dueDeletions lists the Works to delete by a verdict, proved or not, whose deletion has not
// been requested yet.
func dueDeletions(v Verdict, works map[string]*state.Work) []Due {
	var due []Due
	for cluster, target := range v.Targets {
		w, ok := works[cluster]
		if ok && (target.Unproven || target.Decision == Unwanted) && w.Labelled && !w.Terminating {
			due = append(due, Due{w, target.Unselected})
		}
	}
	return due
}
