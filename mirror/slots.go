package mirror

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// slots bound the writes in flight. A write waits for all that the API server has
// begun before it, and more of them at once are not done sooner when it is busy: so
// what somebody has just changed has slots of its own, and never waits behind more
// than there are of the others.
type slots struct {
	fresh, others *semaphore.Weighted
}

func newSlots(each int) slots {
	return slots{semaphore.NewWeighted(int64(each)), semaphore.NewWeighted(int64(each))}
}

// run calls do in a slot. It returns the cause of ctx if that is done first.
func (s slots) run(ctx context.Context, isFresh bool, do func()) error {
	slot := s.others
	if isFresh {
		slot = s.fresh
	}
	if err := slot.Acquire(ctx, 1); err != nil {
		return context.Cause(ctx)
	}
	defer slot.Release(1)
	do()
	return nil
}
