package mirror

import (
	"maps"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/karmada-target/karmada-mirror/metrics"
	"github.com/karmada-target/karmada-mirror/render"
)

const (
	// denialPeriod is how long objects of a resource that may not be written wait for a retry.
	denialPeriod = 30 * time.Second
	// denialEnds is when an object waits no longer that has not come back for it: what was to be written may be
	// right meanwhile, or no longer asked for.
	denialEnds = 3 * denialPeriod
	// toldPeriod is how often a denial that lasts is reported.
	toldPeriod = time.Hour
)

// denials are what may not be written, such as resources, and the sources that wait for that.
type denials[K comparable] struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	of    map[K]*denial
}

type denial struct {
	// since is when it began, last when it was last found, and told when it was last reported.
	since, last, told time.Time
	// waiting says when each source last came back for it.
	waiting map[render.Identity]time.Time
}

func newDenials[K comparable](c clock.PassiveClock) *denials[K] {
	return &denials[K]{clock: c, of: map[K]*denial{}}
}

// begin notes a denial, and reports whether it is to be reported: when it is new, and then now and again.
func (d *denials[K]) begin(what K, id render.Identity) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.prune()
	now, at := d.clock.Now(), d.of[what]
	if at == nil {
		at = &denial{since: now, waiting: map[render.Identity]time.Time{}}
		d.of[what] = at
	}
	tell := now.Sub(at.told) >= toldPeriod
	if at.last, at.waiting[id] = now, now; tell {
		at.told = now
	}
	return tell
}

// wait returns how long a source is not to try.
func (d *denials[K]) wait(what K, id render.Identity) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := d.of[what]
	if at == nil {
		return 0
	}
	now := d.clock.Now()
	at.waiting[id] = now
	return max(0, denialPeriod-now.Sub(at.last))
}

func (d *denials[K]) end(what K) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.of, what)
}

// failing counts the sources that wait.
func (d *denials[K]) failing() (all metrics.Failing) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.prune()
	for _, at := range d.of {
		all = all.With(metrics.Failing{Sources: len(at.waiting), Since: at.since})
	}
	return all
}

func (d *denials[K]) prune() {
	now := d.clock.Now()
	maps.DeleteFunc(d.of, func(_ K, at *denial) bool {
		maps.DeleteFunc(at.waiting, func(_ render.Identity, last time.Time) bool { return now.Sub(last) > denialEnds })
		return len(at.waiting) == 0
	})
}
