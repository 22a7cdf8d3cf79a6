package queue

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/karmada-target/karmada-mirror/mirror/memory"
	"github.com/karmada-target/karmada-mirror/render"
)

// slowSync is how long a sync takes that fails slowly: it has waited for requests without an answer, and so will the next one.
const slowSync = 5 * time.Second

// tracker records when sources are synced, and which syncs fail, in addition to the queue itself.
type tracker struct {
	mu sync.Mutex
	// expected are the sources that are scheduled for a later sync, and underWay those that
	// are being synced.
	expected sets.Set[render.Identity]
	underWay map[render.Identity]turn
	// failing are the sources whose last sync has failed. No more than maxSlow of those that fail slowly are synced at once: the
	// others are waiting.
	failing               map[render.Identity]failure
	waiting               sets.Set[render.Identity]
	slowUnderWay, maxSlow int
}

// turn is a sync that is under way.
type turn struct {
	began  time.Time
	isSlow bool
}

// failure is since when a source fails, and whether slowly: a share of failed syncs hides the users who wait, because
// the backoff makes failures rare among syncs that have nothing to write.
type failure struct {
	since  time.Time
	isSlow bool
}

func newTracker(workers int) *tracker {
	return &tracker{expected: sets.Set[render.Identity]{}, waiting: sets.Set[render.Identity]{}, underWay: map[render.Identity]turn{},
		failing: map[render.Identity]failure{}, maxSlow: max(1, workers/2)}
}

func (d *tracker) expect(id render.Identity) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.expected.Insert(id)
}

// begin notes that a sync begins, or else that it waits for the end of another one.
func (d *tracker) begin(id render.Identity) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	isSlow := d.failing[id].isSlow
	if isSlow && d.slowUnderWay == d.maxSlow {
		d.waiting.Insert(id)
		return false
	}
	if isSlow {
		d.slowUnderWay++
	}
	d.expected.Delete(id)
	d.waiting.Delete(id)
	d.underWay[id] = turn{time.Now(), isSlow}
	return true
}

// fail notes that the sync that is under way has failed.
func (d *tracker) fail(id render.Identity) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f, isKnown := d.failing[id]
	if !isKnown {
		f.since = time.Now()
	}
	f.isSlow = time.Since(d.underWay[id].began) >= slowSync
	d.failing[id] = f
}

// succeed notes that it has not.
func (d *tracker) succeed(id render.Identity) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.failing, id)
}

// end notes that it has ended, and returns a source that has waited for that.
func (d *tracker) end(id render.Identity) (next render.Identity, waits bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.underWay[id].isSlow {
		d.slowUnderWay--
		next, waits = d.waiting.PopAny()
	}
	delete(d.underWay, id)
	return next, waits
}

func (d *tracker) isSlow(id render.Identity) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failing[id].isSlow
}

// has reports whether a source is being synced, or will be without another event.
func (d *tracker) has(id render.Identity) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, isUnderWay := d.underWay[id]
	return isUnderWay || d.expected.Has(id) || d.waiting.Has(id)
}

// fails counts the sources that fail, and returns since when one of them has.
func (d *tracker) fails() (n int, since time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, f := range d.failing {
		if since.IsZero() || f.since.Before(since) {
			since = f.since
		}
	}
	return len(d.failing), since
}

// prune frees the memory that maps keep for deleted entries.
func (d *tracker) prune() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.expected, d.underWay, d.failing = memory.Shrink(d.expected), memory.Shrink(d.underWay), memory.Shrink(d.failing)
}
