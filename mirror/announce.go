package mirror

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/render"
)

const (
	// EventsPerSecond limits how fast Events are recorded: one mistake in a Namespace or one cluster that leaves may
	// affect very many objects.
	EventsPerSecond = 50
	// eventRetry is when to record an Event again that could not be recorded, and maxEventAge for how long.
	eventRetry  = 30 * time.Second
	maxEventAge = time.Hour
)

// Events records Events.
type Events interface {
	// Record creates an Event, or updates its time if there is one with this content.
	Record(ctx context.Context, about *corev1.ObjectReference, eventType, reason, message string) error
}

// announcement is a refusal that has not been reported to the source's owner yet, or something else that someone should know.
type announcement struct {
	of      *refused // where it is in force; nil to report it in any case
	id      render.Identity
	about   *corev1.ObjectReference
	refusal judge.Refusal
	since   time.Time // when it was first tried
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

// Announce records an Event that is about more than a source.
func (c *Controller) Announce(about *corev1.ObjectReference, reason judge.Reason, message string) {
	c.announcements.add(announcement{about: about, refusal: judge.Refusal{Reason: reason, Message: message}})
}

// RecordEvents records Events until ctx is done. It skips refusals that are no longer in force, and tries those again that
// could not be recorded: they may be all that says what is wrong.
func (c *Controller) RecordEvents(ctx context.Context) error {
	limit := rate.NewLimiter(EventsPerSecond, EventsPerSecond)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.announcements.some:
		}
		for _, next := range c.announcements.take() {
			if next.of != nil && !next.of.isInForce(next.id, next.refusal) {
				continue
			}
			if limit.Wait(ctx) != nil {
				return nil
			}
			r := next.refusal
			if err := c.Events.Record(ctx, next.about, eventType(r.Reason), string(r.Reason), fmt.Sprintf("%.*s", maxEventMessage, r.Event())); err != nil {
				c.failures.Warn("cannot record an Event", zap.String("reason", string(r.Reason)), zap.Error(err))
				c.announceLater(next, err)
			}
		}
	}
}

// announceLater repeats an announcement after a while, unless that is known to be in vain.
func (c *Controller) announceLater(failed announcement, because error) {
	if failed.since.IsZero() {
		failed.since = c.Clock.Now()
	}
	isFinal := apierrors.IsForbidden(because) || apierrors.IsInvalid(because) || apierrors.IsNotFound(because)
	if !isFinal && c.Clock.Since(failed.since) < maxEventAge {
		time.AfterFunc(eventRetry, func() { c.announcements.add(failed) })
	}
}
