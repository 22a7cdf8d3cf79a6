package judge

import (
	"cmp"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// Facts are everything that a Verdict rests on.
type Facts struct {
	ID render.Identity
	// Unknown is why nothing can be said about the source: its resource is not
	// watched, or has not synced. Empty if Source can be relied on.
	Unknown string
	// Unwatched: it is Unknown because nothing watches it.
	Unwatched bool
	// Hint tells the user what to do about that; empty for nothing.
	Hint string
	// Source is what the object asks for; nil if the object does not exist.
	Source *Source
	// Version is the resource version that the cache of its resource had reached at least; empty if there is none.
	Version string
	// Live: Source was just read from the API server, by a quorum read, not from
	// the cache. Only then does its absence prove anything.
	Live bool
	// Definition is the state of the CustomResourceDefinition of its kind.
	Definition DefinitionState
	// DefinitionCreated is when that definition was created; zero if there is none.
	DefinitionCreated time.Time
	// Redefined: this process has seen an earlier one of that name.
	Redefined bool
	// DefinitionFollows: that definition goes along to the clusters of the source.
	DefinitionFollows bool
	// Clusters are the member clusters that matter to the source, by name. ClustersHidden: a user may not list them.
	Clusters       map[string]ClusterFacts
	ClustersHidden bool
	// Works are those that name the source or carry it, by cluster.
	Works map[string]*state.Work
	// Stalls says, for clusters where Karmada has to part a Work that is being deleted from an
	// object that stays, how long it may still take; after that, the deletion has stalled.
	Stalls map[string]time.Duration
	// Taken are the clusters where another object's Work has the name that Karmada would
	// give to this Work.
	Taken map[string]bool
	// Dependencies are the objects that its Pods need and that are not mirrored with it.
	Dependencies []Dependency
	// NeededBy are the workloads in waves that need the source on a cluster, and are not through, by cluster.
	NeededBy map[string]render.Identity
	// Policies are the override policies that may select the source. They are none if the
	// configuration ignores them.
	Policies []*state.Policy
	// PoliciesLive: they have just been read, so that one that is missing no longer exists; or
	// the configuration ignores them.
	PoliciesLive bool
	// NamespaceGoing: the source's Namespace is being deleted, with its override policies.
	NamespaceGoing bool
	// Scale is what is divided over the clusters; nil if nothing is.
	Scale *Scale
	// Shown are globs of the annotations of Clusters that variables may show; nil for all.
	Shown []string
	// Strip are the labels and annotations that the configuration removes.
	Strip render.StripList
	// AllAtOnce: the Works of all clusters are wanted at once, whatever the waves say.
	AllAtOnce bool
	// SharesAtOnce: a cluster gets fewer replicas at once, even if others are still to get more.
	SharesAtOnce bool
	// Now is the current time; HealthyFor says for how long the Work on each cluster has had its content
	// and been applied and healthy. HealthyFor has no entry for one that is not, and none at all if the
	// source has no waves.
	Now        time.Time
	HealthyFor map[string]time.Duration
	// Ambiguous are the clusters whose Works have content that no report tells from the content before:
	// it was made from the same generation of the source, or that is not known.
	Ambiguous map[string]bool
	// Unshown are the clusters whose Works have content that Karmada has not been seen to apply, and for how long
	// they have been seen to have it: that Karmada says "applied" may be true of the content before.
	// UnshownBecause is why that cannot be seen; empty if it can.
	Unshown        map[string]time.Duration
	UnshownBecause string
	// Changed are the clusters whose Works have changed, by a live read, which the cache does not show.
	Changed map[string]bool
	// LeastBake is for how long that must be so where no report says which content it is about: that
	// Karmada says "applied" may be true of the content before.
	LeastBake time.Duration
	// StoppedSince is since when some wave of the source has not been through; zero if that was not
	// followed.
	StoppedSince time.Time
	// Altered is what we have written to Works which admission then altered, by cluster; nil if that was not followed.
	Altered map[string]Altered
	// Vanished are the last states of Works that another user has deleted, or that were deleted to be replaced, by cluster.
	Vanished map[string]*state.Work
	// Replaced are the clusters whose Work this process has deleted to replace it: it is still going, or in Vanished.
	Replaced map[string]bool
	// NamespaceSkipped: Karmada does not create the source's Namespace in the members.
	NamespaceSkipped bool
}

// Altered is what was written to a Work that admission altered.
type Altered struct {
	Digest render.Digest
	Notes  render.Notes // as Rendering.Notes
}

// sawAltered reports whether a Work is what admission has made of what is wanted, as this process has seen.
func (f Facts) sawAltered(cluster string, t Target) bool {
	seen, isSeen := f.Altered[cluster]
	return isSeen && t.Rendering != nil && seen == Altered{t.Digest(), t.Notes()}
}

// IsAs reports whether the facts by a cache are as before: what the source and its Namespace ask for, what is allowed, the
// override policies, what the configuration strips and shows, the clusters that the source has now or had, and how well the
// Works on some clusters are. A Work that is written is compared then. Others may write the source's status meanwhile.
func (f Facts) IsAs(before Facts, clusters []string) bool {
	hasChanged := func(cluster string) bool { return !f.Clusters[cluster].isAs(before.Clusters[cluster]) }
	return f.Unknown == before.Unknown && cmp.Or(f.Source, &Source{}).isAs(cmp.Or(before.Source, &Source{})) && f.NamespaceGoing == before.NamespaceGoing &&
		reflect.DeepEqual([]any{f.Shown, f.Strip}, []any{before.Shown, before.Strip}) && // of Shown, nil and empty differ
		sets.New(f.Policies...).Equal(sets.New(before.Policies...)) && !slices.ContainsFunc(slices.Concat(f.Targets(), before.Targets()), hasChanged) &&
		!slices.ContainsFunc(clusters, func(cluster string) bool { return !isAs(f.Works[cluster], before.Works[cluster]) })
}

func (s *Source) isAs(before *Source) bool {
	isSame := s.ResourceVersion == before.ResourceVersion || s.Template != nil && before.Template != nil && s.Template.Digest() == before.Template.Digest()
	return isSame && (s.Refusal == nil) == (before.Refusal == nil) && s.UID == before.UID && s.Wishes == before.Wishes && s.Terms.Equal(before.Terms) && s.Doubt == before.Doubt && s.Finalized == before.Finalized && s.Deleted.Equal(before.Deleted)
}

func (c ClusterFacts) isAs(before ClusterFacts) bool {
	return c.State == before.State && c.Forbidden == before.Forbidden && c.Owner == before.Owner && c.Away == before.Away && c.AwaySince.Equal(before.AwaySince) && labels.Equals(c.Labels, before.Labels)
}

// isAs reports whether a Work is as well as before.
func isAs(w, before *state.Work) bool {
	if w == nil || before == nil {
		return w == before
	}
	return w.UID == before.UID && w.Digest == before.Digest && w.State == before.State && w.IsWell() == before.IsWell() && w.Terminating == before.Terminating && w.Foreign == before.Foreign
}

// Dependency is an object that the Pods of a source need, but that is not mirrored to all of the
// source's clusters.
type Dependency struct {
	ID render.Identity
	// Clusters are those where it is missing, sorted.
	Clusters []string
	// Unwatched: it is not watched at all, but is known to exist, or its Namespace has a default. The members may make it
	// themselves. OtherNamespaces: that is because the configuration includes its resource in other
	// Namespaces only.
	Unwatched, OtherNamespaces bool
	// Absent: it is watched, and does not exist on the Karmada API server. The members may make it themselves. Only a command, which
	// looks once, asks for it: what the daemon reports would come and go with each Pod that is late.
	Absent bool
	// Wishes are what the object asks for; the zero value if it does not ask.
	Wishes render.Wishes
}

// DefinitionState is the state of a kind's CustomResourceDefinition. When the
// definition is deleted, all its objects are deleted too.
type DefinitionState int

// The states of a definition. The zero value says nothing.
const (
	DefinitionServed DefinitionState = iota
	DefinitionTerminating
	DefinitionDeleted
)

// ClusterState is the state of a member cluster. The zero value is a cluster that
// does not exist.
type ClusterState int

// The states of a cluster.
const (
	ClusterMissing ClusterState = iota
	ClusterJoined
	ClusterTerminating
)

// HadLabels are labels that a cluster had until a moment ago, and for how long they still hold up waves.
type HadLabels struct {
	Labels labels.Set
	In     time.Duration
}

// ClusterFacts are what matters about a member cluster. The zero value is a cluster that
// does not exist.
type ClusterFacts struct {
	State ClusterState
	// Labels are what selectors match.
	Labels labels.Set
	// Member is what the cluster says about itself; nil for a cluster that does not exist.
	Member *render.Member
	// LacksNamespace: Karmada has not created its execution namespace yet, or is deleting it, so that no
	// Work can be created there.
	LacksNamespace bool
	// Forbidden: the configuration does not allow mirroring the source there.
	Forbidden bool
	// Recovery is when the cluster came back.
	Recovery Recovery
	// Away: the cluster is not ready, and since when Karmada says so.
	Away      bool
	AwaySince time.Time
	// Joined is when the cluster joined.
	Joined time.Time
	// Had are the labels before each recent change of them, the last first.
	Had []HadLabels
	// Kinds are those that its API server serves.
	Kinds state.Kinds
	// ScaledBy is the autoscaler mirrored there that scales the source; the zero value if there is
	// none.
	ScaledBy render.Identity
	// Owner is the object whose controller there makes the source itself, since it is mirrored there, too; the zero value if
	// there is none.
	Owner render.Identity
	// Unbound: a live read has shown that the binding that took over the Work there no longer
	// has a policy, or no longer exists.
	Unbound bool
	// Doubled: a live read has shown that a binding's Work carries the source beside ours,
	// which has the longer name.
	Doubled bool
	// WriteUnderWay: our last write to the Work is not in the cache yet; Works has the state
	// before it.
	WriteUnderWay bool
}

// noticedWithin is how long Karmada takes to notice that it cannot reach a cluster: its failure
// threshold is half a minute, and its agent's lease 40 seconds, after the last of its checks.
const noticedWithin = 2 * time.Minute

// IsUnreached reports whether the Work on a cluster was written when Karmada could not, or may no longer
// have been able to, reach it: what it reports of the Work is then from before.
func (f Facts) IsUnreached(cluster string) bool {
	w := f.Works[cluster]
	return f.IsAway(cluster) && w != nil && w.Written().After(f.Clusters[cluster].AwaySince.Add(-noticedWithin))
}

// HasLeft reports whether a Work that is gone has left with its cluster. One of the second in which that joined was written after it: times
// have whole seconds.
func (f Facts) HasLeft(w *state.Work) bool {
	c, isKnown := f.Clusters[w.Cluster] // not of all that the source does not choose
	return isKnown && f.Unknown == "" && (c.State != ClusterJoined || w.Written().Before(c.Joined))
}

// IsAway reports whether Karmada says that it cannot reach a cluster.
func (f Facts) IsAway(cluster string) bool {
	return f.Clusters[cluster].Away && !f.Clusters[cluster].AwaySince.IsZero()
}
