package memory

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
)

// relabelPeriod is for how long a cluster without a Work that is no longer asked for by its labels holds up its wave: the
// labels may be wrong for a moment.
const relabelPeriod = time.Minute

// maxLabellings is how many changes of a cluster's labels are kept.
const maxLabellings = 20

// labelling is a change of a cluster's labels: those before it, and when it was seen.
type labelling struct {
	had labels.Set
	at  time.Time
}

// hadAfter returns the labels that a cluster had, now that it has changed.
func (c *clusters) hadAfter(known cluster, before *state.Cluster) []labelling {
	if maps.Equal(before.Labels, known.last.Labels) {
		return known.had
	}
	all := []labelling{{before.Labels, c.clock.Now()}}
	for _, l := range known.had {
		if c.clock.Since(l.at) < relabelPeriod && len(all) < maxLabellings {
			all = append(all, l)
		}
	}
	return all
}

// HadLabels returns the labels that a cluster had until a moment ago.
func (c *clusters) HadLabels(cluster *state.Cluster) (had []judge.HadLabels) {
	if last := c.notedBefore(cluster); last != nil && !maps.Equal(cluster.Labels, last.Labels) {
		had = append(had, judge.HadLabels{Labels: last.Labels, In: relabelPeriod})
	}
	for _, l := range c.cluster(cluster.Name).had {
		if in := relabelPeriod - c.clock.Since(l.at); in > 0 {
			had = append(had, judge.HadLabels{Labels: l.had, In: in})
		}
	}
	return had
}
