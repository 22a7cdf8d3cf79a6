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
	// Works are the Works that bear the name that ours would have, by cluster.
	Works map[string]*state.Work
	// NamespaceSkipped: Karmada does not make the source's Namespace in the members.
	NamespaceSkipped bool
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
	// WriteUnderWay: what we wrote last to the Work has not come back: Works has what was
	// before.
	WriteUnderWay bool
}
