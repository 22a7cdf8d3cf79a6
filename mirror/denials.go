package mirror

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// denialPeriod is how long objects of a resource that may not be written wait for a retry.
const denialPeriod = 30 * time.Second

// denials are what may not be written, such as resources, and when that was last found.
type denials[K comparable] struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	of    map[K]time.Time
}

func newDenials[K comparable](c clock.PassiveClock) *denials[K] { return &denials[K]{clock: c} }

// begin notes a denial, and reports whether it is new.
func (d *denials[K]) begin(what K) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, isKnown := d.of[what]
	if d.of == nil {
		d.of = map[K]time.Time{}
	}
	d.of[what] = d.clock.Now()
	return !isKnown
}

// wait returns how long not to try.
func (d *denials[K]) wait(what K) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	at, isKnown := d.of[what]
	if !isKnown {
		return 0
	}
	return max(0, denialPeriod-d.clock.Since(at))
}

func (d *denials[K]) end(what K) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.of, what)
}
