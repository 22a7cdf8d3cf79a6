package mirror

import (
	"sync"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/buffer"

	"github.com/karmada-target/karmada-mirror/render"
)

// queue holds the sources to sync. What somebody has just changed goes before
// what is looked at for other reasons, of which there may be very many: a new
// leader, resource or cluster.
type queue struct {
	workqueue.TypedRateLimitingInterface[render.Identity]
	lanes *lanes
}

func newQueue() *queue {
	l := newLanes()
	return &queue{
		workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.NewTypedItemExponentialFailureRateLimiter[render.Identity](minBackoff, maxBackoff),
			workqueue.TypedRateLimitingQueueConfig[render.Identity]{
				DelayingQueue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[render.Identity]{
					Name:  "mirror",
					Queue: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[render.Identity]{Name: "mirror", Queue: l}),
				}),
			}),
		l,
	}
}

// addFresh adds a source that has changed.
func (q *queue) addFresh(id render.Identity) {
	q.lanes.prefer(id)
	q.Add(id)
}

// retry adds a source whose sync has failed when its backoff is over.
func (q *queue) retry(id render.Identity) {
	q.lanes.prefer(id)
	q.AddRateLimited(id)
}

// freshInARow is how many of the fresh lane are taken before one of the other:
// so that the old does not starve.
const freshInARow = 8

// lanes are the order of a queue: two lines, of which one is preferred.
type lanes struct {
	mu sync.Mutex
	// preferred are the sources that are about to be added to the fresh lane: one that
	// is being synced is pushed when that is done.
	preferred map[render.Identity]bool
	// queued tells for each source that waits whether it does so in the fresh lane.
	// An entry of a lane that it does not confirm is left over from a change of
	// lanes.
	queued         map[render.Identity]bool
	fresh, others  *buffer.Ring[render.Identity]
	takenFromFresh int
}

func newLanes() *lanes {
	lane := func() *buffer.Ring[render.Identity] {
		return buffer.NewRing[render.Identity](buffer.RingOptions{InitialSize: 64, NormalSize: 1024})
	}
	return &lanes{preferred: map[render.Identity]bool{}, queued: map[render.Identity]bool{}, fresh: lane(), others: lane()}
}

// prefer says that a source, which is about to be added, belongs in the fresh lane.
func (l *lanes) prefer(id render.Identity) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.preferred[id] = true
}

// Push implements workqueue.Queue.
func (l *lanes) Push(id render.Identity) {
	l.mu.Lock()
	defer l.mu.Unlock()
	isFresh := l.preferred[id]
	delete(l.preferred, id)
	l.queued[id] = isFresh
	l.lane(isFresh).WriteOne(id)
}

// Touch implements workqueue.Queue: a source that waits may change lanes.
func (l *lanes) Touch(id render.Identity) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.preferred[id] && !l.queued[id] {
		l.queued[id] = true
		l.fresh.WriteOne(id)
	}
	delete(l.preferred, id)
}

// Len implements workqueue.Queue.
func (l *lanes) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.queued)
}

// Pop implements workqueue.Queue.
func (l *lanes) Pop() render.Identity {
	l.mu.Lock()
	defer l.mu.Unlock()
	isFresh := l.takenFromFresh < freshInARow
	for ; ; isFresh = !isFresh {
		id, ok := l.next(isFresh)
		if !ok {
			continue
		}
		if isFresh {
			l.takenFromFresh++
		} else {
			l.takenFromFresh = 0
		}
		delete(l.queued, id)
		return id
	}
}

// next takes the first of a lane that waits in it.
func (l *lanes) next(isFresh bool) (render.Identity, bool) {
	lane := l.lane(isFresh)
	for {
		id, ok := lane.ReadOne()
		if !ok {
			return render.Identity{}, false
		}
		if inFresh, waits := l.queued[id]; waits && inFresh == isFresh {
			return id, true
		}
	}
}

func (l *lanes) lane(isFresh bool) *buffer.Ring[render.Identity] {
	if isFresh {
		return l.fresh
	}
	return l.others
}
