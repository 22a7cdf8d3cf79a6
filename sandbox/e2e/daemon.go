package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
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

// StartDaemon runs karmada-mirror until the test ends, and waits until it is ready. The
// test fails if the daemon exits with an error or a data race.
func StartDaemon(t *testing.T, flags ...string) *Daemon {
	t.Helper()
	d := SpawnDaemon(t, flags...)
	Eventually(t, "the daemon to be ready", func(ctx context.Context) error {
		if d.HasEnded() {
			return fmt.Errorf("it has ended: %w", d.Err())
		}
		return d.Probe(ctx, "/readyz")
	})
	return d
}

// SpawnDaemon does not wait, because a fault may keep the daemon from becoming ready.
func SpawnDaemon(t *testing.T, flags ...string) *Daemon {
	t.Helper()
	d := LaunchDaemon(t, flags...)
	t.Cleanup(func() {
		if err := d.end(); err != nil {
			t.Errorf("the daemon ended badly: %v", err)
		}
		d.wantOnlyJSON(t)
		rereadFaults(t)
		if t.Failed() {
			t.Logf("the daemon's log:\n%s", d.Log())
		}
	})
	return d
}

// end stops the daemon once it has logged that it is starting: signals kill a process that
// does not handle them yet.
func (d *Daemon) end() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	err := Env.Wait(ctx, "the daemon to begin", func(context.Context) error {
		if d.HasEnded() || d.Logged("starting") > 0 {
			return nil
		}
		return errors.New("it has logged nothing")
	})
	return errors.Join(err, d.Stop())
}

// NoListDetector goes among the flags of a daemon whose lists are cut short at random: the
// detector compares lists, and panics on a difference.
const NoListDetector = "KUBE_WATCHLIST_INCONSISTENCY_DETECTOR=false"

// NoMutationDetector goes among the flags of a daemon whose memory is measured: the
// detector keeps every object forever.
const NoMutationDetector = "KUBE_CACHE_MUTATION_DETECTOR=false"

// sweepPeriod is short, so that the daemons of tests sweep.
const sweepPeriod = 3 * time.Second

// SweepRepair is what the daemon logs for each change that a sweep has found.
const SweepRepair = "a sweep has found a change that no event reported: please report this"

// wantNoRepairs fails the test if a sweep has found a change that no event reported.
func (d *Daemon) wantNoRepairs(t *testing.T) {
	t.Helper()
	if n := d.Logged(SweepRepair); n > 0 {
		t.Errorf("sweeps found %d changes that no event reported", n)
	}
}

// program goes among the flags of a daemon that runs another program.
const program = "PROGRAM="

// OtherProgram is a flag that starts another program instead of the daemon.
func OtherProgram(path string) string { return program + path }

// LaunchDaemon starts the daemon and does not wait. A flag that begins with KUBE_ or GOMEMLIMIT is set
// as an environment variable.
func LaunchDaemon(t *testing.T, flags ...string) *Daemon {
	t.Helper()
	s := scopeOf(t)
	o := process.DaemonOptions{
		Program: []string{Env.Daemon}, Kubeconfig: s.kubeconfig,
		Flags: []string{"--log-level", "debug", "--resync-period", sweepPeriod.String()},
		// client-go's own detectors panic if a cached object is changed, or if a streaming
		// list differs from a plain one.
		Environment: []string{"GORACE=halt_on_error=1", "KUBE_CACHE_MUTATION_DETECTOR=true", "KUBE_WATCHLIST_INCONSISTENCY_DETECTOR=true"},
	}
	if !slices.Contains(flags, "--config") {
		o.Flags = append(o.Flags, s.configMapFlags()...)
	}
	o.Flags = append(o.Flags, s.leaseFlags()...)
	for _, flag := range flags {
		path, isProgram := strings.CutPrefix(flag, program)
		switch {
		case isProgram:
			o.Program = []string{path}
		case strings.HasPrefix(flag, "KUBE_"), strings.HasPrefix(flag, "GOMEMLIMIT="):
			o.Environment = append(o.Environment, flag)
		default:
			o.Flags = append(o.Flags, flag)
		}
	}
	started, err := process.StartDaemon(o)
	Must(t, err)
	d := &Daemon{Daemon: started}
	t.Cleanup(func() { d.wantNoRepairs(t) })
	return d
}

// LaunchLeader starts a daemon that the test will stop or kill, and waits until it leads.
func LaunchLeader(t *testing.T, flags ...string) *Daemon {
	t.Helper()
	d := LaunchDaemon(t, flags...)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the daemon's log:\n%s", d.Log())
		}
		if d.HasEnded() {
			d.WantGoodEnd(t)
			return
		}
		d.KillNow(t)
	})
	Eventually(t, "the first to lead", Leads(d))
	return d
}

// Leads waits until a daemon leads.
func Leads(d *Daemon) func(context.Context) error {
	return func(context.Context) error {
		if d.Logged("leading") == 0 {
			return errors.New("it does not lead")
		}
		return nil
	}
}

// wantOnlyJSON fails the test on a line that did not come through the logger: a panic, a
// data race, or a library that logs on its own.
func (d *Daemon) wantOnlyJSON(t *testing.T) {
	t.Helper()
	lines := slices.Collect(strings.Lines(d.Log()))
	for i, line := range lines {
		if cut := d.dismissed.Load() && i == len(lines)-1; !json.Valid([]byte(line)) && !isGoodReason(line) && !cut {
			t.Errorf("the daemon printed %q", line)
			return
		}
	}
}

// LostLease is the last line of a daemon that could not renew its Lease in time, as on a
// busy machine.
const LostLease = "karmada-mirror: lost the lease: another replica may be leading\n"

// isGoodReason reports whether a line is one that a daemon prints when it has to end: it
// has lost its Lease, its CA was replaced, or etcd was restored.
func isGoodReason(line string) bool {
	return line == LostLease ||
		strings.HasPrefix(line, "karmada-mirror: a kubeconfig or the CA of an API server has changed") ||
		strings.HasPrefix(line, "karmada-mirror: the API server's data are older than what was read from it")
}

// WantGoodEnd fails the test if a daemon ended for any other reason than these or the test
// itself: a panic, a data race, a leak.
func (d *Daemon) WantGoodEnd(t *testing.T) {
	t.Helper()
	d.wantOnlyJSON(t)
	lines := slices.Collect(strings.Lines(d.Log()))
	// On a busy machine, a goroutine that is still ending may log something after the reason.
	if !d.dismissed.Load() && !slices.ContainsFunc(lines, isGoodReason) {
		t.Errorf("the daemon ended by itself: %v; the end of its log:\n%s", d.Err(), strings.Join(lines[max(0, len(lines)-20):], ""))
	}
}

// WantExit waits until the daemon ends because it has lost its Lease. It is for daemons
// from LaunchDaemon: those from StartDaemon must end without an error.
func (d *Daemon) WantExit(t *testing.T, limit time.Duration) {
	t.Helper()
	select {
	case <-d.Ended():
	case <-time.After(limit):
		t.Fatalf("the daemon has not ended: %v\n%s", d.Kill(), d.Log())
	}
	d.WantGoodEnd(t)
}

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

// MustStop shuts the daemon down gracefully, and fails the test on an error.
func (d *Daemon) MustStop(t *testing.T) {
	t.Helper()
	Must(t, d.Stop())
}

// Terminate asks the daemon to end, as a Deployment would.
func (d *Daemon) Terminate(t *testing.T) {
	t.Helper()
	d.dismissed.Store(true)
	Must(t, d.Signal(syscall.SIGTERM))
}

// KillNow ends the daemon as a power cut would.
func (d *Daemon) KillNow(t *testing.T) {
	t.Helper()
	d.dismissed.Store(true)
	Must(t, d.Kill())
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

// WantNoSeries waits until a series is gone.
func (d *Daemon) WantNoSeries(series string) func(context.Context) error {
	return func(ctx context.Context) error {
		all, err := d.Series(ctx)
		if got, found := all[series]; err == nil && found {
			err = fmt.Errorf("%s is there: %g", series, got)
		}
		return err
	}
}

// WantLogged waits until a message has been logged at least this many times.
func (d *Daemon) WantLogged(message string, times int) func(context.Context) error {
	return func(context.Context) error {
		if got := d.Logged(message); got < times {
			return fmt.Errorf("%q was logged %d times", message, got)
		}
		return nil
	}
}

// Number reads the value of a series.
func (d *Daemon) Number(t *testing.T, series string) float64 {
	t.Helper()
	number, err := d.Metric(t.Context(), series)
	Must(t, err)
	return number
}

// Settled returns the number of goroutines and the heap size after garbage collection: the
// minimum of several readings.
func (d *Daemon) Settled(t *testing.T) (goroutines, heap float64) {
	t.Helper()
	for i := range 10 {
		Pass(t, 300*time.Millisecond)
		g, h := d.Number(t, "go_goroutines"), d.Number(t, "go_memstats_heap_alloc_bytes")
		if i == 0 {
			goroutines, heap = g, h
		}
		goroutines, heap = min(goroutines, g), min(heap, h)
	}
	return goroutines, heap
}

// AtLeastSyncs waits until there were this many successful syncs.
func AtLeastSyncs(d *Daemon, want int) func(context.Context) error {
	return func(ctx context.Context) error {
		got, err := d.Metric(ctx, `karmada_mirror_sync_duration_seconds_count{result="success"}`)
		if err == nil && int(got) < want {
			err = fmt.Errorf("%g syncs so far", got)
		}
		return err
	}
}

// QueueEmpty is a series that is 0 when nothing is queued.
const QueueEmpty = `workqueue_depth{name="mirror"}`

// Scrape reads the metrics as Prometheus does.
func (d *Daemon) Scrape(ctx context.Context, trust *x509.CertPool, token string) (code int, body string, err error) {
	return d.ScrapeFrom(ctx, "127.0.0.1", trust, token)
}

// ScrapeFrom scrapes from a loopback address, as another Pod would.
func (d *Daemon) ScrapeFrom(ctx context.Context, address string, trust *x509.CertPool, token string) (code int, body string, err error) {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	client := &http.Client{Transport: &http.Transport{
		DialContext: dialer.DialContext, DisableKeepAlives: true, ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: trust, MinVersion: tls.VersionTLS12},
	}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+d.Address("metrics")+"/metrics", nil)
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.ProtoMajor != 1 {
		err = fmt.Errorf("it speaks %s", response.Proto)
	}
	return response.StatusCode, string(text), err
}

// WriteFile writes a file that only its owner may read.
func WriteFile(t *testing.T, path string, data []byte) {
	t.Helper()
	Must(t, os.WriteFile(path, data, 0o600))
}

// WatchState is the series for one state of the watch of a resource.
func WatchState(resource, state string) string {
	return fmt.Sprintf("karmada_mirror_watch_state{resource=%q,state=%q}", resource, state)
}

// InForce is logged when a configuration has been accepted.
const InForce = "configuration in force"

// Reconfigure makes a change to the configuration and waits until it is in force.
func (d *Daemon) Reconfigure(t *testing.T, change func()) {
	t.Helper()
	before := d.Logged(InForce)
	change()
	Eventually(t, "the configuration to be in force", d.WantLogged(InForce, before+1))
}
