package karmada

import (
	"sync"
	"time"
)

// The delays after failures of Karmada's controllers (pkg/sharedcli/ratelimiterflag).
const (
	baseDelay = 5 * time.Millisecond
	maxDelay  = 1000 * time.Second
)

// queue gives keys to one worker, each once however often it is added meanwhile. It does what client-go's workqueue does,
// without the ticks of that one, which would never let simulated time rest.
type queue[K comparable] struct {
	latency func() time.Duration

	mu       sync.Mutex
	wake     sync.Cond
	keys     []K
	queued   map[K]bool
	failures map[K]int
	later    map[K]*time.Timer
	due      map[K]time.Time
	closed   bool
}

func newQueue[K comparable](latency func() time.Duration) *queue[K] {
	q := &queue[K]{latency: latency, queued: map[K]bool{}, failures: map[K]int{}, later: map[K]*time.Timer{}, due: map[K]time.Time{}}
	q.wake.L = &q.mu
	return q
}

func (q *queue[K]) run(handle func(K) error) {
	for {
		q.mu.Lock()
		for len(q.keys) == 0 && !q.closed {
			q.wake.Wait()
		}
		if q.closed {
			q.mu.Unlock()
			return
		}
		key := q.keys[0]
		q.keys = q.keys[1:]
		delete(q.queued, key)
		q.mu.Unlock()
		q.finish(key, handle(key))
	}
}

// finish forgets the failures of a key, or has it retried.
func (q *queue[K]) finish(key K, err error) {
	q.mu.Lock()
	n := q.failures[key]
	delete(q.failures, key)
	if err != nil {
		q.failures[key] = n + 1
	}
	q.mu.Unlock()
	if err != nil {
		q.after(key, min(maxDelay, baseDelay<<min(n, 20)))
	}
}

// add has a key handled once the controller has seen the write.
func (q *queue[K]) add(key K) {
	if q.latency != nil {
		if d := q.latency(); d > 0 {
			q.after(key, d)
			return
		}
	}
	q.now(key)
}

func (q *queue[K]) now(key K) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.queued[key] || q.closed {
		return
	}
	q.queued[key] = true
	q.keys = append(q.keys, key)
	q.wake.Signal()
}

// after adds a key after a while, unless it will be added earlier anyway.
func (q *queue[K]) after(key K, d time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	at := time.Now().Add(d)
	if q.closed || q.later[key] != nil && !at.Before(q.due[key]) {
		return
	}
	if q.later[key] != nil {
		q.later[key].Stop()
	}
	q.due[key] = at
	q.later[key] = time.AfterFunc(d, func() {
		q.mu.Lock()
		if q.due[key].Equal(at) {
			delete(q.later, key)
			delete(q.due, key)
		}
		q.mu.Unlock()
		q.now(key)
	})
}

// reset forgets all keys and failures, as a restart does.
func (q *queue[K]) reset() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, timer := range q.later {
		timer.Stop()
	}
	q.keys = nil
	clear(q.queued)
	clear(q.failures)
	clear(q.later)
	clear(q.due)
}

func (q *queue[K]) close() {
	q.reset()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.wake.Broadcast()
}
