package judge

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/karmada-target/karmada-mirror/render"
)

// Scale is what is divided over the clusters of a source.
type Scale struct {
	Paths render.ScalePaths
	render.Scale
	// Fault is why it cannot be read; empty if it can.
	Fault string
}

// sharesOf divides the replicas of a source over the clusters that exist and that it asks for,
// ready or not: a cluster that is only away keeps its share.
func sharesOf(f Facts) map[string]render.Scale {
	weights := map[string]int64{}
	for cluster, facts := range f.Clusters {
		if facts.State != ClusterMissing && f.Source.Terms.Matches(cluster, facts.Labels) {
			weights[cluster] = f.Source.Differences.Division.WeightOf(cluster)
		}
	}
	return f.Scale.Divide(weights, f.Source.UID)
}

// share returns what a cluster gets of the replicas.
func (r *renderings) share(cluster string) render.Scale {
	if r.shares == nil {
		r.shares = sharesOf(r.f)
	}
	return r.shares[cluster]
}

// shareNow returns what its Work is to say of that for now: as many as it has, if it keeps them.
func (r *renderings) shareNow(cluster string) render.Scale {
	share := r.share(cluster)
	if r.keeps(cluster) && r.knowsShare(cluster) {
		share.Replicas, _ = r.f.Works[cluster].Notes().Replicas()
	}
	return share
}

// keeps reports whether a cluster keeps the replicas it has, although its share is smaller: those that
// get more come first. In waves it does not, because these may be in a later wave.
func (r *renderings) keeps(cluster string) bool {
	w := r.f.Works[cluster]
	if w == nil || !r.f.divides() || r.f.inWaves() || r.f.SharesAtOnce || r.haveRisen() {
		return false
	}
	has, isDivided := w.Notes().Replicas()
	if !isDivided { // it has all of them, unless a policy made it
		return w.Source == r.f.ID && w.Foreign == ""
	}
	return has > r.share(cluster).Replicas
}

// knowsShare reports whether the Work of a cluster says all that its cluster has. A Work that was made before
// the replicas were divided does not, nor does that of a Job with completions.
func (r *renderings) knowsShare(cluster string) bool {
	_, isDivided := r.f.Works[cluster].Notes().Replicas()
	return isDivided && !r.share(cluster).HasCompletions
}

// haveRisen reports whether no cluster is to get more replicas.
func (r *renderings) haveRisen() bool {
	if r.risen == nil {
		r.risen = new(!slices.ContainsFunc(clustersOf(r.f), r.rises))
	}
	return *r.risen
}

// rises reports whether a cluster is to get more replicas than its Work says, or gets its first Work.
// A cluster that cannot have any, because it is not allowed or is being removed, because its Work is still
// being deleted, or because another owner has its Work, holds up no other: that may last very long.
func (r *renderings) rises(cluster string) bool {
	facts, w := r.f.Clusters[cluster], r.f.Works[cluster]
	if facts.Forbidden || facts.State != ClusterJoined || w != nil && w.Terminating {
		return false
	}
	share := r.share(cluster).Replicas
	if w == nil { // the first Work of a cluster whose content fails is still to come
		return share > 0 && r.f.Source.Deleted.IsZero()
	}
	has, isDivided := w.Notes().Replicas()
	return isDivided && share > has && w.Source == r.f.ID && w.Foreign == ""
}

// divides reports whether there are replicas to divide.
func (f Facts) divides() bool {
	return f.Unknown == "" && f.Source != nil && f.Scale != nil && f.Scale.Fault == ""
}

// unplaced reports replicas that are to be divided and are not, or that no member gets.
func unplaced(f Facts, v Verdict) *Refusal {
	s := f.Source
	switch {
	case f.Unknown != "" || s == nil || !s.Asks || s.Refusal != nil || !s.Differences.Division.Divides():
		return nil
	case f.Scale == nil && s.Template != nil && !s.Wishes.InheritsReplicas():
		return &Refusal{Reason: ReplicasUnplaced, Message: render.ReplicasAnnotation + ": its kind has no replicas to divide"}
	case f.Scale == nil || f.Scale.Fault != "":
		return nil
	}
	var lost int64
	var where []string
	shares := sharesOf(f)
	for _, cluster := range slices.Sorted(maps.Keys(shares)) {
		if n := shares[cluster].Replicas - placedOn(f, cluster); n > 0 && v.Targets[cluster].Decision != Wanted && !v.Targets[cluster].Waits {
			lost += n
			where = append(where, fmt.Sprintf("%d for cluster %q (%s)", n, cluster, v.Targets[cluster].Because))
		}
	}
	if where == nil {
		return nil
	}
	return &Refusal{Reason: ReplicasUnplaced, Message: fmt.Sprintf("%d of %d replicas are not placed: %s", lost, f.Scale.Replicas, strings.Join(where, ", "))}
}

// placedOn returns how many replicas a cluster has by its Work, even if nothing may change that now.
func placedOn(f Facts, cluster string) int64 {
	w := f.Works[cluster]
	if w == nil || w.Foreign != "" || w.Source != f.ID {
		return 0
	}
	n, _ := w.Notes().Replicas()
	return n
}
