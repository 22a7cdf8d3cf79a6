package mirror

import (
	"context"
	"time"

	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/queue"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// sweepGrace is how long a sweep waits for the event of a change that it has found: a cache
// shows a change before its handler is called.
const sweepGrace = 5 * time.Second

// sweep checks everything in memory each resync period, and finds changes that no event
// reported. Each is a bug, which it counts and repairs. It also has all statuses
// and finalizers looked at.
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
	all := c.everything()
	for id := range all {
		c.enqueueStatus(id)
	}
	suspects := c.overlooked(ctx, q, all)
	if len(suspects) == 0 {
		return
	}
	timer := c.Clock.NewTimer(sweepGrace)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C():
	}
	for id := range c.overlooked(ctx, q, suspects) {
		resource := c.caches.ResourceOf(id)
		c.Metrics.SweepRepair(resource)
		c.logger(id).Error("a sweep has found a change that no event reported: please report this", zap.String("resource", resource))
		q.Add(id)
	}
}

// overlooked returns the given sources that need a write and have no sync pending.
func (c *Controller) overlooked(ctx context.Context, q *queue.Queue, sources sets.Set[render.Identity]) sets.Set[render.Identity] {
	found := sets.New[render.Identity]()
	for id := range sources {
		if ctx.Err() != nil {
			return nil
		}
		if q.IsPending(id) {
			continue
		}
		isOverlooked, err := c.isOverlooked(id, q)
		if err != nil {
			c.failures.With(identify(id)...).Warn("the sweep cannot check an object", failure(err)...)
		}
		if isOverlooked {
			found.Insert(id)
		}
	}
	if q.ShuttingDown() {
		return nil // nothing is pending in a queue that drops its sources
	}
	return found
}

// isOverlooked reports whether a source needs a write that no event has asked for. It fails if that panics.
func (c *Controller) isOverlooked(id render.Identity, q *queue.Queue) (is bool, err error) {
	defer state.Catch(&err)
	j := judge.On(c.caches.Facts(id))
	if j.Finalizer() != judge.LeaveFinalizer { // the watch may not have shown it yet
		q.Add(id)
		return false, nil
	}
	return c.isDue(j) && !c.behindFence(j), nil // for what a cache does not know yet, there will be an event
}

// isDue reports whether acting on a judgement now would write something.
func (c *Controller) isDue(j judge.Judgement) bool {
	if j.Verdict.Unread {
		return true
	}
	for _, op := range j.Plan {
		isRead := op.Kind == judge.Create && c.memory.FindsAgain(j.Verdict.ID, op.Cluster)
		if !isRead && !c.memory.Holds(j.Verdict, op) && op.Kind != judge.Delete && op.Kind != judge.Wake {
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
