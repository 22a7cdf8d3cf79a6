package write

import (
	"time"

	"k8s.io/utils/clock"

	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// strangers are Works that exist but are missing in the cache: refused creates have found
// them.
type strangers struct {
	clock clock.Clock
	by    byWork[strangersAt]
}

// strangersAt are the strangers that a source has met on a cluster, at the two names that its
// own Work may have: the shorter, and the longer.
type strangersAt [2]stranger

type stranger struct {
	work  *state.Work // nil if there is none
	until time.Time
	// told: old need not return its source any more.
	told bool
}

func newStrangers(c clock.Clock) *strangers { return &strangers{clock: c} }

func (s *strangers) note(id render.Identity, cluster string, w *state.Work) {
	s.set(id, cluster, w.Name, stranger{work: w, until: s.clock.Now().Add(AwaitCache)})
}

func (s *strangers) set(id render.Identity, cluster, name string, found stranger) {
	met, _ := s.by.get(id, cluster)
	i := 0
	if name != id.WorkName() {
		i = 1
	}
	met[i] = found
	s.by.set(id, cluster, met)
}

// suspect notes a Work that has left the cache and may still exist, without our label. A
// create looks for it first. old returns its source, so that a replica that has stood by forgets it.
func (s *strangers) suspect(w *state.Work) {
	s.set(w.Source, w.Cluster, w.Name, stranger{work: w}) // it is not known to exist
}

// none is the stranger where there is no Work of that name. One that a binding has taken since has been ours first, so
// it has been in the cache.
var none = stranger{told: true}

func (s *strangers) noteNone(id render.Identity, cluster, name string) {
	s.set(id, cluster, name, none)
}

func (s *strangers) isNone(id render.Identity, cluster string) bool {
	met, _ := s.by.get(id, cluster)
	return met[0] == none
}

// find returns the stranger of that name, however long ago it was found.
func (s *strangers) find(id render.Identity, cluster, name string) (stranger, bool) {
	met, _ := s.by.get(id, cluster)
	for _, found := range met {
		if found.work != nil && found.work.Name == name {
			return found, true
		}
	}
	return stranger{}, false
}

// Stranger returns a Work that is missing in the cache and that a refused create has found
// recently.
func (s *strangers) Stranger(id render.Identity, cluster, name string) (*state.Work, bool) {
	found, ok := s.find(id, cluster, name)
	if !ok || !s.clock.Now().Before(found.until) {
		return nil, false
	}
	return found.work, true
}

// has reports whether a stranger has been found, however long ago.
func (s *strangers) has(id render.Identity, cluster, name string) bool {
	_, ok := s.find(id, cluster, name)
	return ok
}

func (s *strangers) isOld(found stranger) bool {
	return found.work != nil && !s.clock.Now().Before(found.until)
}

// oldOf returns the strangers of a source that must be read again.
func (s *strangers) oldOf(id render.Identity) (works []*state.Work) {
	s.by.has(id, func(met strangersAt) bool {
		for _, found := range met {
			if s.isOld(found) {
				works = append(works, found.work)
			}
		}
		return false
	})
	return works
}

// old returns, once each, the sources of the strangers that must be read again.
func (s *strangers) old() []render.Identity {
	var sources []render.Identity
	s.by.each(func(id render.Identity, met *strangersAt) {
		tells := false
		for i := range met {
			if s.isOld(met[i]) && !met[i].told {
				met[i].told, tells = true, true
			}
		}
		if tells {
			sources = append(sources, id)
		}
	})
	return sources
}
