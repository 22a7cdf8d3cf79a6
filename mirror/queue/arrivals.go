package queue

import (
	"sync"
	"time"

	"github.com/karmada-target/karmada-mirror/render"
)

// Arrivals remember when the oldest change of a source came that no sync has seen
// to. What is in them is fresh: somebody waits for it.
type Arrivals struct {
	mu sync.Mutex
	at map[render.Identity]time.Time
}

// Note adds a change of a source.
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

// Take removes the change of a source that a sync sees to. Whoever does not finish
// notes it again: what comes meanwhile is another.
func (a *Arrivals) Take(id render.Identity) (time.Time, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at, ok := a.at[id]
	delete(a.at, id)
	return at, ok
}

// Prune gives back the room that a map keeps for what it once held.
func (a *Arrivals) Prune() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.at = shrunk(a.at)
}
