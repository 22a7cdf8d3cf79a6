package memory

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/mirror/state"
)

// Orphaning returns since when Karmada has been separating a Work from its object: now, if that is not known.
func (m *Memory) Orphaning(of *state.Work, now time.Time) (since time.Time) {
	return m.read(of.Source, of.Cluster).orphaning.then(of, now).since
}

// orphaning is a Work that Karmada parts from its object, and since when.
type orphaning struct {
	work  types.UID
	since time.Time
}

func (o orphaning) then(w *state.Work, now time.Time) orphaning {
	if o.work != w.UID {
		return orphaning{w.UID, now}
	}
	return o
}
