package mirror

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
)

// denialPeriod is how long objects of a resource that may not be written wait for a retry.
const denialPeriod = 30 * time.Second

// denials are the resources whose objects may not be written, and when that was last found.
type denials struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	of    map[schema.GroupResource]time.Time
}

func newDenials(c clock.PassiveClock) *denials { return &denials{clock: c} }

// begin notes a denial, and reports whether it is new.
func (d *denials) begin(r schema.GroupResource) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, isKnown := d.of[r]
	if d.of == nil {
		d.of = map[schema.GroupResource]time.Time{}
	}
	d.of[r] = d.clock.Now()
	return !isKnown
}

// wait returns how long not to try.
func (d *denials) wait(r schema.GroupResource) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	at, isKnown := d.of[r]
	if !isKnown {
		return 0
	}
	return max(0, denialPeriod-d.clock.Since(at))
}

func (d *denials) end(r schema.GroupResource) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.of, r)
}
