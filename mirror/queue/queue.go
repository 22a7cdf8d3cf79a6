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

// Queue holds the sources to sync. What somebody has just changed goes before
// what is looked at for other reasons, of which there may be very many: a new
// leader, resource or cluster.
type Queue struct {
	workqueue.TypedRateLimitingInterface[render.Identity]
	lanes *lanes
	diary *diary
}

// New makes a queue. isFresh tells what has just been changed.
func New(isFresh func(render.Identity) bool) *Queue {
	l := newLanes(isFresh)
	return &Queue{
		TypedRateLimitingInterface: workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.NewTypedItemExponentialFailureRateLimiter[render.Identity](minBackoff, maxBackoff),
			workqueue.TypedRateLimitingQueueConfig[render.Identity]{
				DelayingQueue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[render.Identity]{
					Name:  "mirror",
					Queue: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[render.Identity]{Name: "mirror", Queue: l}),
				}),
			}),
		lanes: l, diary: newDiary(),
	}
}

// Get takes the next source, once there is one: its sync begins.
func (q *Queue) Get() (id render.Identity, shutdown bool) {
	id, shutdown = q.TypedRateLimitingInterface.Get()
	if !shutdown {
		q.diary.begin(id)
	}
	return id, shutdown
}

// Done notes that the sync of a source has ended.
func (q *Queue) Done(id render.Identity) {
	q.diary.end(id)
	q.TypedRateLimitingInterface.Done(id)
}

// Follow begins to note what is synced, and read returns that and ends it.
func (q *Queue) Follow() (read func() sets.Set[render.Identity]) { return q.diary.follow() }

// Prune gives back the room that maps keep for what they once held.
func (q *Queue) Prune() { q.lanes.prune() }

// IsPending reports whether a source is about to be synced, or will be without an event.
func (q *Queue) IsPending(id render.Identity) bool { return q.lanes.has(id) || q.diary.has(id) }

// AddAfter adds a source when some time has passed.
func (q *Queue) AddAfter(id render.Identity, d time.Duration) {
	q.diary.expect(id)
	q.TypedRateLimitingInterface.AddAfter(id, d)
}

// AddRateLimited adds a source when its backoff is over.
func (q *Queue) AddRateLimited(id render.Identity) {
	q.diary.expect(id)
	q.TypedRateLimitingInterface.AddRateLimited(id)
}
