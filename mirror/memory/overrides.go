package memory

import (
	"time"

	"github.com/karmada-target/karmada-mirror/render"
)

// loss is an override policy that a source lacks on a cluster. Each has a time of its own: one that lasts must not confirm
// another. isLive: a live list has shown it, beside what the cache shows.
type loss struct {
	cluster, policy string
	isLive          bool
}

// Lost returns for how long a source has lacked all these policies, and forgets those that it no
// longer lacks.
func (m *Memory) Lost(id render.Identity, lost map[string][]string, isLive bool) time.Duration {
	now, latest := m.clock.Now(), time.Time{}
	m.changeSource(id, func(s *source) {
		current := map[loss]time.Time{}
		for l, since := range s.lost {
			if l.isLive != isLive {
				current[l] = since
			}
		}
		for cluster, policies := range lost {
			for _, policy := range policies {
				l := loss{cluster, policy, isLive}
				since, isKnown := s.lost[l]
				if !isKnown {
					since = now
				}
				if current[l] = since; since.After(latest) {
					latest = since
				}
			}
		}
		s.lost = current
	})
	return now.Sub(latest)
}

// ClearLoss notes that a source lacks none.
func (m *Memory) ClearLoss(id render.Identity) {
	m.changeSource(id, func(s *source) { s.lost = nil })
}
