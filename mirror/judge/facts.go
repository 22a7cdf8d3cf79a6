package judge

import (
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// Facts are all that a Verdict rests on.
type Facts struct {
	ID render.Identity
	// Unknown is why nothing can be said of the source: its resource is not
	// watched, or not synced. Empty if Source may be relied on.
	Unknown string
	// Hint is what to do about that, for a person; empty if there is nothing to do.
	Hint string
	// Source is what the object asks for; nil if there is no object.
	Source *Source
	// Live: Source was read from the API server just now, by a quorum read, and
	// not from the cache. Only then does its absence prove anything.
	Live bool
	// Definition is what is known of the CustomResourceDefinition of its kind.
	Definition DefinitionState
	// DefinitionCreated is when that was created; zero if there is none.
	DefinitionCreated time.Time
	// Clusters are the member clusters that matter to the source, by name.
	Clusters map[string]ClusterFacts
	// Works are those that say that they are of the source, or carry it, by cluster.
	Works map[string]*state.Work
	// Taken are the clusters where another object has the name that Karmada would give to
	// the Work.
	Taken map[string]bool
	// Dependencies are what its Pods need and what is not mirrored with it.
	Dependencies []Dependency
	// NamespaceSkipped: Karmada does not make the source's Namespace in the members.
	NamespaceSkipped bool
}

// Dependency is an object that the Pods of a source need, and that is not mirrored to where the
// source is.
type Dependency struct {
	ID render.Identity
	// Clusters are those where it is missing, sorted; nil if its resource is not watched at all,
	// though its Namespace has a default.
	Clusters []string
	// Wishes are what the object asks for itself; the zero value if it does not ask.
	Wishes render.Wishes
}

// DefinitionState is what matters of a kind's CustomResourceDefinition. When it
// is deleted, all its objects go with it.
type DefinitionState int

// The states of a definition. The zero value says nothing.
const (
	DefinitionServed DefinitionState = iota
	DefinitionTerminating
	DefinitionDeleted
)

// ClusterState is what matters of a member cluster. The zero value is a cluster
// that does not exist.
type ClusterState int

// The states of a cluster.
const (
	ClusterMissing ClusterState = iota
	ClusterJoined
	ClusterTerminating
)

// ClusterFacts are what matters of a member cluster. The zero value is one that does
// not exist.
type ClusterFacts struct {
	State ClusterState
	// Labels are those that a selector may choose it by.
	Labels labels.Set
	// Forbidden: the configuration does not allow the source to be mirrored there.
	Forbidden bool
	// Recovery is when the cluster came back.
	Recovery Recovery
	// LacksKind: its API server is known not to serve the source's kind.
	LacksKind bool
	// ScaledBy is the autoscaler that is mirrored there and scales the source; empty if
	// there is none.
	ScaledBy string
	// Unbound: no policy stands any more behind the binding that has taken the Work there, by
	// a live read.
	Unbound bool
	// Doubled: a binding's Work carries the source beside ours, whose name is longer, by a live
	// read.
	Doubled bool
	// WriteUnderWay: what we wrote last to the Work has not come back: Works has what was
	// before.
	WriteUnderWay bool
}
