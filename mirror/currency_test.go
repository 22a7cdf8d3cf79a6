package mirror

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karmada-target/karmada-mirror/mirror/gather"
	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/write"
	"github.com/karmada-target/karmada-mirror/render"
)

// TestCurrency: a configuration is stale if there is a newer one.
func TestCurrency(t *testing.T) {
	boom := errors.New("boom")
	cases := map[string]struct {
		reason      string
		taken, live string
		err, want   error
	}{
		"Current": {"it is the last one", "9", "9", nil, nil},
		"Ahead":   {"etcd was restored, and has an earlier one", "9", "8", nil, gather.ErrBehind},
		"Behind":  {"there is a newer one", "9", "10", nil, gather.ErrBehind},
		"None":    {"the first one is about to be taken", "", "9", nil, gather.ErrBehind},
		"File":    {"it comes from a file, or was deleted", "", "", nil, nil},
		"Failed":  {"no one can tell", "", "", boom, boom},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := newCurrency(newFakeClock(), func(context.Context) (taken, live string, err error) { return tc.taken, tc.live, tc.err })
			if err := c.check(t.Context()); !errors.Is(err, tc.want) {
				t.Errorf("%s: %v", tc.reason, err)
			}
			if err := c.confirm(t.Context()); !errors.Is(err, tc.want) {
				t.Errorf("%s: %v", tc.reason, err)
			}
		})
	}
}

// TestStaleConfigurationDeletesNothing: the source's namespace may have left the configuration.
// One live read serves the deletions of a second.
func TestStaleConfigurationDeletesNothing(t *testing.T) {
	s := newAPIServer(t)
	s.list(render.WorksResource, sample.Work(sample.Asking("1", "m1"), "m1"))
	clock := newFakeClock()
	c := newControllerOf(t, s, configured("", "", ""), clock)
	live, reads := "10", 0
	c.currency.versions = func(context.Context) (string, string, error) { reads++; return "9", live, nil }
	try := func() error {
		_, err := c.reconcile(t.Context(), sample.Page, write.Others)
		return err
	}
	for range 2 {
		if err := try(); !errors.Is(err, gather.ErrBehind) || len(s.sent()) > 0 {
			t.Errorf("with a stale configuration: %v, sent %q", err, s.sent())
		}
	}
	live = "9"
	clock.Step(configurationAge + 1)
	for range 2 {
		if _, err := c.prove(t.Context(), sample.Page); err != nil {
			t.Error(err)
		}
	}
	if reads != 2 {
		t.Errorf("%d reads", reads)
	}
	clock.Step(configurationAge + 1)
	live = "10"
	if _, err := c.prove(t.Context(), sample.Page); !errors.Is(err, gather.ErrBehind) {
		t.Errorf("a second later: %v", err)
	}
	live = "9"
	clock.Step(configurationAge + 1)
	if err := try(); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"delete m1 if it is work-uid at 7"}, s.sent()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestCurrencyIsShared: deletions that wait for the same slow read share its answer.
func TestCurrencyIsShared(t *testing.T) {
	clock, reads := newFakeClock(), 0
	asking, answer := make(chan bool, 10), make(chan bool)
	c := newCurrency(clock, func(context.Context) (string, string, error) {
		reads++
		asking <- true
		<-answer
		return "9", "10", nil
	})
	const deletions = 10
	ended := make(chan error, deletions)
	for range deletions {
		go func() { ended <- c.confirm(t.Context()) }()
	}
	<-asking
	for range deletions - 1 { // the others have asked by the time that one of them gets the lock
		runtime.Gosched()
	}
	close(answer)
	for range deletions {
		if err := <-ended; !errors.Is(err, gather.ErrBehind) {
			t.Error(err)
		}
	}
	if reads != 1 {
		t.Errorf("%d reads", reads)
	}
}
