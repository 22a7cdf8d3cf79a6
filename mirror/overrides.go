package mirror

import (
	"context"
	"time"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
)

// policyChanged enqueues the sources that an override policy may select now, or did before.
func (c *Controller) policyChanged(before, after *state.Policy) {
	if c.queue.Load() == nil {
		return
	}
	for _, p := range []*state.Policy{before, after} {
		if p != nil {
			c.enqueueSelected(p)
		}
	}
}

// enqueueSelected enqueues the sources that an override policy may select.
func (c *Controller) enqueueSelected(p *state.Policy) {
	for o := range c.caches.SelectedBy(p) {
		c.enqueueObject(o)
	}
}

// confirmLoss judges a source again by live reads if it has lost an override, by the cache. It
// returns how long to wait before that.
func (c *Controller) confirmLoss(ctx context.Context, j judge.Judgement) (judge.Judgement, time.Duration, error) {
	lost := j.Verdict.Lost()
	if lost == nil {
		c.memory.ClearLoss(j.Facts.ID)
		return j, 0, nil
	}
	facts, left, err := c.caches.ConfirmLoss(ctx, j.Facts, lost, c.DeletionSettle)
	if err != nil || left > 0 {
		return j, left, err
	}
	return judge.On(facts), 0, nil
}
