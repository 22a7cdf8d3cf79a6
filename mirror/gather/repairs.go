package gather

import (
	"cmp"
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
)

const (
	// manyRepairs are more than restarts of Karmada make, and recentRepairs is longer than its client lets an Event of an object wait
	// that has many (client-go tools/record: one in five minutes).
	manyRepairs   = 10
	recentRepairs = 10 * time.Minute
)

// EventSource is the source of the daemon's Events.
const EventSource = "karmada-mirror"

// Repairs returns how often Karmada has applied a Work although nothing of it had changed, and since when: from 1.19 on, it does so each time
// that the object is edited in the member, and writes an Event. None are returned if they are few or over, or the user may not read Events.
func (r *Reader) Repairs(ctx context.Context, w *state.Work, now time.Time) (n int64, since time.Time, err error) {
	events, err := r.eventsAbout(ctx, w.Namespace, w.UID, state.AppliedEvents)
	for i := range events {
		if repaired, first, last := repairsIn(&events[i], w); repaired >= manyRepairs && now.Sub(last) <= recentRepairs {
			n, since = n+repaired, first
		}
	}
	return n, since, err
}

// eventsAbout lists some Events about an object; none if the user may not read Events.
func (r *Reader) eventsAbout(ctx context.Context, namespace string, uid types.UID, selector string) ([]unstructured.Unstructured, error) {
	about := metav1.ListOptions{FieldSelector: selector + ",involvedObject.uid=" + string(uid)}
	list, err := r.client.Resource(state.EventsResource).Namespace(namespace).List(ctx, about)
	switch {
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("cannot list the Events in namespace %q: %w", namespace, err)
	}
	return list.Items, nil
}

// LastWarning returns the last warning of the daemon about a source, and when that was; the zero value if there is none.
func (r *Reader) LastWarning(ctx context.Context, s *judge.Source) (warning judge.Refusal, at time.Time, err error) {
	events, err := r.eventsAbout(ctx, cmp.Or(s.ID.Namespace, metav1.NamespaceDefault), s.UID, "type="+corev1.EventTypeWarning+",source="+EventSource)
	for _, event := range events {
		if t := timeIn(&event, "lastTimestamp"); t.After(at) {
			reason, _, _ := unstructured.NestedString(event.Object, "reason")
			warning.Message, _, _ = unstructured.NestedString(event.Object, "message")
			warning.Reason, at = judge.Reason(reason), t
		}
	}
	return warning, at, err
}

func timeIn(event *unstructured.Unstructured, field string) time.Time {
	text, _, _ := unstructured.NestedString(event.Object, field)
	t, _ := time.Parse(time.RFC3339, text)
	return t
}

// repairsIn counts those of an Event. What was applied before the last write to the Work may be an edit of it, and one each was.
func repairsIn(event *unstructured.Unstructured, w *state.Work) (n int64, first, last time.Time) {
	n, _, _ = unstructured.NestedInt64(event.Object, "count")
	first, last = timeIn(event, "firstTimestamp"), timeIn(event, "lastTimestamp")
	if w.Written().After(first) {
		return n - w.Generation, first, last
	}
	return n - 1, first, last
}
