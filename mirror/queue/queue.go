package queue

import (
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
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
	limiter *rateLimiter
}

// New creates a queue. isFresh reports whether a source goes before others.
func New(name string, isFresh func(render.Identity) bool) *Queue {
	l, limiter := newLanes(isFresh), newRateLimiter()
	return &Queue{
		TypedRateLimitingInterface: workqueue.NewTypedRateLimitingQueueWithConfig(
			limiter,
			workqueue.TypedRateLimitingQueueConfig[render.Identity]{
				DelayingQueue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[render.Identity]{
					Name:  name,
					Queue: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[render.Identity]{Name: name, Queue: l}),
				}),
			}),
		lanes: l, tracker: newTracker(), limiter: limiter,
	}
}

// Failing counts the sources whose last sync failed, and returns since when one of them has failed.
func (q *Queue) Failing() (n int, since time.Time) { return q.limiter.Failing() }

// Get waits for the next source and takes it: its sync begins.
func (q *Queue) Get() (id render.Identity, shutdown bool) {
	id, shutdown = q.TypedRateLimitingInterface.Get()
	if !shutdown {
		q.tracker.begin(id)
	}
	return id, shutdown
}

// Done notes that the sync of a source has ended.
func (q *Queue) Done(id render.Identity) {
	q.tracker.end(id)
	q.TypedRateLimitingInterface.Done(id)
}

// Follow begins to record which sources are synced; read returns them and stops recording.
func (q *Queue) Follow() (read func() sets.Set[render.Identity]) { return q.tracker.follow() }

// Prune frees the memory that maps keep for deleted entries.
func (q *Queue) Prune() { q.lanes.prune() }

// IsPending reports whether a source waits, is being synced, or will be without another event.
func (q *Queue) IsPending(id render.Identity) bool { return q.lanes.has(id) || q.tracker.has(id) }

// AddAfter adds a source after a delay.
func (q *Queue) AddAfter(id render.Identity, d time.Duration) {
	q.tracker.expect(id)
	q.TypedRateLimitingInterface.AddAfter(id, d)
}

// AddRateLimited adds a source after its backoff.
func (q *Queue) AddRateLimited(id render.Identity) {
	q.tracker.expect(id)
	q.TypedRateLimitingInterface.AddRateLimited(id)
}
