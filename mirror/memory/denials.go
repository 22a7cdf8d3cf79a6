package memory

import (
	"maps"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/render"
)

// toldPeriod is how often a denial that lasts is reported.
const toldPeriod = time.Hour

// Denials are what may not be written, such as resources, and the sources that wait for that.
type Denials[K comparable] struct {
	clock clock.PassiveClock
	// period is how long a source waits for a retry. One that has not come back after three no longer waits: what was
	// to be written may be right meanwhile, or no longer asked for.
	period time.Duration
	mu     sync.Mutex
	of     map[K]*denial
}

type denial struct {
	// since is when it began, last when it was last found, told when it was last reported, and why what denies it.
	since, last, told time.Time
	why               *judge.Refusal
	// waiting says when each source last came back for it.
	waiting map[render.Identity]time.Time
}

// NewDenials returns empty Denials.
func NewDenials[K comparable](c clock.PassiveClock, period time.Duration) *Denials[K] {
	return &Denials[K]{clock: c, period: period, of: map[K]*denial{}}
}

// Begin notes a denial, and reports whether it is to be reported: when it is new, and then now and again.
func (d *Denials[K]) Begin(what K, id render.Identity, why *judge.Refusal) bool {
	return d.BeginAt(d.clock.Now(), what, id, why)
}

// BeginAt is Begin for a denial that lasts since a time.
func (d *Denials[K]) BeginAt(since time.Time, what K, id render.Identity, why *judge.Refusal) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.prune()
	now, at := d.clock.Now(), d.of[what]
	if at == nil {
		at = &denial{since: since, waiting: map[render.Identity]time.Time{}}
		d.of[what] = at
	}
	tell := now.Sub(at.told) >= toldPeriod
	if at.last, at.why, at.waiting[id] = now, why, now; tell {
		at.told = now
	}
	return tell
}

// Wait returns how long a source is not to try, and why; 0 and nil if it may.
func (d *Denials[K]) Wait(what K, id render.Identity) (time.Duration, *judge.Refusal) {
	d.mu.Lock()
	defer d.mu.Unlock()
	at, now := d.of[what], d.clock.Now()
	if at == nil {
		return 0, nil
	}
	at.waiting[id] = now
	if left := d.period - now.Sub(at.last); left > 0 {
		return left, at.why
	}
	return 0, nil
}

// End notes that something is no longer denied.
func (d *Denials[K]) End(what K) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.of, what)
}

// Failing counts the sources that wait, and returns since when one of them has.
func (d *Denials[K]) Failing() (n int, since time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.prune()
	for _, at := range d.of {
		if n += len(at.waiting); since.IsZero() || at.since.Before(since) {
			since = at.since
		}
	}
	return n, since
}

// Some reports whether a source waits.
func (d *Denials[K]) Some() bool {
	n, _ := d.Failing()
	return n > 0
}

func (d *Denials[K]) prune() {
	now := d.clock.Now()
	maps.DeleteFunc(d.of, func(_ K, at *denial) bool {
		maps.DeleteFunc(at.waiting, func(_ render.Identity, last time.Time) bool { return now.Sub(last) > 3*d.period })
		return len(at.waiting) == 0
	})
}
