package judge

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/karmada-target/karmada-mirror/mirror/state"
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
// ready or not: a cluster that is only away keeps its share. Who wins the ties depends on the UID, unless all Works are as if
// it were the other way: a source that was recreated as it was moves none.
func sharesOf(f Facts) map[string]render.Scale {
	weights := map[string]int64{}
	for cluster, facts := range f.Clusters {
		if facts.State != ClusterMissing && f.Source.Terms.Matches(cluster, facts.Labels) {
			weights[cluster] = f.Source.Differences.Division.WeightOf(cluster)
		}
	}
	ties := render.TiesOf(f.Source.UID)
	shares := f.Scale.Divide(weights, ties)
	if !f.have(shares) {
		if others := f.Scale.Divide(weights, !ties); f.have(others) {
			return others
		}
	}
	return shares
}

// have reports whether all clusters have these shares of which it is known what they have. Of a Job, its completions matter,
// because they are immutable.
func (f Facts) have(shares map[string]render.Scale) bool {
	for cluster, share := range shares {
		has, isKnown := f.shareOn(cluster)
		if share.HasCompletions {
			has.Replicas = share.Replicas
		}
		if isKnown && (has.Replicas != share.Replicas || has.Completions != share.Completions) {
			return false
		}
	}
	return true
}

// shareOn returns what a cluster has by its Work; false if that is to go, is another owner's, or does not say.
func (f Facts) shareOn(cluster string) (share render.Scale, isKnown bool) {
	if w := f.Works[cluster]; w != nil && !w.Terminating && w.Source == f.ID && w.Foreign == "" {
		return w.Share()
	}
	return render.Scale{}, false
}

// share returns what a cluster gets of the replicas.
func (r *renderings) share(cluster string) render.Scale {
	if r.shares == nil {
		r.shares = sharesOf(r.f)
	}
	return r.shares[cluster]
}

// shareNow returns what its Work is to say of that for now: more, if it keeps some.
func (r *renderings) shareNow(cluster string) render.Scale {
	share := r.share(cluster)
	share.Replicas += r.kept(cluster)
	return share
}

// kept returns how many replicas a cluster keeps although its share is smaller: together, clusters keep as many
// as others are still to get. In waves they keep none, because the others may be in a later wave.
func (r *renderings) kept(cluster string) int64 {
	if !r.f.divides() || r.f.inWaves() || r.f.SharesAtOnce {
		return 0
	}
	if r.extra == nil {
		r.extra = r.keep()
	}
	return r.extra[cluster]
}

func (r *renderings) keep() map[string]int64 {
	kept, missing := map[string]int64{}, int64(0)
	clusters := r.f.Targets()
	for _, cluster := range clusters {
		missing += r.missing(cluster)
	}
	for _, cluster := range clusters {
		if n := min(missing, r.surplus(cluster)); n > 0 {
			kept[cluster] = n
			missing -= n
		}
	}
	return kept
}

// missing returns how many replicas a cluster is to get beside those that its Work says, or its first Work. A
// cluster that cannot have any, because it is not allowed or is being removed, because its Work is still
// being deleted, or because another owner has its Work, is not waited for: that may last very long.
func (r *renderings) missing(cluster string) int64 {
	facts, w := r.f.Clusters[cluster], r.f.Works[cluster]
	switch {
	case facts.Forbidden || facts.State != ClusterJoined:
		return 0
	case w == nil && r.f.Source.Deleted.IsZero(): // also of a cluster whose content fails
		return r.share(cluster).Replicas
	}
	has, isKnown := r.f.shareOn(cluster)
	if !isKnown {
		return 0
	}
	return max(0, r.share(cluster).Replicas-has.Replicas)
}

// surplus returns how many replicas a cluster has by its Work beside its share. What is to go, with its Work or its
// cluster, does not count.
func (r *renderings) surplus(cluster string) int64 {
	facts := r.f.Clusters[cluster]
	has, isKnown := r.f.shareOn(cluster)
	if !isKnown || facts.State != ClusterJoined || !r.f.Source.Terms.Matches(cluster, facts.Labels) {
		return 0
	}
	return max(0, has.Replicas-r.share(cluster).Replicas)
}

// divides reports whether there are replicas to divide.
func (f Facts) divides() bool {
	return f.Unknown == "" && f.Source != nil && f.Scale != nil && f.Scale.Fault == ""
}

// unplaced reports replicas that are to be divided and are not, or that no member gets.
func unplaced(f Facts, v Verdict) *Refusal {
	s := f.Source
	switch {
	case f.Unknown != "" || s == nil || !s.Asks || s.Refusal != nil || !s.Deleted.IsZero() || !s.Differences.Division.Divides():
		return nil
	case f.Scale == nil && s.Template != nil && !s.Wishes.InheritsReplicas() && state.IsAutoscaler(f.ID.GroupKind()):
		return &Refusal{Reason: ReplicasUnplaced, Message: render.ReplicasAnnotation + ": it has no replicas to divide, and scales in each cluster with limits that are not divided: give it limits for one cluster, or different ones by an override policy"}
	case f.Scale == nil && s.Template != nil && !s.Wishes.InheritsReplicas():
		return &Refusal{Reason: ReplicasUnplaced, Message: render.ReplicasAnnotation + ": its kind has no replicas to divide"}
	case f.Scale == nil || f.Scale.Fault != "" || s.Template == nil:
		return nil
	}
	var lost int64
	var where, key []string // why it waits for its turn is no news
	shares := sharesOf(f)
	for _, cluster := range slices.Sorted(maps.Keys(shares)) {
		target := v.Targets[cluster]
		isPassedOver := f.Clusters[cluster].Away || target.isSuspended()
		if target.Decision == Wanted || target.Waits && !isPassedOver || target.Unproven || target.Lost != nil || f.Clusters[cluster].WriteUnderWay {
			continue // it gets them by itself: a write or a live read is under way
		}
		if n := shares[cluster].Replicas - placedOn(f, cluster); n > 0 {
			lost += n
			what := fmt.Sprintf("%d for cluster %q", n, cluster)
			where = append(where, fmt.Sprintf("%s (%s)", what, target.Because))
			if !target.Waits {
				what += target.Because
			}
			key = append(key, what)
		}
	}
	if where == nil {
		return nil
	}
	return &Refusal{Reason: ReplicasUnplaced, Key: strings.Join(key, ";"), Message: fmt.Sprintf("%d of %d replicas are not placed: %s", lost, f.Scale.Replicas, strings.Join(where, ", "))}
}

// placedOn returns how many replicas a cluster has by its Work, even if nothing may change that now.
func placedOn(f Facts, cluster string) int64 {
	w := f.Works[cluster]
	if w == nil || w.Foreign != "" || w.Source != f.ID {
		return 0
	}
	share, _ := w.Share()
	return share.Replicas
}
