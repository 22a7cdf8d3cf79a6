package watch

import (
	"context"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
)

// watching answers requests to watch.
type watching struct {
	dynamic.ResourceInterface
	answer func(context.Context) (apiwatch.Interface, error)
}

func (w watching) Watch(ctx context.Context, _ metav1.ListOptions) (apiwatch.Interface, error) {
	return w.answer(ctx)
}

// TestWatchAttempts: what a watch says of the API server. A request without an answer ends when the watch should have,
// and one that ends although it should have brought something makes the informer list.
func TestWatchAttempts(t *testing.T) {
	refused := func(err error) func(context.Context) (apiwatch.Interface, error) {
		return func(context.Context) (apiwatch.Interface, error) { return nil, err }
	}
	endsAfter := func(d time.Duration, events ...apiwatch.EventType) func(context.Context) (apiwatch.Interface, error) {
		return func(context.Context) (apiwatch.Interface, error) {
			w := apiwatch.NewFakeWithChanSize(len(events), false)
			for _, event := range events {
				w.Action(event, &unstructured.Unstructured{})
			}
			time.AfterFunc(d, w.Stop)
			return w, nil
		}
	}
	throttled, invalid := apierrors.NewTooManyRequests("", 1), apierrors.NewInvalid(schema.GroupKind{}, "", nil)
	for name, tc := range map[string]struct {
		answer  func(context.Context) (apiwatch.Interface, error)
		lists   bool
		quiet   time.Duration // since something was heard
		failure error
		alive   int
		stood   bool
		relists bool
		lasts   time.Duration
		listed  []bool
	}{
		"NoAnswer":           {answer: func(ctx context.Context) (apiwatch.Interface, error) { <-ctx.Done(); return nil, ctx.Err() }, failure: errOverdue, lasts: 5*time.Minute + watchGrace},
		"ListHasNoAnswer":    {answer: func(ctx context.Context) (apiwatch.Interface, error) { <-ctx.Done(); return nil, ctx.Err() }, lists: true, failure: errOverdue, lasts: 5*time.Minute + watchGrace, listed: []bool{false}},
		"Throttled":          {answer: refused(throttled), failure: throttled},
		"Unreachable":        {answer: refused(syscall.ECONNREFUSED), failure: syscall.ECONNREFUSED},
		"Expired":            {answer: refused(apierrors.NewResourceExpired(""))},
		"CannotStream":       {answer: refused(invalid), lists: true},
		"Invalid":            {answer: refused(invalid), failure: invalid},
		"EndsAtOnce":         {answer: endsAfter(time.Millisecond), failure: errCut, relists: true, lasts: time.Millisecond},
		"BringsSomething":    {answer: endsAfter(time.Millisecond, apiwatch.Modified), alive: 1, stood: true, lasts: time.Millisecond},
		"EndsEarly":          {answer: endsAfter(2 * time.Second), stood: true, lasts: 2 * time.Second},
		"EndsIdle":           {answer: endsAfter(45 * time.Second), stood: true, lasts: 45 * time.Second},
		"EndsIdleAndSilent":  {answer: endsAfter(45 * time.Second), quiet: maxSilence, relists: true, lasts: 45 * time.Second},
		"EndsEarlyAndSilent": {answer: endsAfter(2 * time.Second), quiet: maxSilence, relists: true, lasts: 2 * time.Second},
		"StandsInSilence":    {answer: endsAfter(maxSilence + time.Second), stood: true, relists: true, lasts: maxSilence + time.Second},
		"EndsNever":          {answer: endsAfter(time.Hour), failure: errOverdue, relists: true, lasts: 5*time.Minute + watchGrace},
		"ListEndsIncomplete": {answer: endsAfter(45*time.Second, apiwatch.Added), lists: true, failure: errCut, relists: true, lasts: 45 * time.Second, listed: []bool{false}},
		"ListIsThrottled":    {answer: refused(throttled), lists: true, failure: throttled, listed: []bool{true}},
		"ListIsRefused":      {answer: refused(syscall.ECONNREFUSED), lists: true, failure: syscall.ECONNREFUSED, listed: []bool{false}},
		"ListIsComplete":     {answer: endsAfter(45*time.Second, apiwatch.Added, apiwatch.Bookmark), lists: true, stood: true, lasts: 45 * time.Second, listed: []bool{true}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var alive int
				var stood bool
				var failure error
				var listed []bool
				a := attemptsIn{watching{answer: tc.answer}, reports{
					alive: func() { alive++ }, stood: func(began time.Time) { stood = time.Since(began) == tc.lasts }, failed: func(err error) { failure = err }, listed: func(ok bool) { listed = append(listed, ok) }, added: func(time.Time) {}, heard: &atomic.Int64{},
				}}
				a.hear()
				time.Sleep(tc.quiet)
				began, relists := time.Now(), false
				if w, err := a.Watch(t.Context(), metav1.ListOptions{TimeoutSeconds: ptr.To[int64](300), SendInitialEvents: &tc.lists}); err == nil {
					for event := range w.ResultChan() {
						relists = event.Type == apiwatch.Error
					}
				}
				if got := time.Since(began); got != tc.lasts || alive != tc.alive || stood != tc.stood || failure != tc.failure || relists != tc.relists || !slices.Equal(listed, tc.listed) {
					t.Errorf("after %s: alive %d, stood %v, failed %v, relists %v, listed %v", got, alive, stood, failure, relists, listed)
				}
				time.Sleep(time.Hour)
			})
		})
	}
}

// TestStood: watches that a proxy ends early, one after the other, end a failure all the same.
func TestStood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := New(Options{Clock: clock.RealClock{}})
		watched := func() (fails bool) {
			began := time.Now()
			time.Sleep(20 * time.Second)
			w.noteStood(began)
			return w.Status().Err != nil
		}
		w.setError(errCut)
		first := watched()
		w.setError(errCut)
		if second, third := watched(), watched(); !first || !second || third {
			t.Errorf("it fails after the first %v, after one more failure %v, and after the next %v", first, second, third)
		}
	})
}

type listing struct {
	dynamic.ResourceInterface
	next string
	err  error
}

func (l listing) List(context.Context, metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	list := &unstructured.UnstructuredList{}
	list.SetContinue(l.next)
	return list, l.err
}

// TestListed: a list has brought its objects with its last page; where a later one fails each time, or has expired, it has not. One that is
// throttled does not end a leader.
func TestListed(t *testing.T) {
	for name, tc := range map[string]struct {
		listing
		want []bool
	}{
		"Last": {listing{}, []bool{true}}, "Page": {listing{next: "more"}, nil}, "Fails": {listing{err: syscall.ECONNREFUSED}, []bool{false}},
		"Throttled": {listing{err: apierrors.NewTooManyRequests("", 1)}, []bool{true}},
		"Expired":   {listing{err: apierrors.NewResourceExpired("")}, nil}, // client-go lists without pages then
	} {
		var listed []bool
		a := attemptsIn{tc.listing, reports{failed: func(error) {}, listed: func(ok bool) { listed = append(listed, ok) }, heard: &atomic.Int64{}}}
		_, _ = a.List(t.Context(), metav1.ListOptions{})
		if !slices.Equal(listed, tc.want) {
			t.Errorf("%s: %v", name, listed)
		}
	}
}
