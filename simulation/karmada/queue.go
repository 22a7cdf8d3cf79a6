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
// without the tick that each of those has every ten seconds: in simulated hours, ticks cost more than everything else.
type queue[K comparable] struct {
	latency func() time.Duration

	mu       sync.Mutex
	wake     sync.Cond
	keys     []K
	queued   map[K]bool
	failures map[K]int
	timers   map[K]*timer
	isHalted bool
	isClosed bool
}

// timer adds a key later.
type timer struct {
	*time.Timer
	at time.Time
}

func newQueue[K comparable](latency func() time.Duration) *queue[K] {
	q := &queue[K]{latency: latency, queued: map[K]bool{}, failures: map[K]int{}, timers: map[K]*timer{}}
	q.wake.L = &q.mu
	return q
}

func (q *queue[K]) run(handle func(K) error) {
	for {
		key, ok := q.next()
		if !ok {
			return
		}
		q.finish(key, handle(key))
	}
}

func (q *queue[K]) next() (key K, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for (q.isHalted || len(q.keys) == 0) && !q.isClosed {
		q.wake.Wait()
	}
	if q.isClosed {
		return key, false
	}
	key, q.keys = q.keys[0], q.keys[1:]
	delete(q.queued, key)
	return key, true
}

// finish forgets the failures of a key, or has it retried.
func (q *queue[K]) finish(key K, err error) {
	q.mu.Lock()
	n := q.failures[key]
	if delete(q.failures, key); err != nil {
		q.failures[key] = n + 1
	}
	q.mu.Unlock()
	if err != nil {
		q.after(key, min(maxDelay, baseDelay<<min(n, 20)))
	}
}

// add has a key handled once the controller has seen a write.
func (q *queue[K]) add(key K) {
	if q.latency != nil {
		q.after(key, q.latency())
		return
	}
	q.now(key)
}

func (q *queue[K]) now(key K) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.queued[key] && !q.isClosed {
		q.queued[key] = true
		q.keys = append(q.keys, key)
		q.wake.Signal()
	}
}

// after adds a key after a while, unless it will be added earlier anyway.
func (q *queue[K]) after(key K, d time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := &timer{at: time.Now().Add(d)}
	if old := q.timers[key]; q.isClosed || old != nil && !t.at.Before(old.at) {
		return
	} else if old != nil {
		old.Stop()
	}
	q.timers[key] = t
	t.Timer = time.AfterFunc(d, func() {
		q.mu.Lock()
		if q.timers[key] == t {
			delete(q.timers, key)
		}
		q.mu.Unlock()
		q.now(key)
	})
}

// halt has the worker take nothing, or go on.
func (q *queue[K]) halt(isHalted bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.isHalted = isHalted
	q.wake.Broadcast()
}

// reset forgets all keys and failures, as a restart does.
func (q *queue[K]) reset() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, t := range q.timers {
		t.Stop()
	}
	q.keys = nil
	clear(q.queued)
	clear(q.failures)
	clear(q.timers)
}

func (q *queue[K]) close() {
	q.reset()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.isClosed = true
	q.wake.Broadcast()
}
