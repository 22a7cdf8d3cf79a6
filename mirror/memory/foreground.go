package memory

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/render"
)

// pending is the last notice about a deletion that waits for Works, and when it was made.
type pending struct {
	judge.Refusal
	at time.Time
}

// Pending returns the notice about a deletion that waits for Works: the last one, if it was made within a period.
func (m *Memory) Pending(id render.Identity, now judge.Refusal, period time.Duration) (notice judge.Refusal) {
	m.changeSource(id, func(s *source) {
		if s.pending == nil || m.clock.Since(s.pending.at) >= period {
			s.pending = &pending{now, m.clock.Now()}
		}
		notice = s.pending.Refusal
	})
	return notice
}

// EndPending notes that no deletion of a source waits.
func (m *Memory) EndPending(id render.Identity) {
	m.changeSource(id, func(s *source) { s.pending = nil })
}

// Departure is an object that had our finalizer when it left the configuration: it must be removed, since no daemon would
// delete its Works. Standbys remember them too, in case that the leader does not get to it.
type Departure struct {
	Resource schema.GroupVersionResource
	UID      types.UID
	At       time.Time
	// IsLate: another replica led for long after it left, and should have removed it.
	IsLate bool
}

// Depart notes objects that have left the configuration.
func (m *Memory) Depart(left map[render.Identity]Departure) {
	for id, departure := range left {
		m.changeSource(id, func(s *source) { s.departed = &departure })
	}
}

// Departure returns when an object has left; nil if it has not, or came back.
func (m *Memory) Departure(id render.Identity) *Departure { return m.source(id).departed }

// Departures returns all that have left.
func (m *Memory) Departures() map[render.Identity]Departure {
	return m.departures(func(s *source) *Departure { return s.departed })
}

// Returned notes that an object has lost our finalizer, or came back.
func (m *Memory) Returned(id render.Identity) {
	m.changeSource(id, func(s *source) { s.departed = nil })
}

// AgeDepartures marks what left before a time as late.
func (m *Memory) AgeDepartures(before time.Time) {
	m.sources(func(_ render.Identity, s *source) {
		if s.departed != nil && s.departed.At.Before(before) {
			late := *s.departed
			late.IsLate, s.departed = true, &late
		}
	})
}

// SetFinalizer notes that our finalizer was set on an object, until the watch shows it or it has left without it.
func (m *Memory) SetFinalizer(id render.Identity, at Departure) {
	m.changeSource(id, func(s *source) { s.finalizer = &at })
}

// ShownFinalizer notes that the watch has shown it.
func (m *Memory) ShownFinalizer(id render.Identity) {
	m.changeSource(id, func(s *source) { s.finalizer = nil })
}

// UnshownFinalizers returns the objects of which it has not, and when it was set.
func (m *Memory) UnshownFinalizers() map[render.Identity]Departure {
	return m.departures(func(s *source) *Departure { return s.finalizer })
}

func (m *Memory) departures(of func(*source) *Departure) map[render.Identity]Departure {
	all := map[render.Identity]Departure{}
	m.sources(func(id render.Identity, s *source) {
		if d := of(s); d != nil {
			all[id] = *d
		}
	})
	return all
}
