package e2e

import (
	"context"
	"sync/atomic"
	"testing"
)

// supervised is a daemon that is started again when it has ended, as a
// Deployment does.
type supervised struct {
	flags   []string
	current atomic.Pointer[daemon]
	starts  int
}

func supervise(t *testing.T, flags ...string) *supervised {
	t.Helper()
	s := &supervised{flags: flags}
	s.ensure(t)
	t.Cleanup(func() {
		d := s.current.Load()
		select {
		case <-d.ended:
		default:
			if err := d.stop(); err != nil {
				t.Errorf("the last daemon ended badly: %v", err)
			}
		}
		d.wantGoodEnd(t)
		if t.Failed() {
			t.Logf("the daemon's log:\n%s", d.log())
		}
	})
	return s
}

// ensure starts the daemon if it does not run. That it does not must have a good
// reason.
func (s *supervised) ensure(t *testing.T) {
	t.Helper()
	if d := s.current.Load(); d != nil {
		select {
		case <-d.ended:
			d.wantGoodEnd(t)
		default:
			return
		}
	}
	s.starts++
	s.current.Store(launchDaemon(t, s.flags...))
}

// kill ends the daemon as a power cut would. The test goes on.
func (s *supervised) kill() {
	d := s.current.Load()
	d.dismissed.Store(true)
	_ = d.command.Process.Kill() // it may have ended already
	<-d.ended
}

// wantSources waits until the Works of a namespace are as wanted.
func (s *supervised) wantSources(t *testing.T, namespace string) {
	t.Helper()
	eventually(t, "the Works", func(ctx context.Context) error {
		s.ensure(t)
		return disagreement(ctx, namespace, configMaps)
	})
}
