package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/karmada-target/karmada-mirror/sandbox/process"
)

// Daemon is a running karmada-mirror.
type Daemon struct {
	*process.Daemon
	// dismissed says that the test has stopped or killed the daemon.
	dismissed atomic.Bool
}

// DaemonOptions say how a test runs karmada-mirror. By default this is the program with the
// race detector, with the kubeconfig of the installation.
type DaemonOptions struct {
	Program    []string
	Kubeconfig string
	Flags      []string
}

// StartDaemon runs karmada-mirror until the test ends, and waits until it is ready.
func StartDaemon(t *testing.T, o DaemonOptions) *Daemon {
	t.Helper()
	d := LaunchDaemon(t, o)
	Eventually(t, "the daemon to be ready", func(ctx context.Context) error {
		if d.HasEnded() {
			return fmt.Errorf("it has ended: %w", d.Err())
		}
		return d.Probe(ctx, "/readyz")
	})
	return d
}

// LaunchDaemon does not wait. The test fails if the daemon ends by itself, or badly.
func LaunchDaemon(t *testing.T, o DaemonOptions) *Daemon {
	t.Helper()
	d, err := launch(o)
	Must(t, err)
	t.Cleanup(func() {
		if err := d.end(); err != nil {
			t.Errorf("the daemon ended badly: %v", err)
		}
		if t.Failed() {
			t.Logf("the daemon's log:\n%s", d.Log())
		}
	})
	return d
}

func launch(o DaemonOptions) (*Daemon, error) {
	if o.Program == nil {
		o.Program = []string{Env.Daemon}
	}
	if o.Kubeconfig == "" {
		o.Kubeconfig = Env.AccountKubeconfig
	}
	d, err := process.StartDaemon(process.DaemonOptions{
		Program: o.Program, Kubeconfig: o.Kubeconfig,
		// It sweeps more often than by default.
		Flags: append([]string{"--log-level", "debug", "--resync-period", "3s"}, o.Flags...),
		// client-go's own detectors panic if a cached object is changed, or if a streaming
		// list differs from a plain one.
		Environment: []string{"GORACE=halt_on_error=1", "KUBE_CACHE_MUTATION_DETECTOR=true", "KUBE_WATCHLIST_INCONSISTENCY_DETECTOR=true"},
	})
	return &Daemon{Daemon: d}, err
}

// end stops the daemon, and returns an error unless it ended well.
func (d *Daemon) end() error {
	// Signals kill a process that does not handle them yet.
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	err := Env.Wait(ctx, "the daemon to begin", func(context.Context) error {
		if d.HasEnded() || d.Logged("starting") > 0 {
			return nil
		}
		return errors.New("it has logged nothing")
	})
	return errors.Join(err, d.Stop(), d.check())
}

// SweepRepair is what the daemon logs for each change that a sweep has found.
const SweepRepair = "a sweep has found a change that no event reported: please report this"

// check returns an error if a line of the log did not come through the logger (a panic, a
// data race, or a library that logs on its own), or if a sweep has found something.
func (d *Daemon) check() error {
	lines := slices.Collect(strings.Lines(d.Log()))
	for i, line := range lines {
		if isCut := d.dismissed.Load() && i == len(lines)-1; !json.Valid([]byte(line)) && !isReplaced(line) && !isCut {
			return fmt.Errorf("it printed %q", line)
		}
	}
	if n := d.Logged(SweepRepair); n > 0 {
		return fmt.Errorf("sweeps found %d changes that no event reported", n)
	}
	return nil
}

// LostLease is the last line of a daemon that could not renew its Lease in time.
const LostLease = "karmada-mirror: lost the lease: another replica may be leading\n"

// isReplaced reports whether a line is one that a daemon prints when it ends to be started
// again: its CA was replaced, so that it could not renew its Lease, or etcd was restored.
func isReplaced(line string) bool {
	return line == LostLease ||
		strings.HasPrefix(line, "karmada-mirror: a kubeconfig or the CA of an API server has changed") ||
		strings.HasPrefix(line, "karmada-mirror: the API server's data are older than what was read from it")
}

// Leads waits until a daemon leads.
func Leads(d *Daemon) func(context.Context) error { return d.WantLogged("leading", 1) }

// Stop shuts the daemon down gracefully. It returns an error if the daemon had already
// ended by itself.
func (d *Daemon) Stop() error {
	if dismissed := d.dismissed.Swap(true); d.HasEnded() {
		if !dismissed {
			return fmt.Errorf("it ended by itself: %w", d.Err())
		}
		return nil
	}
	return d.Daemon.Stop()
}

// Terminate asks the daemon to end, as a Deployment would.
func (d *Daemon) Terminate(t *testing.T) {
	t.Helper()
	d.dismissed.Store(true)
	Must(t, d.Signal(syscall.SIGTERM))
}

// KillNow ends the daemon as a power cut would. It has ended then.
func (d *Daemon) KillNow() error {
	d.dismissed.Store(true)
	err := d.Kill()
	if err == nil {
		<-d.Ended()
	}
	return err
}

// AwaitReplacement waits until the daemon has ended because its CA or etcd was replaced.
func (d *Daemon) AwaitReplacement(t *testing.T) {
	t.Helper()
	select {
	case <-d.Ended():
	case <-time.After(Patience):
		t.Fatal("the daemon has not ended")
	}
	if !slices.ContainsFunc(slices.Collect(strings.Lines(d.Log())), isReplaced) {
		t.Errorf("the daemon ended for another reason: %v", d.Err())
	}
	d.dismissed.Store(true)
}

// WantMetric waits until a series has a value.
func (d *Daemon) WantMetric(series string, want float64) func(context.Context) error {
	return func(ctx context.Context) error {
		got, err := d.Metric(ctx, series)
		if err == nil && got != want {
			err = fmt.Errorf("%s is %g, not %g", series, got, want)
		}
		return err
	}
}

// WantLogged waits until a message has been logged at least this many times.
func (d *Daemon) WantLogged(message string, times int) func(context.Context) error {
	return func(context.Context) error {
		if d.HasEnded() {
			return fmt.Errorf("it has ended: %w", d.Err())
		}
		if got := d.Logged(message); got < times {
			return fmt.Errorf("%q was logged %d times", message, got)
		}
		return nil
	}
}

// WatchState is the series for one state of the watch of a resource.
func WatchState(resource, state string) string {
	return fmt.Sprintf("karmada_mirror_watch_state{resource=%q,state=%q}", resource, state)
}

// WriteFile writes a file that only its owner may read.
func WriteFile(t *testing.T, path string, data []byte) {
	t.Helper()
	Must(t, os.WriteFile(path, data, 0o600))
}
