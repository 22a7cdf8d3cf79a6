package e2e

import (
	"context"
	"errors"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/karmada-target/karmada-mirror/sandbox/fault"
)

// Patience is how long an end state may take on a busy machine.
const Patience = 2 * time.Minute

// Must fails the test on an error.
func Must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// Eventually waits until a condition holds; what completes "cannot wait for".
func Eventually(t *testing.T, what string, condition func(context.Context) error) {
	t.Helper()
	Within(t, Patience, what, condition)
}

// Within waits no longer than a limit that says something of the product.
func Within(t *testing.T, limit time.Duration, what string, condition func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if err := Env.Wait(ctx, what, condition); err != nil {
		t.Fatal(err)
	}
}

// Pass waits for a time that is a part of the fault itself.
func Pass(t *testing.T, d time.Duration) {
	t.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
	}
}

// Settle waits for longer than a deletion takes to settle (--deletion-settle-period, 1 s),
// so that one that is wrong would have been made.
func Settle(t *testing.T) {
	t.Helper()
	Pass(t, 3*time.Second)
}

// Hit returns an error until a request has met one of the rules.
func Hit(rules ...*fault.Rule) error {
	for _, r := range rules {
		if r.Hits() > 0 {
			return nil
		}
	}
	return errors.New("no request has come")
}

// Took returns an error until one of the rules has left something out, or told something
// again.
func Took(rules ...*fault.Rule) error {
	for _, r := range rules {
		if r.Effects() > 0 {
			return nil
		}
	}
	return errors.New("nothing has been altered")
}

// InParallel calls do for each of n numbers, some at a time.
func InParallel(t *testing.T, n int, do func(context.Context, int) error) {
	t.Helper()
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(16)
	for i := range n {
		group.Go(func() error { return do(ctx, i) })
	}
	Must(t, group.Wait())
}
