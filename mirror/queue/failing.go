package queue

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/karmada-target/karmada-mirror/render"
)

// rateLimiter is the backoff of sources whose sync fails. Sources do not wait for each other. It
// also knows since when each has failed: a share of failed syncs hides the users who wait, because
// the backoff makes failures rare among syncs that have nothing to write.
type rateLimiter struct {
	workqueue.TypedRateLimiter[render.Identity]
	mu    sync.Mutex
	since map[render.Identity]time.Time
}

func newRateLimiter() *rateLimiter {
	return &rateLimiter{TypedRateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[render.Identity](minBackoff, maxBackoff)}
}

// When notes that a sync has failed, and returns when to retry it.
func (r *rateLimiter) When(id render.Identity) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.since == nil {
		r.since = map[render.Identity]time.Time{}
	}
	if _, isKnown := r.since[id]; !isKnown {
		r.since[id] = time.Now()
	}
	return r.TypedRateLimiter.When(id)
}

// Forget notes that a sync has not failed.
func (r *rateLimiter) Forget(id render.Identity) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if delete(r.since, id); len(r.since) == 0 {
		r.since = nil // a map keeps its memory
	}
	r.TypedRateLimiter.Forget(id)
}

// Failing counts the sources that fail, and returns since when one of them has.
func (r *rateLimiter) Failing() (n int, since time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, at := range r.since {
		if since.IsZero() || at.Before(since) {
			since = at
		}
	}
	return len(r.since), since
}
