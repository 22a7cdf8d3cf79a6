package gather

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

// noteLabels remembers the labels that a cluster had.
func (c *Caches) noteLabels(before, after *state.Cluster) {
	if before == nil || after == nil || maps.Equal(before.Labels, after.Labels) {
		return
	}
	all := []labelling{{before.Labels, c.options.Clock.Now()}}
	for _, l := range c.labellings(after.Name) {
		if c.options.Clock.Since(l.at) < relabelPeriod && len(all) < maxLabellings {
			all = append(all, l)
		}
	}
	c.relabelled.Store(after.Name, all)
}

// LabelsHad returns the labels that a cluster had of late, and ForgetLabels forgets those of one that has left.
func (c *Caches) LabelsHad(cluster string) (had []labels.Set) {
	for _, l := range c.labellings(cluster) {
		had = append(had, l.had)
	}
	return had
}

// ForgetLabels: see LabelsHad.
func (c *Caches) ForgetLabels(cluster string) { c.relabelled.Delete(cluster) }

func (c *Caches) labellings(cluster string) []labelling {
	known, _ := c.relabelled.Load(cluster)
	all, _ := known.([]labelling)
	return all
}

// hadLabels returns the labels that a cluster had until a moment ago.
func (c *Caches) hadLabels(cluster *state.Cluster) (had []judge.HadLabels) {
	if last := c.notedBefore(cluster); last != nil && !maps.Equal(cluster.Labels, last.Labels) {
		had = append(had, judge.HadLabels{Labels: last.Labels, In: relabelPeriod})
	}
	for _, l := range c.labellings(cluster.Name) {
		if in := relabelPeriod - c.options.Clock.Since(l.at); in > 0 {
			had = append(had, judge.HadLabels{Labels: l.had, In: in})
		}
	}
	return had
}
