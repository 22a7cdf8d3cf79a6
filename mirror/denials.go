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
	of    map[K]denial
}

// denial is since when something has been denied, when that was last found, and when it was last reported.
type denial struct{ since, last, told time.Time }

func newDenials[K comparable](c clock.PassiveClock) *denials[K] { return &denials[K]{clock: c} }

// toldPeriod is how often a denial that lasts is reported.
const toldPeriod = time.Hour

// begin notes a denial, and reports whether it is to be reported: when it is new, and then now and again.
func (d *denials[K]) begin(what K) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.of == nil {
		d.of = map[K]denial{}
	}
	now, at := d.clock.Now(), d.of[what]
	if at.since.IsZero() {
		at.since = now
	}
	tell := now.Sub(at.told) >= toldPeriod
	if at.last = now; tell {
		at.told = now
	}
	d.of[what] = at
	return tell
}

// since returns since when something has been denied; zero if it is not.
func (d *denials[K]) since(what K) time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.of[what].since
}

// wait returns how long not to try.
func (d *denials[K]) wait(what K) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	at, isKnown := d.of[what]
	if !isKnown {
		return 0
	}
	return max(0, denialPeriod-d.clock.Since(at.last))
}

func (d *denials[K]) end(what K) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.of, what)
}
