package memory

import "time"

const (
	// wakesAge is how long a wake is remembered: after that, nothing waits for the cluster any
	// more, according to gather.Caches.RecoveryOf.
	wakesAge = 20 * time.Minute
	// eventsPeriod is how often client-go writes an Event about an object of which there were many
	// (defaultSpamQPS in tools/record/events_cache.go, v0.35.4).
	eventsPeriod = 5 * time.Minute
)

// wake is for which recovery of its cluster a Work has been woken, so that it is woken once. Whether a Work still waits is
// decided by times of the API server and of the cluster, whose clocks may differ.
type wake struct {
	write
	until time.Time
}

// rests returns for how long a Work that has been woken for an Event of Karmada is not woken for another:
// Karmada's client drops those about one object past 25, and then writes one in this time.
func (k *wake) rests(now time.Time) time.Duration {
	return k.until.Add(eventsPeriod - wakesAge).Sub(now)
}
