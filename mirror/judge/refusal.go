package judge

import "strings"

// Reason is why a source, or one of its targets, is not mirrored. Metrics,
// Events and commands all use these words.
type Reason string

// The reasons that this package can give. Users rely on these names.
const (
	// InvalidAnnotation: a karmada.target annotation cannot be parsed.
	InvalidAnnotation Reason = "InvalidAnnotation"
	// UnknownCluster: a named cluster does not exist. It is a warning: the Work is
	// created as soon as the cluster joins.
	UnknownCluster Reason = "UnknownCluster"
	// ForbiddenResource: the source, or its whole kind, is never mirrored.
	ForbiddenResource Reason = "ForbiddenResource"
	// ReservedNamespace: the source is in a namespace that belongs to the system.
	ReservedNamespace Reason = "ReservedNamespace"
	// ClaimedByPolicy: a PropagationPolicy propagates the source.
	ClaimedByPolicy Reason = "ClaimedByPolicy"
	// WorkConflict: the Work exists and belongs to another owner.
	WorkConflict Reason = "WorkConflict"
	// TooLarge: the Work exceeds what the API server or etcd accepts.
	TooLarge Reason = "TooLarge"
	// RenderFailed: no valid Work can be made from the source.
	RenderFailed Reason = "RenderFailed"
	// DeletionHeld: the breaker holds the deletion of a Work.
	DeletionHeld Reason = "DeletionHeld"
	// OverrideFailed: what a cluster changes in the source cannot be applied.
	OverrideFailed Reason = "OverrideFailed"
	// OwnerMirrored: the object is mirrored although a controller in the member makes it from its owner.
	OwnerMirrored Reason = "OwnerMirrored"
	// NotAuthorized: the configuration does not allow it, or the daemon may not write
	// or delete the Work.
	NotAuthorized Reason = "NotAuthorized"
)

// The reasons of Events about sources that are mirrored, but that Karmada cannot carry out as
// things are.
const (
	KindNotServed          Reason = "KindNotServed"
	NamespaceNotPropagated Reason = "NamespaceNotPropagated"
	ReplicasContested      Reason = "ReplicasContested"
	// RunsAgain: an object that is to run once runs again in a member.
	RunsAgain Reason = "RunsAgain"
	// ReplicasUnplaced: the replicas of a source are divided, and no member gets some of them.
	ReplicasUnplaced Reason = "ReplicasUnplaced"
	// StatusContested: another writer keeps changing the aggregated status of a source.
	StatusContested Reason = "StatusContested"
	// WorkContested: another writer keeps undoing what is written to a Work of the source.
	WorkContested Reason = "WorkContested"
	// MemberContested: another writer keeps editing the object of a source in a member.
	MemberContested Reason = "MemberContested"
	// DeletionPending: the source is being deleted in the foreground, and still has Works.
	DeletionPending Reason = "DeletionPending"
	// WaveHeld: a wave of the source has not come through in time.
	WaveHeld Reason = "WaveHeld"
	// DependencyNotMirrored: the Pods of a source need an object that is not mirrored to the same
	// cluster, and would wait for it forever.
	DependencyNotMirrored Reason = "DependencyNotMirrored"
)

// The reasons of Events about what was done but may not be intended.
const (
	// MoveIncomplete: an object was taken from a cluster while its Work for another could
	// not be written.
	MoveIncomplete Reason = "MoveIncomplete"
	// WaveSkipped: a Work that another user has deleted got new content before its wave.
	WaveSkipped Reason = "WaveSkipped"
	// OrphansDeleted: an object was deleted, and what it owns was to stay; it does not in the members.
	OrphansDeleted Reason = "OrphansDeleted"
	// NamespaceUnprotected: a Namespace has a default, and deleting it also deletes it in the
	// members, with everything in it.
	NamespaceUnprotected Reason = "NamespaceUnprotected"
)

// Refusal is one reason and what to do about it.
type Refusal struct {
	Reason  Reason
	Message string
	// Key: refusals with the same are one, however their messages change; empty if a message that
	// changes is news.
	Key string
	// Advice is what to do, if the message does not say it: an Event has no hint beside it.
	Advice string
	// PerCluster: it joins what [Target.Notices] say.
	PerCluster bool
	// Elsewhere: it is reported on the Namespace, where the mistake is.
	Elsewhere bool
	// Denied is what in the API server refuses a request; empty if none was refused.
	Denied Denial
}

// Denial is what in the API server refuses to write or delete a Work. It tells apart what has
// the same Reason: a missing right of the daemon concerns all Works.
type Denial string

// The values of the label by of the metric denied_sources.
const (
	ByAuthorization Denial = "authorization"
	ByAdmission     Denial = "admission"
	ByValidation    Denial = "validation"
	BySize          Denial = "size"
)

// Is reports whether a refusal is another one, which is not to be reported again.
func (r Refusal) Is(other Refusal) bool {
	if r.Key != "" {
		r.Message = other.Message
	}
	return r == other
}

// Event returns the message of an Event.
func (r Refusal) Event() string {
	if r.Advice == "" {
		return r.Message
	}
	return r.Message + ": " + r.Advice
}

// AddRefusal adds r to rs: one entry per reason, with the messages joined, so that
// a hundred unknown clusters become one Event.
func AddRefusal(rs []Refusal, r Refusal) []Refusal {
	for i := range rs {
		if rs[i].Reason != r.Reason {
			continue
		}
		if !strings.Contains(rs[i].Message, r.Message) {
			rs[i].Message += "; " + r.Message
		}
		rs[i].Elsewhere = rs[i].Elsewhere && r.Elsewhere
		if rs[i].Denied == "" || r.Denied == ByAuthorization {
			rs[i].Denied = r.Denied
		}
		return rs
	}
	return append(rs, r)
}
