package gather

import (
	"sync"
	"time"

	"github.com/karmada-target/karmada-mirror/render"
)

// losses remember since when sources have lacked override policies on clusters, by the cache. Each
// loss has a time of its own: one that lasts must not confirm another.
type losses struct {
	mu sync.Mutex
	of map[render.Identity]map[loss]time.Time
}

type loss struct{ cluster, policy string }

// settled returns for how long a source has lacked all these policies, and forgets those that it no
// longer lacks.
func (l *losses) settled(id render.Identity, lost map[string][]string, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil {
		l.of = map[render.Identity]map[loss]time.Time{}
	}
	current, latest := map[loss]time.Time{}, time.Time{}
	for cluster, policies := range lost {
		for _, policy := range policies {
			since, isKnown := l.of[id][loss{cluster, policy}]
			if !isKnown {
				since = now
			}
			current[loss{cluster, policy}] = since
			if since.After(latest) {
				latest = since
			}
		}
	}
	l.of[id] = current
	return now.Sub(latest)
}

// forget forgets a source that lacks none.
func (l *losses) forget(id render.Identity) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.of, id)
}
