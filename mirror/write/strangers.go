package write

import (
	"time"

	"k8s.io/utils/clock"

	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// strangers are Works that are there and not in the cache: a refused creation has found
// them.
type strangers struct {
	clock clock.Clock
	by    byWork[stranger]
}

type stranger struct {
	work  *state.Work
	until time.Time
	// told: that it has to be looked at anew.
	told bool
}

func newStrangers(c clock.Clock) *strangers { return &strangers{clock: c} }

func (s *strangers) note(id render.Identity, cluster string, w *state.Work) {
	s.by.set(id, cluster, stranger{work: w, until: s.clock.Now().Add(AwaitCache)})
}

// Stranger is a Work that is not in the cache and that a refused creation has found lately.
func (s *strangers) Stranger(id render.Identity, cluster string) (*state.Work, bool) {
	found, ok := s.by.get(id, cluster)
	if !ok || !s.clock.Now().Before(found.until) {
		return nil, false
	}
	return found.work, true
}

// has reports whether one has been found, however long ago.
func (s *strangers) has(id render.Identity, cluster string) bool {
	_, ok := s.by.get(id, cluster)
	return ok
}

// old lists, once, the sources of those that have to be looked at anew.
func (s *strangers) old() []render.Identity {
	now := s.clock.Now()
	var sources []render.Identity
	s.by.each(func(id render.Identity, found *stranger) {
		if !now.Before(found.until) && !found.told {
			found.told = true
			sources = append(sources, id)
		}
	})
	return sources
}
