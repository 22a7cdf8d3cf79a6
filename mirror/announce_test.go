package mirror

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/render"
)

// recorded are Events.
type recorded chan string

func (r recorded) Record(_ context.Context, _ time.Time, _ *corev1.ObjectReference, eventType, reason, message string) error {
	r <- eventType + " " + reason + " " + message
	return nil
}

func TestAnnounce(t *testing.T) {
	const told, fixed = 4 * EventsPerSecond, 30
	synctest.Test(t, func(t *testing.T) {
		recorder := make(recorded, told+fixed)
		c := &Controller{Options: Options{Events: recorder}, announcements: newAnnouncements()}
		for i := range told + fixed {
			id := render.Identity{Kind: "ConfigMap", Namespace: "team", Name: fmt.Sprint(i)}
			r := judge.Refusal{Reason: judge.UnknownCluster, Message: "no cluster has joined"}
			c.refused.Replace(id, []judge.Refusal{r})
			c.announcements.add(announcementOf(&c.refused, id, &corev1.ObjectReference{Name: id.Name}, r, time.Now()))
			if i >= told {
				c.refused.Replace(id, nil)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); _ = c.RecordEvents(ctx) }()

		synctest.Wait()
		if got := len(recorder); got != EventsPerSecond {
			t.Errorf("%d Events at once, want %d", got, EventsPerSecond)
		}
		time.Sleep(time.Minute) // in the bubble's time
		if got := len(recorder); got != told {
			t.Errorf("%d Events in the end, want %d: all but those of resolved refusals", got, told)
		}
		cancel()
		<-ended
	})
}
