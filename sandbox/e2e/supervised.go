package e2e

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Supervised is a daemon that is restarted when it has ended, as a Deployment would.
type Supervised struct {
	// Current is the running daemon, or the last one.
	Current atomic.Pointer[Daemon]
	// Starts counts all starts.
	Starts int
	// Kills counts the kills by the test.
	Kills atomic.Int32

	flags []string
}

// Supervise starts a supervised daemon.
func Supervise(t *testing.T, flags ...string) *Supervised {
	t.Helper()
	s := &Supervised{flags: flags}
	s.Ensure(t)
	t.Cleanup(func() {
		d := s.Current.Load()
		if !d.HasEnded() {
			if err := d.end(); err != nil {
				t.Errorf("the last daemon ended badly: %v", err)
			}
		}
		d.WantGoodEnd(t)
		rereadFaults(t)
		if t.Failed() {
			t.Logf("the daemon's log:\n%s", d.Log())
		}
	})
	return s
}

// Ensure starts the daemon if it is not running. It must have had a good reason to end.
func (s *Supervised) Ensure(t *testing.T) {
	t.Helper()
	if d := s.Current.Load(); d != nil {
		if !d.HasEnded() {
			return
		}
		d.WantGoodEnd(t)
	}
	s.Starts++
	s.Current.Store(LaunchDaemon(t, s.flags...))
}

// Kill ends the daemon as a power cut would. The test continues.
func (s *Supervised) Kill() {
	d := s.Current.Load()
	d.dismissed.Store(true)
	s.Kills.Add(1)
	_ = d.Daemon.Kill() // it may have ended already
}

// WantStarts fails the test unless the daemon was started as often as expected: once,
// again after each kill by the test, and as often as the faults of the test ended it. The last
// kill may have come when nothing was left to do, and may still be under way.
func (s *Supervised) WantStarts(t *testing.T, ended int) {
	t.Helper()
	Eventually(t, "the daemon to be started again", func(context.Context) error {
		s.Ensure(t)
		if want := 1 + int(s.Kills.Load()) + ended; s.Starts != want {
			return fmt.Errorf("it was started %d times, not %d", s.Starts, want)
		}
		return nil
	})
}

// WantSources waits until the Works of a namespace are as wanted: those of ConfigMaps, and of the
// other given resources.
func (s *Supervised) WantSources(t *testing.T, namespace string, others ...schema.GroupVersionResource) {
	t.Helper()
	Eventually(t, "the Works", func(ctx context.Context) error {
		s.Ensure(t)
		return Disagreement(ctx, namespace, append(others, ConfigMaps)...)
	})
}
