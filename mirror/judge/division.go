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
		if n := shares[cluster].Replicas; n > 0 && v.Targets[cluster].Decision != Wanted && !keepsShare(f, cluster, shares[cluster]) {
			lost += n
			where = append(where, fmt.Sprintf("%d for cluster %q (%s)", n, cluster, v.Targets[cluster].Because))
		}
	}
	if where == nil {
		return nil
	}
	return &Refusal{Reason: ReplicasUnplaced, Message: fmt.Sprintf("%d of %d replicas are not placed: %s", lost, f.Scale.Replicas, strings.Join(where, ", "))}
}

// keepsShare reports whether a cluster already has its share, by a Work that nothing may change
// now.
func keepsShare(f Facts, cluster string, share render.Scale) bool {
	w := f.Works[cluster]
	if w == nil || w.Foreign != "" || w.Source != f.ID {
		return false
	}
	n, ok := w.Notes().Replicas()
	return ok && n == share.Replicas
}
