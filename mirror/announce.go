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

// EventsPerSecond is how fast Events about sources are recorded. client-go's recorder
// drops what it cannot send in time beyond the first thousand, without a word, and one
// mistake in a Namespace or a cluster that leaves may concern more objects.
const EventsPerSecond = 50

// announcement is a refusal that its source's owner has not been told of yet.
type announcement struct {
	of      *refused // where it is in force; nil if it is told in any case
	id      render.Identity
	about   *corev1.ObjectReference
	refusal judge.Refusal
}

// announcements are those that wait for their turn.
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

// take returns all that wait.
func (a *announcements) take() []announcement {
	a.mu.Lock()
	defer a.mu.Unlock()
	waiting := a.waiting
	a.waiting = nil
	return waiting
}

// eventType is that of the Events of a reason.
func eventType(r judge.Reason) string {
	if r == judge.NamespaceUnprotected {
		return corev1.EventTypeNormal
	}
	return corev1.EventTypeWarning
}

// announce records Events until ctx is done. What has been mended in the meantime is not
// told any more.
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
			c.Recorder.Event(next.about, eventType(next.refusal.Reason), string(next.refusal.Reason), fmt.Sprintf("%.*s", maxEventMessage, next.refusal.Message))
		}
	}
}
