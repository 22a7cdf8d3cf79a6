package queue

import (
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/karmada-target/karmada-mirror/render"
)

// diary is what is known of when sources are synced, besides the queue itself.
type diary struct {
	mu sync.Mutex
	// expected are those that will be synced when a time has come, and underWay those
	// that are being synced.
	expected, underWay sets.Set[render.Identity]
	// synced are those that were since somebody asked; nil if nobody does.
	synced sets.Set[render.Identity]
}

func newDiary() *diary {
	return &diary{expected: sets.New[render.Identity](), underWay: sets.New[render.Identity]()}
}

func (d *diary) expect(id render.Identity) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.expected.Insert(id)
}

// begin notes that a sync has begun.
func (d *diary) begin(id render.Identity) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.expected.Delete(id)
	d.underWay.Insert(id)
}

// end notes that it has ended.
func (d *diary) end(id render.Identity) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.underWay.Delete(id)
	if d.synced != nil {
		d.synced.Insert(id)
	}
}

// has reports whether a source is being synced, or will be without an event.
func (d *diary) has(id render.Identity) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.expected.Has(id) || d.underWay.Has(id)
}

// follow begins to note what is synced, and read returns that and ends it.
func (d *diary) follow() (read func() sets.Set[render.Identity]) {
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
