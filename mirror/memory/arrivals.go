package memory

import (
	"time"

	"github.com/karmada-target/karmada-mirror/render"
)

// Arrival is when a change arrived that no sync has handled, and whether one has failed; the zero value is none.
type Arrival struct {
	At     time.Time
	Failed bool
}

// freshPeriod is how long a change that fails goes before others. Then it is retried like a backfill: requests that hang, for a
// few dozen sources, would hold up all other changes.
const freshPeriod = 30 * time.Second

func (m *Memory) isFresh(a Arrival) bool {
	return !a.At.IsZero() && (!a.Failed || m.clock.Since(a.At) < freshPeriod)
}

// Arrive notes that a user has changed a source.
func (m *Memory) Arrive(id render.Identity, at time.Time) {
	m.changeSource(id, func(s *source) {
		if s.arrived.Failed = false; s.arrived.At.IsZero() {
			s.arrived.At = at
		}
	})
}

// IsFresh reports whether a source has a change for which a user waits.
func (m *Memory) IsFresh(id render.Identity) bool { return m.isFresh(m.source(id).arrived) }

// TakeArrival removes the oldest change of a source for a sync to handle. A change that arrives meanwhile is a new one.
func (m *Memory) TakeArrival(id render.Identity) (a Arrival, isFresh bool) {
	m.changeSource(id, func(s *source) { a, s.arrived = s.arrived, Arrival{} })
	return a, m.isFresh(a)
}

// ArriveAgain notes a change that a sync has not finished.
func (m *Memory) ArriveAgain(id render.Identity, a Arrival) {
	m.changeSource(id, func(s *source) {
		if !s.arrived.At.IsZero() {
			a.Failed = s.arrived.Failed
		}
		s.arrived = a
	})
}
