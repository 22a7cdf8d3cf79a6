package memory

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/mirror/state"
)

// Orphaning returns since when Karmada has been parting a Work from its object: now, if that was not known.
func (m *Memory) Orphaning(of *state.Work) (since time.Time) {
	m.change(of.Source, of.Cluster, func(w *work) {
		if w.orphaning.work != of.UID {
			w.orphaning = orphaning{of.UID, m.clock.Now()}
		}
		since = w.orphaning.since
	})
	return since
}

// EndOrphaning notes that Karmada cannot part a Work from its object now.
func (m *Memory) EndOrphaning(of *state.Work) {
	m.change(of.Source, of.Cluster, func(w *work) { w.orphaning = orphaning{} })
}

// orphaning is a Work that Karmada parts from its object, and since when.
type orphaning struct {
	work  types.UID
	since time.Time
}
