package memory

import (
	"time"

	"github.com/karmada-target/karmada-mirror/render"
)

// Arrive notes that a user has changed a source.
func (m *Memory) Arrive(id render.Identity, at time.Time) {
	m.changeSource(id, func(s *source) {
		if s.arrived.IsZero() {
			s.arrived = at
		}
	})
}

// IsFresh reports whether a source has a change that no sync has handled: a user waits for it.
func (m *Memory) IsFresh(id render.Identity) bool { return !m.source(id).arrived.IsZero() }

// TakeArrival removes the oldest change of a source for a sync to handle; zero if there is none. A change that arrives
// meanwhile is a new one.
func (m *Memory) TakeArrival(id render.Identity) (at time.Time) {
	m.changeSource(id, func(s *source) { at, s.arrived = s.arrived, time.Time{} })
	return at
}

// ArriveAgain notes a change that a sync has not finished.
func (m *Memory) ArriveAgain(id render.Identity, at time.Time) {
	m.changeSource(id, func(s *source) { s.arrived = at })
}
