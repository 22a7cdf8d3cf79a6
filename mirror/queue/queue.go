package queue

import (
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/karmada-target/karmada-mirror/render"
)

// The backoff of a source whose sync fails.
const (
	minBackoff = 50 * time.Millisecond
	maxBackoff = 30 * time.Second
)

// Queue holds the sources to sync. Sources that a user has just changed go before those
// that are synced for other reasons (a new leader, resource or cluster), which may be very
// many.
type Queue struct {
	workqueue.TypedRateLimitingInterface[render.Identity]
	lanes   *lanes
	tracker *tracker
}

// New creates a queue for a number of workers. isFresh reports whether a source goes before others.
func New(name string, isFresh func(render.Identity) bool, workers int) *Queue {
	l := newLanes(isFresh)
	return &Queue{
		TypedRateLimitingInterface: workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.NewTypedItemExponentialFailureRateLimiter[render.Identity](minBackoff, maxBackoff), // sources do not wait for each other
			workqueue.TypedRateLimitingQueueConfig[render.Identity]{
				DelayingQueue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[render.Identity]{
					Name:  name,
					Queue: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[render.Identity]{Name: name, Queue: l}),
				}),
			}),
		lanes: l, tracker: newTracker(workers),
	}
}

// Failing counts the sources whose last sync failed, and returns since when one of them has failed.
func (q *Queue) Failing() (n int, since time.Time) { return q.tracker.fails() }

// Get waits for the next source and takes it: its sync begins. Sources that are slow have half of the workers at most.
func (q *Queue) Get() (id render.Identity, shutdown bool) {
	for {
		if id, shutdown = q.TypedRateLimitingInterface.Get(); shutdown || q.tracker.begin(id) {
			return id, shutdown
		}
		q.TypedRateLimitingInterface.Done(id)
	}
}

// Done notes that the sync of a source has ended.
func (q *Queue) Done(id render.Identity) {
	next, waits := q.tracker.end(id)
	q.TypedRateLimitingInterface.Done(id)
	if waits {
		q.Add(next)
	}
}

// IsSlow reports whether the last sync of a source has failed, and took long: some of its requests have no answer, probably.
func (q *Queue) IsSlow(id render.Identity) bool { return q.tracker.isSlow(id) }

// Forget notes that the sync of a source has not failed.
func (q *Queue) Forget(id render.Identity) {
	q.tracker.succeed(id)
	q.TypedRateLimitingInterface.Forget(id)
}

// Prune frees the memory that maps keep for deleted entries.
func (q *Queue) Prune() {
	q.lanes.prune()
	q.tracker.prune()
}

// IsPending reports whether a source waits, is being synced, or will be without another event.
func (q *Queue) IsPending(id render.Identity) bool { return q.lanes.has(id) || q.tracker.has(id) }

// AddAfter adds a source after a delay.
func (q *Queue) AddAfter(id render.Identity, d time.Duration) {
	q.tracker.expect(id)
	q.TypedRateLimitingInterface.AddAfter(id, d)
}

// AddRateLimited adds a source whose sync has failed after its backoff.
func (q *Queue) AddRateLimited(id render.Identity) {
	q.tracker.fail(id)
	q.tracker.expect(id)
	q.TypedRateLimitingInterface.AddRateLimited(id)
}
