package mirror

import (
	"context"
	"time"

	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/karmada-target/karmada-mirror/mirror/gather"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/queue"
	"github.com/karmada-target/karmada-mirror/render"
)

// sweepGrace is how long what a sweep has found is left to the event that may be about to
// tell of it: a cache shows a change before its handler is called.
const sweepGrace = 5 * time.Second

// sweep looks at everything now and then, in memory, and finds what no event has told: that
// is a defect, which it counts and mends.
func (c *Controller) sweep(ctx context.Context, q *queue.Queue) {
	if c.ResyncPeriod <= 0 {
		return
	}
	for {
		timer := c.Clock.NewTimer(wait.Jitter(c.ResyncPeriod, 0.2))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C():
		}
		c.sweepOnce(ctx, q)
	}
}

func (c *Controller) sweepOnce(ctx context.Context, q *queue.Queue) {
	suspects := c.overlooked(ctx, q, c.everything())
	if len(suspects) == 0 {
		return
	}
	timer := c.Clock.NewTimer(sweepGrace)
	defer timer.Stop()
	synced := q.Follow()
	select {
	case <-ctx.Done():
	case <-timer.C():
	}
	// What has been seen to meanwhile is done, or held back.
	for id := range c.overlooked(ctx, q, suspects.Difference(synced())) {
		resource := c.caches.ResourceOf(id)
		c.Metrics.SweepRepair(resource)
		c.logger(id).Error("a sweep has found what no event has told: please report this", zap.String("resource", resource))
		q.Add(id)
	}
}

// everything is what there may be something to do about.
func (c *Controller) everything() sets.Set[render.Identity] {
	all := sets.New(c.refused.all()...)
	for _, w := range c.caches.Sources() {
		for o := range gather.Objects(w) {
			if c.caches.MayAsk(o) {
				all.Insert(o.ID)
			}
		}
	}
	for w := range c.caches.Works() {
		if w.NamesSource() {
			all.Insert(w.Source)
		}
	}
	return all
}

// overlooked are those of some sources of which something is to be written, and that
// nobody is about to look at.
func (c *Controller) overlooked(ctx context.Context, q *queue.Queue, sources sets.Set[render.Identity]) sets.Set[render.Identity] {
	found := sets.New[render.Identity]()
	for id := range sources {
		if ctx.Err() != nil {
			return nil
		}
		if q.IsPending(id) {
			continue
		}
		j := judge.On(c.caches.Facts(id))
		if c.isDue(j) && !c.behindFence(id, j.Plan) { // what a cache does not know yet, an event will tell
			found.Insert(id)
		}
	}
	return found
}

// isDue reports whether something would be written if a judgement was acted on now.
func (c *Controller) isDue(j judge.Judgement) bool {
	if j.Verdict.Unread {
		return true
	}
	for _, op := range j.Plan {
		if !c.ledger.Holds(j.Verdict, op) && op.Kind != judge.Delete && op.Kind != judge.Wake {
			return true
		}
	}
	for _, w := range j.Due {
		if w.Held == nil {
			return true
		}
	}
	return false
}
