package gather

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/mirror/state"
)

const (
	// manyRepairs are more than restarts of Karmada make, and recentRepairs is longer than its client lets an Event of an object wait
	// that has many (client-go tools/record: one in five minutes).
	manyRepairs   = 10
	recentRepairs = 10 * time.Minute
)

// Repairs returns how often Karmada has applied a Work although nothing of it had changed, and since when: from 1.19 on, it does so each time
// that the object is edited in the member, and writes an Event. None are returned if they are few or over, or the user may not read Events.
func (r *Reader) Repairs(ctx context.Context, w *state.Work, now time.Time) (n int64, since time.Time, err error) {
	about := metav1.ListOptions{FieldSelector: state.AppliedEvents + ",involvedObject.uid=" + string(w.UID)}
	list, err := r.client.Resource(state.EventsResource).Namespace(w.Namespace).List(ctx, about)
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		return 0, since, nil
	}
	if err != nil {
		return 0, since, fmt.Errorf("cannot list the Events about Work %s/%s: %w", w.Namespace, w.Name, err)
	}
	for i := range list.Items {
		if repaired, first, last := repairsIn(&list.Items[i], w); repaired >= manyRepairs && now.Sub(last) <= recentRepairs {
			n, since = n+repaired, first
		}
	}
	return n, since, nil
}

// repairsIn counts those of an Event. What was applied before the last write to the Work may be an edit of it, and one each was.
func repairsIn(event *unstructured.Unstructured, w *state.Work) (n int64, first, last time.Time) {
	at := func(field string) time.Time {
		text, _, _ := unstructured.NestedString(event.Object, field)
		t, _ := time.Parse(time.RFC3339, text)
		return t
	}
	n, _, _ = unstructured.NestedInt64(event.Object, "count")
	first, last = at("firstTimestamp"), at("lastTimestamp")
	if w.Written().After(first) {
		return n - w.Generation, first, last
	}
	return n - 1, first, last
}
