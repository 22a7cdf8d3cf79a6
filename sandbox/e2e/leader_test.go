package e2e

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"
)

// leaseDuration is the default of --leader-elect-lease-duration.
const leaseDuration = 15 * time.Second

func TestTwoReplicas(t *testing.T) {
	first := startDaemon(t)
	ns := newNamespace(t)
	eventually(t, "the first to lead", leads(first))
	second := startDaemon(t)
	create(t, configMaps, configMap(ns, "page", both, "one"))
	wantInMembers(t, ns, "page", "one", push, pull)
	if second.logged("leading") > 0 || second.logged("wrote a Work") > 0 {
		t.Fatal("the standby has written")
	}

	t.Run("Killed", func(t *testing.T) {
		begin := time.Now()
		first.kill(t)
		create(t, configMaps, configMap(ns, "after-kill", both, "one"))
		within(t, leaseDuration+2*time.Second, "the standby to take over", func(ctx context.Context) error {
			_, err := getWork(ctx, configMapWork(ns, "after-kill", push))
			return err
		})
		t.Logf("kill -9 of the leader: the first Work of the other after %s", time.Since(begin).Round(10*time.Millisecond))
		wantInMembers(t, ns, "after-kill", "one", push, pull)
	})
	t.Run("Terminated", func(t *testing.T) {
		third := startDaemon(t)
		begin := time.Now()
		if err := second.command.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		create(t, configMaps, configMap(ns, "after-term", both, "one"))
		within(t, time.Until(begin.Add(2*time.Second)), "the standby to take over", func(ctx context.Context) error {
			_, err := getWork(ctx, configMapWork(ns, "after-term", push))
			return err
		})
		t.Logf("SIGTERM of the leader: the first Work of the other after %s", time.Since(begin).Round(10*time.Millisecond))
		if <-second.ended; second.err != nil {
			t.Errorf("the leader ended badly: %v", second.err)
		}
		wantInMembers(t, ns, "after-term", "one", push, pull)
		if err := leads(third)(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func leads(d *daemon) func(context.Context) error {
	return func(context.Context) error {
		if d.logged("leading") == 0 {
			return fmt.Errorf("it does not lead")
		}
		return nil
	}
}
