package memory

import (
	"time"

	"github.com/karmada-target/karmada-mirror/render"
)

// Arrival is a change of a source that no sync has handled: when it arrived, and how many syncs have failed since. The zero value
// is none.
type Arrival struct {
	At       time.Time
	Failures int
}

// FreshFailures is how often syncs may fail until what they handle is retried like a backfill: requests that hang, for a few
// dozen sources, would hold up all other changes.
const FreshFailures = 2

// IsFresh reports whether a user waits for the change.
func (a Arrival) IsFresh() bool { return !a.At.IsZero() && a.Failures < FreshFailures }

// Arrive notes that a user has changed a source.
func (m *Memory) Arrive(id render.Identity, at time.Time) {
	m.changeSource(id, func(s *source) {
		if s.arrived.Failures = 0; s.arrived.At.IsZero() {
			s.arrived.At = at
		}
	})
}

// IsFresh reports whether a source has a change for which a user waits.
func (m *Memory) IsFresh(id render.Identity) bool { return m.source(id).arrived.IsFresh() }

// TakeArrival removes the oldest change of a source for a sync to handle. A change that arrives meanwhile is a new one.
func (m *Memory) TakeArrival(id render.Identity) (a Arrival) {
	m.changeSource(id, func(s *source) { a, s.arrived = s.arrived, Arrival{} })
	return a
}

// ArriveAgain notes a change that a sync has not finished.
func (m *Memory) ArriveAgain(id render.Identity, a Arrival) {
	m.changeSource(id, func(s *source) {
		if !s.arrived.At.IsZero() {
			a.Failures = s.arrived.Failures
		}
		s.arrived = a
	})
}
