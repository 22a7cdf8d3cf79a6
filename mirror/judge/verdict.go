package judge

import (
	"time"

	"github.com/karmada-target/karmada-mirror/render"
)

// Verdict is what should be, as far as it is known.
type Verdict struct {
	ID render.Identity
	// Unread: a Work is wanted, and what of cannot be said before the source is read.
	Unread bool
	// Preserve is what the source says of the deletion of its Works.
	Preserve bool
	// Targets are the decisions by cluster.
	Targets map[string]Target
	// Refusals are what a user can mend, in order of Reason.
	Refusals []Refusal
	// Notices are what a user should know though everything is done that can be.
	Notices []Refusal
	// NeedsApproval: what is deleted goes because its kind's definition does, so
	// that an administrator must approve it whatever the number.
	NeedsApproval bool
}

// AsksBinding reports whether somebody has to look what a binding has to do with a Work.
func (v Verdict) AsksBinding() bool {
	for _, target := range v.Targets {
		if target.AsksBinding {
			return true
		}
	}
	return false
}

// Decision says whether a Work is wanted. The zero value is Unknown, which
// keeps what is there.
type Decision int

// The decisions. Only Unwanted deletes.
const (
	Unknown Decision = iota
	Wanted
	Unwanted
	// Released is somebody else's from now on: our name is taken off it, and the
	// rest stays.
	Released
	// Unneeded is beside a policy's Work, which carries the same object: it goes, and the
	// object stays.
	Unneeded
)

// String is the word that commands print.
func (d Decision) String() string {
	return [...]string{"Unknown", "Wanted", "Unwanted", "Released", "Unneeded"}[d]
}

// Target is the verdict on one cluster.
type Target struct {
	Decision Decision
	// Because is the reason of Wanted, the proof of Unwanted, or what is missing
	// for a decision.
	Because string
	// Unproven: the decision is Unknown because the cache alone speaks for a deletion.
	Unproven bool
	// AsksBinding: somebody has to look what stands behind the binding that has taken the Work,
	// or whether one has a Work of its own for the same object.
	AsksBinding bool
	// Wake is when the cluster came back that the Work waits for, and WakeIn how long it is
	// not to be woken yet; zero if it does not wait.
	Wake   time.Time
	WakeIn time.Duration
	// Amend: what the Work says of its deletion is not what the source says, and it may
	// be deleted.
	Amend bool
	// Rendering is what a wanted Work is made from.
	*Rendering
}

// Rendering is what the Works of some clusters are made from. It is encoded when the first
// of them is created, once, though those of several clusters are at the same time.
type Rendering struct {
	*render.Template
	works func() render.Works
}
