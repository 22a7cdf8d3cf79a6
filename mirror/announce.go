package mirror

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/render"
)

// EventsPerSecond limits how fast Events about sources are recorded. client-go's recorder
// queues a thousand and silently drops the rest, and one mistake in a Namespace or one
// cluster that leaves may affect more objects.
const EventsPerSecond = 50

// announcement is a refusal that has not been reported to the source's owner yet.
type announcement struct {
	of      *refused // where it is in force; nil to report it in any case
	id      render.Identity
	about   *corev1.ObjectReference
	refusal judge.Refusal
}

// announcements is the list of those that wait to be recorded.
type announcements struct {
	mu      sync.Mutex
	waiting []announcement
	some    chan struct{}
}

func newAnnouncements() *announcements { return &announcements{some: make(chan struct{}, 1)} }

func (a *announcements) add(next announcement) {
	a.mu.Lock()
	a.waiting = append(a.waiting, next)
	a.mu.Unlock()
	select {
	case a.some <- struct{}{}:
	default:
	}
}

// take removes and returns all waiting announcements.
func (a *announcements) take() []announcement {
	a.mu.Lock()
	defer a.mu.Unlock()
	waiting := a.waiting
	a.waiting = nil
	return waiting
}

// eventType returns the type of Events with a reason.
func eventType(r judge.Reason) string {
	if r == judge.NamespaceUnprotected {
		return corev1.EventTypeNormal
	}
	return corev1.EventTypeWarning
}

// announce records Events until ctx is done. It skips refusals that are no longer in force.
func (c *Controller) announce(ctx context.Context) {
	limit := rate.NewLimiter(EventsPerSecond, EventsPerSecond)
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.announcements.some:
		}
		for _, next := range c.announcements.take() {
			if next.of != nil && !next.of.isInForce(next.id, next.refusal) {
				continue
			}
			if limit.Wait(ctx) != nil {
				return
			}
			c.Recorder.Event(next.about, eventType(next.refusal.Reason), string(next.refusal.Reason), fmt.Sprintf("%.*s", maxEventMessage, next.refusal.Event()))
		}
	}
}
