package write

import (
	"maps"
	"slices"
	"time"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// place is a resource in a Namespace.
type place struct{ resource, namespace string }

// Suspect notes that the last leader may have held deletions whose Works it could not mark.
func (b *Breaker) Suspect() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.suspects, b.suspicious = map[place]time.Time{}, b.clock.Now()
}

// Judged notes that it is known which deletions of a source with some Works in a Namespace are due. From then on, suspicion
// lasts ten minutes there.
func (b *Breaker) Judged(resource, namespace string, works map[string]*state.Work) {
	b.mu.Lock()
	defer b.mu.Unlock()
	in := place{resource, namespace}
	mayHaveHeld := slices.ContainsFunc(slices.Collect(maps.Values(works)), b.mayHaveHeldLocked)
	if until, isKnown := b.suspects[in]; until.IsZero() && (isKnown || mayHaveHeld) {
		b.suspects[in] = b.clock.Now().Add(breakerWindow)
	}
}

// IsSuspect reports whether what is due of a resource may have been held by the last leader, and whether some of it has been judged.
func (b *Breaker) IsSuspect(resource string) (isSuspect, isJudged bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for in, until := range b.suspects {
		isJudged = isJudged || in.resource == resource && !until.IsZero()
		isSuspect = isSuspect || in.resource == resource && b.clock.Now().Before(until)
	}
	return isSuspect || !isJudged && !b.suspicious.IsZero(), isJudged
}

// BecameSuspicious reports whether the last leader was replaced so recently that not all may have been judged.
func (b *Breaker) BecameSuspicious() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.suspicious.IsZero() && b.clock.Since(b.suspicious) < breakerWindow
}

// isSuspectLocked reports whether the deletion of a Work may have been held.
func (b *Breaker) isSuspectLocked(resource string, w *state.Work) bool {
	until, isKnown := b.suspects[place{resource, w.Source.Namespace}]
	if !b.suspicious.IsZero() && !b.mayHaveHeldLocked(w) {
		return false
	}
	if !until.IsZero() {
		return b.clock.Now().Before(until)
	}
	return isKnown || !b.suspicious.IsZero()
}

// MayHaveHeld reports whether the last leader, if there is suspicion, may have held the deletion of a Work. That of a younger
// source it cannot.
func (b *Breaker) MayHaveHeld(w *state.Work) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mayHaveHeldLocked(w)
}

func (b *Breaker) mayHaveHeldLocked(w *state.Work) bool {
	return !b.suspicious.IsZero() && !w.SourceCreated().After(b.suspicious.Add(config.MaxClockSkew))
}

// holdsUnmarkedLocked reports whether a deletion of a source is held although its Work has no mark.
func (b *Breaker) holdsUnmarkedLocked(resource string, source render.Identity) bool {
	p, isPending := b.circuitLocked(resource).parts[source.Namespace]
	return isPending && slices.ContainsFunc(slices.Collect(maps.Values(p.pending[source])), pending.isUnmarked)
}

// Unmarked counts the deletions that are held although their Works have no mark, by resource.
func (b *Breaker) Unmarked() map[string]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := map[string]int{}
	for resource, c := range b.circuits {
		for _, p := range c.parts {
			for _, proposed := range p.pending {
				for _, d := range proposed {
					if d.isUnmarked() {
						n[resource]++
					}
				}
			}
		}
	}
	return n
}
