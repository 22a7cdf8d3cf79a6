package watch

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

// watching answers requests to watch.
type watching struct {
	dynamic.ResourceInterface
	answer func(context.Context) (apiwatch.Interface, error)
}

func (w watching) Watch(ctx context.Context, _ metav1.ListOptions) (apiwatch.Interface, error) {
	return w.answer(ctx)
}

// TestWatchAttempts: what a watch says of the API server. A request without an answer ends when the watch should have.
func TestWatchAttempts(t *testing.T) {
	endsAfter := func(d time.Duration) func(context.Context) (apiwatch.Interface, error) {
		return func(context.Context) (apiwatch.Interface, error) {
			w := apiwatch.NewFake()
			time.AfterFunc(d, w.Stop)
			return w, nil
		}
	}
	for name, tc := range map[string]struct {
		answer                 func(context.Context) (apiwatch.Interface, error)
		alive, failed, overdue int
		lasts                  time.Duration
	}{
		"NoAnswer":  {func(ctx context.Context) (apiwatch.Interface, error) { <-ctx.Done(); return nil, ctx.Err() }, 0, 1, 1, 5*time.Minute + watchGrace},
		"EndsEarly": {endsAfter(time.Second), 0, 0, 0, time.Second},
		"EndsIdle":  {endsAfter(45 * time.Second), 1, 0, 0, 45 * time.Second},
		"EndsNever": {endsAfter(time.Hour), 0, 0, 1, 5*time.Minute + watchGrace},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var alive, failed, overdue int
				a := attemptsIn{watching{answer: tc.answer}, reports{alive: func() { alive++ }, failed: func() { failed++ }, overdue: func(error) { overdue++ }}}
				began, seconds := time.Now(), int64(300)
				if w, err := a.Watch(t.Context(), metav1.ListOptions{TimeoutSeconds: &seconds}); err == nil {
					for range w.ResultChan() {
					}
				}
				if got := time.Since(began); got != tc.lasts || alive != tc.alive || failed != tc.failed || overdue != tc.overdue {
					t.Errorf("after %s: alive %d, failed %d, overdue %d", got, alive, failed, overdue)
				}
				time.Sleep(time.Hour)
			})
		})
	}
}
