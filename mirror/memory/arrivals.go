package memory

import (
	"time"

	"github.com/karmada-target/karmada-mirror/render"
)

// Arrive notes when a change of a source arrived that no sync has handled. Such a source is fresh: a user waits for it.
func (m *Memory) Arrive(id render.Identity, at time.Time) {
	m.changeSource(id, func(s *source) {
		if s.arrived.IsZero() || at.Before(s.arrived) {
			s.arrived = at
		}
	})
}

// IsFresh reports whether a source is fresh.
func (m *Memory) IsFresh(id render.Identity) bool { return !m.source(id).arrived.IsZero() }

// TakeArrival removes the oldest change of a source for a sync to handle. A sync that does not finish
// must note it again; a change that arrives meanwhile is a new one.
func (m *Memory) TakeArrival(id render.Identity) (arrived time.Time, isFresh bool) {
	m.changeSource(id, func(s *source) { arrived, s.arrived = s.arrived, time.Time{} })
	return arrived, !arrived.IsZero()
}
