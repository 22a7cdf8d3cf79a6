package memory

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// strangers are Works that exist but are missing in the cache: refused creates have found them, at the two names that
// the own Work of a source may have, the shorter, and the longer. Do not change them.
type strangers [2]stranger

type stranger struct {
	work  *state.Work // nil if there is none
	until time.Time
	// pause is how long after it was found it is read again: longer each time, since one that is being deleted is gone soon.
	pause time.Duration
	// returned: old need not return its source any more.
	returned bool
}

// none is the stranger where there is no Work of that name. One that a binding has taken since has been ours first, so
// it has been in the cache.
var none = stranger{returned: true}

// have reports whether a Work is one of them.
func (s *strangers) have(uid types.UID) bool {
	return s != nil && slices.ContainsFunc(s[:], func(found stranger) bool { return found.work != nil && found.work.UID == uid })
}

// Meet notes a Work that a refused create has found.
func (m *Memory) Meet(id render.Identity, cluster string, w *state.Work) {
	pause := AwaitCache / 10
	if met, ok := m.find(id, cluster, w.Name); ok && met.work.UID == w.UID {
		pause = min(max(pause, 2*met.pause), AwaitCache)
	}
	m.setStranger(id, cluster, w.Name, stranger{work: w, until: m.clock.Now().Add(pause), pause: pause})
}

// MeetNone notes that there is no Work of that name.
func (m *Memory) MeetNone(id render.Identity, cluster, name string) {
	m.setStranger(id, cluster, name, none)
}

// Left notes that a Work has left the cache: it was deleted, or has lost our label. If it has Karmada's name, it is in the
// way when we create the Work again, so a create looks for it first; one with the longer name would not be. Overdue returns
// its source, so that a replica that has stood by forgets it.
func (m *Memory) Left(w *state.Work) {
	if w.IsLong() && w.Foreign == "" {
		m.setStranger(w.Source, w.Cluster, w.Name, stranger{work: w}) // it is not known to exist
	}
}

func (m *Memory) setStranger(id render.Identity, cluster, name string, found stranger) {
	m.change(id, cluster, func(w *work) {
		met := strangers{}
		if w.strangers != nil {
			met = *w.strangers
		}
		if name == id.WorkName() {
			met[0] = found
		} else {
			met[1] = found
		}
		w.strangers = &met
	})
}

// HasMetNone reports whether there is no Work of Karmada's name.
func (m *Memory) HasMetNone(id render.Identity, cluster string) bool {
	met := m.read(id, cluster).strangers
	return met != nil && met[0] == none
}

// find returns the stranger of that name, however long ago it was found.
func (m *Memory) find(id render.Identity, cluster, name string) (stranger, bool) {
	if met := m.read(id, cluster).strangers; met != nil {
		for _, found := range met {
			if found.work != nil && found.work.Name == name {
				return found, true
			}
		}
	}
	return stranger{}, false
}

// Stranger returns a Work that is missing in the cache and that a refused create has found
// recently.
func (m *Memory) Stranger(id render.Identity, cluster, name string) (*state.Work, bool) {
	found, ok := m.find(id, cluster, name)
	if !ok || !m.clock.Now().Before(found.until) {
		return nil, false
	}
	return found.work, true
}

// HasMet reports whether a stranger has been found, however long ago.
func (m *Memory) HasMet(id render.Identity, cluster, name string) bool {
	_, ok := m.find(id, cluster, name)
	return ok
}

// FindsAgain reports whether a stranger on a cluster will be read again, since Overdue has yet to return its source.
func (m *Memory) FindsAgain(id render.Identity, cluster string) bool {
	met := m.read(id, cluster).strangers
	return met != nil && slices.ContainsFunc(met[:], func(found stranger) bool { return found.work != nil && !found.returned })
}

func (s stranger) isOld(now time.Time) bool { return s.work != nil && !now.Before(s.until) }

// OldStrangers returns the strangers of a source that must be read again.
func (m *Memory) OldStrangers(id render.Identity) (works []*state.Work) {
	now := m.clock.Now()
	m.each(id, func(_ string, w *work) {
		if w.strangers == nil {
			return
		}
		for _, found := range w.strangers {
			if found.isOld(now) {
				works = append(works, found.work)
			}
		}
	})
	return works
}

// old returns, once each, the sources of the strangers that must be read again.
func (m *Memory) old() (sources []render.Identity) {
	now := m.clock.Now()
	m.all(func(id render.Identity, _ string, w *work) {
		if w.strangers == nil {
			return
		}
		met := *w.strangers
		for i := range met {
			met[i].returned = met[i].returned || met[i].isOld(now)
		}
		if met != *w.strangers {
			w.strangers = &met
			sources = append(sources, id)
		}
	})
	return sources
}
