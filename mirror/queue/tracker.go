package queue

import (
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/karmada-target/karmada-mirror/render"
)

// tracker records when sources are synced, in addition to the queue itself.
type tracker struct {
	mu sync.Mutex
	// expected are the sources that are scheduled for a later sync, and underWay those that
	// are being synced.
	expected, underWay sets.Set[render.Identity]
	// synced are the sources that were synced since follow; nil if no one follows.
	synced sets.Set[render.Identity]
}

func newTracker() *tracker {
	return &tracker{expected: sets.New[render.Identity](), underWay: sets.New[render.Identity]()}
}

func (d *tracker) expect(id render.Identity) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.expected.Insert(id)
}

// begin notes that a sync has begun.
func (d *tracker) begin(id render.Identity) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.expected.Delete(id)
	d.underWay.Insert(id)
}

// end notes that it has ended.
func (d *tracker) end(id render.Identity) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.underWay.Delete(id)
	if d.synced != nil {
		d.synced.Insert(id)
	}
}

// has reports whether a source is being synced, or will be without another event.
func (d *tracker) has(id render.Identity) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.expected.Has(id) || d.underWay.Has(id)
}

// follow begins to record which sources are synced; read returns them and stops recording.
func (d *tracker) follow() (read func() sets.Set[render.Identity]) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.synced = sets.New[render.Identity]()
	return func() sets.Set[render.Identity] {
		d.mu.Lock()
		defer d.mu.Unlock()
		synced := d.synced
		d.synced = nil
		return synced
	}
}
