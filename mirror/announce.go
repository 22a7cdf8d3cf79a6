package mirror

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/karmada-target/karmada-mirror/mirror/gather"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/memory"
	"github.com/karmada-target/karmada-mirror/render"
)

const (
	// EventsPerSecond limits how fast Events are recorded: one mistake in a Namespace or one cluster that leaves may
	// affect very many objects.
	EventsPerSecond = 50
	// EventSource is what Events say of who wrote them.
	EventSource = gather.EventSource
	// eventRetry is when to record an Event again that could not be recorded; the pause doubles each time, up to maxEventRetry.
	// maxEventAge is for how long, unless what it says is in force.
	eventRetry    = 30 * time.Second
	maxEventRetry = 4 * time.Minute
	maxEventAge   = time.Hour
)

// Events records Events.
type Events interface {
	// Record creates an Event of something found at a time, or updates the time if there is one with this content.
	Record(ctx context.Context, at time.Time, about *corev1.ObjectReference, eventType, reason, message string) error
}

// announcement is a refusal that has not been reported to the source's owner yet, or something else that someone should know.
type announcement struct {
	about   *corev1.ObjectReference
	refusal judge.Refusal
	at      time.Time     // when it was found
	pause   time.Duration // since the last attempt to record it; 0 if there was none
	// isInForce reports whether it is still so; nil for what was done, which stays so.
	isInForce func() bool
}

// announcementOf announces what is refused, until it is no longer in force. What was done stays so.
func announcementOf(told *memory.Refusals, id render.Identity, about *corev1.ObjectReference, refusal judge.Refusal, now time.Time) announcement {
	a := announcement{about: about, refusal: refusal, at: now}
	if refusal.Reason != judge.WaveSkipped {
		a.isInForce = func() bool { return slices.ContainsFunc(told.Of(id), refusal.Is) }
	}
	return a
}

// what tells apart what announcements say.
func (a announcement) what() string {
	return fmt.Sprintln(a.about.Kind, a.about.Namespace, a.about.Name, a.about.UID, a.refusal.Reason, cmp.Or(a.refusal.Key, a.refusal.Message))
}

// announcements are those that wait to be recorded, by what they say, and those of them to be recorded now, in order.
type announcements struct {
	mu      sync.Mutex
	waiting map[string]announcement
	ready   []string
	some    chan struct{}
}

func newAnnouncements() *announcements {
	return &announcements{waiting: map[string]announcement{}, some: make(chan struct{}, 1)}
}

// add has an announcement recorded after its pause. If one waits to say the same, the newer replaces it, and is recorded when
// that would have been.
func (a *announcements) add(next announcement) {
	a.mu.Lock()
	defer a.mu.Unlock()
	what := next.what()
	before, waits := a.waiting[what]
	switch {
	case !waits && next.pause == 0:
		a.recordLocked(what)
	case !waits:
		time.AfterFunc(next.pause, func() { a.mu.Lock(); defer a.mu.Unlock(); a.recordLocked(what) })
	case next.pause > 0: // it has failed, and is older
		return
	}
	next.pause = max(next.pause, before.pause)
	a.waiting[what] = next
}

func (a *announcements) recordLocked(what string) {
	a.ready = append(a.ready, what)
	select {
	case a.some <- struct{}{}:
	default:
	}
}

// take removes and returns the announcements to record now.
func (a *announcements) take() (ready []announcement) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, what := range a.ready {
		ready = append(ready, a.waiting[what])
		delete(a.waiting, what)
	}
	a.ready = nil
	return ready
}

// eventType returns the type of Events with a reason.
func eventType(r judge.Reason) string {
	if r == judge.NamespaceUnprotected {
		return corev1.EventTypeNormal
	}
	return corev1.EventTypeWarning
}

// Announce records an Event that is about more than a source, as long as it is in force.
func (c *Controller) Announce(about *corev1.ObjectReference, reason judge.Reason, message string, isInForce func() bool) {
	c.announcements.add(announcement{about: about, refusal: judge.Refusal{Reason: reason, Message: message}, at: c.Clock.Now(), isInForce: isInForce})
}

// RecordEvents records Events until ctx is done. It skips what is no longer in force, and repeats what could not be
// recorded: it may be all that says what is wrong.
func (c *Controller) RecordEvents(ctx context.Context) error {
	limit := rate.NewLimiter(EventsPerSecond, EventsPerSecond)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.announcements.some:
		}
		for _, next := range c.announcements.take() {
			if next.isInForce != nil && !next.isInForce() {
				continue
			}
			if limit.Wait(ctx) != nil {
				return nil
			}
			r := next.refusal
			if err := c.Events.Record(ctx, next.at, next.about, eventType(r.Reason), string(r.Reason), fmt.Sprintf("%.*s", maxEventMessage, r.Event())); err != nil {
				c.failures.Warn("cannot record an Event", zap.String("namespace", next.about.Namespace), zap.String("name", next.about.Name), zap.String("reason", string(r.Reason)), zap.Error(err))
				c.announceLater(next, err)
			}
		}
	}
}

// announceLater repeats an announcement after a while, unless its object is gone, or what was done is long ago.
func (c *Controller) announceLater(failed announcement, because error) {
	failed.pause = min(max(eventRetry, 2*failed.pause), maxEventRetry)
	isOver := failed.isInForce == nil && c.Clock.Since(failed.at) > maxEventAge
	if !isOver && !apierrors.IsInvalid(because) && !apierrors.IsNotFound(because) {
		c.announcements.add(failed)
	}
}
