package queue

import (
	"sync"
	"time"

	"github.com/karmada-target/karmada-mirror/mirror/memory"
	"github.com/karmada-target/karmada-mirror/render"
)

// Arrivals remember, for each source, when its oldest change arrived that no sync has
// handled. These sources are fresh: a user waits for them.
type Arrivals struct {
	mu sync.Mutex
	at map[render.Identity]time.Time
}

// Note records a change of a source.
func (a *Arrivals) Note(id render.Identity, at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.at == nil {
		a.at = map[render.Identity]time.Time{}
	}
	if earlier, ok := a.at[id]; !ok || at.Before(earlier) {
		a.at[id] = at
	}
}

// Has reports whether a source is fresh.
func (a *Arrivals) Has(id render.Identity) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, ok := a.at[id]
	return ok
}

// Take removes the change of a source for a sync to handle. A sync that does not finish
// must note it again; a change that arrives meanwhile is a new one.
func (a *Arrivals) Take(id render.Identity) (time.Time, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at, ok := a.at[id]
	delete(a.at, id)
	return at, ok
}

// Prune frees the memory that the map keeps for deleted entries.
func (a *Arrivals) Prune() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.at = memory.Shrink(a.at)
}
