package e2e

import (
	"context"
	"errors"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/karmada-target/karmada-mirror/sandbox/fault"
)

// Patience is how long reaching an end state may take on a busy machine.
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

// Within waits with a limit of its own, which says something about the product.
func Within(t *testing.T, limit time.Duration, what string, condition func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if err := Env.Wait(ctx, what, condition); err != nil {
		t.Fatal(err)
	}
}

// Pass waits for a time that is part of the fault itself.
func Pass(t *testing.T, d time.Duration) {
	t.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
	}
}

// Settle waits longer than a deletion takes to settle (--deletion-settle-period, 1 s), so
// that any wrong deletion would have been made by then.
func Settle(t *testing.T) {
	t.Helper()
	Pass(t, 3*time.Second)
}

// Hit returns an error until a request has matched one of the rules.
func Hit(rules ...*fault.Rule) error {
	for _, r := range rules {
		if r.Hits() > 0 {
			return nil
		}
	}
	return errors.New("no request has matched")
}

// Took returns an error until one of the rules has dropped or repeated something.
func Took(rules ...*fault.Rule) error {
	for _, r := range rules {
		if r.Effects() > 0 {
			return nil
		}
	}
	return errors.New("the rules have altered nothing")
}

// InParallel calls do for each of n numbers, up to 16 at a time.
func InParallel(t *testing.T, n int, do func(context.Context, int) error) {
	t.Helper()
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(16)
	for i := range n {
		group.Go(func() error { return do(ctx, i) })
	}
	Must(t, group.Wait())
}
