package write

import (
	"time"

	"k8s.io/utils/clock"

	"github.com/karmada-target/karmada-mirror/render"
)

// wakesAge is how long a wake is remembered: after that, nothing waits for the cluster any
// more, according to gather.Caches.RecoveryOf.
const wakesAge = 20 * time.Minute

// eventsPeriod is how often client-go writes an Event about an object of which there were many
// (defaultSpamQPS in tools/record/events_cache.go, v0.35.4).
const eventsPeriod = 5 * time.Minute

// wakes records which Works have been woken for which recovery of their cluster, so that each
// is woken once. Whether a Work still waits is decided by times of the API server and of the
// cluster, whose clocks may differ.
type wakes struct {
	clock clock.Clock
	by    byWork[wake]
}

type wake struct {
	write
	until time.Time
}

func newWakes(c clock.Clock) *wakes { return &wakes{clock: c} }

func (k *wakes) note(id render.Identity, cluster string, w write) {
	k.by.set(id, cluster, wake{w, k.clock.Now().Add(wakesAge)})
}

// has reports whether the same Work has been woken for the same recovery.
func (k *wakes) has(id render.Identity, cluster string, w write) bool {
	last, ok := k.by.get(id, cluster)
	return ok && last.write == w
}

// rests returns for how long a Work that has been woken for an Event of Karmada is not woken for another:
// Karmada's client drops those about one object past 25, and then writes one in this time.
func (k *wakes) rests(id render.Identity, cluster string) time.Duration {
	last, _ := k.by.get(id, cluster)
	return last.until.Add(eventsPeriod - wakesAge).Sub(k.clock.Now())
}

// prune drops what is over, and frees its memory.
func (k *wakes) prune() {
	now := k.clock.Now()
	k.by.take(func(last wake) bool { return !now.Before(last.until) })
	k.by.prune()
}
