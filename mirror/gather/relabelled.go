package gather

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/karmada-target/karmada-mirror/mirror/state"
)

// relabelPeriod is for how long a cluster without a Work that is no longer asked for by its labels holds up its wave: the
// labels may be wrong for a moment.
const relabelPeriod = time.Minute

// labelling is a change of a cluster's labels: those before it, and when it was seen. Further changes within the
// period do not count: they may be attempts to correct it.
type labelling struct {
	had labels.Set
	at  time.Time
}

// noteLabels remembers the labels that a cluster had.
func (c *Caches) noteLabels(before, after *state.Cluster) {
	switch {
	case after == nil:
		c.relabelled.Delete(before.Name)
	case before != nil && !maps.Equal(before.Labels, after.Labels):
		if _, in := c.hadLabels(after.Name); in == 0 {
			c.relabelled.Store(after.Name, labelling{before.Labels, c.options.Clock.Now()})
		}
	}
}

// hadLabels returns the labels that a cluster had until a moment ago, and for how long they still count; 0 if none do.
func (c *Caches) hadLabels(cluster string) (labels.Set, time.Duration) {
	last, ok := c.relabelled.Load(cluster)
	if !ok {
		return nil, 0
	}
	r := last.(labelling)
	return r.had, max(0, relabelPeriod-c.options.Clock.Since(r.at))
}
