package judge

import "strings"

// Reason is why a source, or one of its targets, is not mirrored. Metrics,
// Events and commands use the same words.
type Reason string

// The reasons of the contract that this package can give.
const (
	// InvalidAnnotation: a karmada.target annotation cannot be parsed.
	InvalidAnnotation Reason = "InvalidAnnotation"
	// UnknownCluster: a cluster that is named does not exist. It is a warning:
	// the Work is created as soon as the cluster joins.
	UnknownCluster Reason = "UnknownCluster"
	// ForbiddenResource: the source is of a kind, or one of its kind, that is never
	// mirrored.
	ForbiddenResource Reason = "ForbiddenResource"
	// ReservedNamespace: the source is in a namespace of the system.
	ReservedNamespace Reason = "ReservedNamespace"
	// ClaimedByPolicy: a PropagationPolicy propagates the source.
	ClaimedByPolicy Reason = "ClaimedByPolicy"
	// WorkConflict: the Work exists and is somebody else's.
	WorkConflict Reason = "WorkConflict"
	// TooLarge: the Work exceeds what the API server or etcd accepts.
	TooLarge Reason = "TooLarge"
	// RenderFailed: no valid Work can be made of the source.
	RenderFailed Reason = "RenderFailed"
	// DeletionHeld: the deletion breaker holds back the deletion of a Work.
	DeletionHeld Reason = "DeletionHeld"
	// NotAuthorized: the configuration does not allow it, or the daemon may not write
	// the Work.
	NotAuthorized Reason = "NotAuthorized"
)

// The reasons of Events about what is mirrored all the same, and which Karmada cannot
// carry out as things are.
const (
	KindNotServed          Reason = "KindNotServed"
	NamespaceNotPropagated Reason = "NamespaceNotPropagated"
	ReplicasContested      Reason = "ReplicasContested"
	// DependencyNotMirrored: the Pods of a source need an object that is not mirrored to the same
	// cluster, and would wait for it for ever.
	DependencyNotMirrored Reason = "DependencyNotMirrored"
)

// The reasons of Events about what is done, and may not be what somebody means.
const (
	// MoveIncomplete: an object was taken from a cluster while its Work for another could
	// not be written.
	MoveIncomplete Reason = "MoveIncomplete"
	// NamespaceUnprotected: a Namespace has a default, and whoever deletes it deletes it in
	// the members too, with all that is in it.
	NamespaceUnprotected Reason = "NamespaceUnprotected"
)

// Refusal is one reason and what to do about it.
type Refusal struct {
	Reason  Reason
	Message string
	// Elsewhere: it is told on the Namespace, whose mistake it is.
	Elsewhere bool
}

// AddRefusal adds r to rs: one entry per reason, messages joined, so that a
// hundred unknown clusters make one Event.
func AddRefusal(rs []Refusal, r Refusal) []Refusal {
	for i := range rs {
		if rs[i].Reason != r.Reason {
			continue
		}
		if !strings.Contains(rs[i].Message, r.Message) {
			rs[i].Message += "; " + r.Message
		}
		return rs
	}
	return append(rs, r)
}
