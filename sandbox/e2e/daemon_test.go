package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/karmada-target/karmada-mirror/cli"
)

// daemonVariable in the environment makes the test binary karmada-mirror: with
// the race detector, and with a look for goroutines that are left at the end.
const daemonVariable = "KARMADA_MIRROR_E2E_DAEMON"

// leakPatience is how long client-go may take to finish an event that it was
// decoding when its watch was stopped: one of a megabyte, under the race
// detector, takes seconds.
const leakPatience = 10 * time.Second

// runDaemon is main of karmada-mirror. What stays is client-go's pool of
// connections, which belongs to the process, and klog's flusher.
func runDaemon() int {
	code := cli.Main()
	deadline := time.Now().Add(leakPatience)
	err := findLeaks()
	for err != nil && time.Now().Before(deadline) {
		err = findLeaks()
	}
	if err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	return code
}

func findLeaks() error {
	return goleak.Find(
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
		goleak.IgnoreAnyFunction("net/http.(*http2clientConnReadLoop).run"),
		goleak.IgnoreAnyFunction("golang.org/x/net/http2.(*clientConnReadLoop).run"),
		goleak.IgnoreAnyFunction("k8s.io/klog/v2.(*flushDaemon).run.func1"))
}

// daemon is a running karmada-mirror.
type daemon struct {
	command *exec.Cmd
	ended   chan struct{}
	err     error // of the process, once ended
	// dismissed: the test has stopped or killed it.
	dismissed atomic.Bool

	mu        sync.Mutex
	lines     []map[string]any
	raw       bytes.Buffer
	addresses map[string]string // of the servers
}

// startDaemon runs karmada-mirror until the test ends, and waits until it is
// ready. The test fails if it does not end well, or raced.
func startDaemon(t *testing.T, flags ...string) *daemon {
	t.Helper()
	d := spawnDaemon(t, flags...)
	eventually(t, "the daemon to be ready", func(context.Context) error { return d.probe("/readyz") })
	return d
}

// spawnDaemon does not wait: a fault may keep the daemon from getting ready.
func spawnDaemon(t *testing.T, flags ...string) *daemon {
	t.Helper()
	d := launchDaemon(t, flags...)
	t.Cleanup(func() {
		if err := d.stop(); err != nil {
			t.Errorf("the daemon ended badly: %v", err)
		}
		d.wantOnlyJSON(t)
		if t.Failed() {
			t.Logf("the daemon's log:\n%s", d.log())
		}
	})
	return d
}

// noListDetector goes among the flags of a daemon whose lists are cut short at random:
// the detector compares one with another, and panics.
const noListDetector = "KUBE_WATCHLIST_INCONSISTENCY_DETECTOR=false"

// noMutationDetector goes among the flags of a daemon whose memory is measured:
// the detector keeps every object for ever.
const noMutationDetector = "KUBE_CACHE_MUTATION_DETECTOR=false"

// launchDaemon only starts it. A flag that begins with KUBE_ is a variable of its
// environment.
func launchDaemon(t *testing.T, flags ...string) *daemon {
	t.Helper()
	d := &daemon{ended: make(chan struct{}), addresses: map[string]string{}}
	d.command = exec.Command(env.daemon, "run", "--kubeconfig", env.kubeconfig, "--log-level", "debug",
		"--metrics-bind-address", "127.0.0.1:0", "--health-probe-bind-address", "127.0.0.1:0")
	d.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	// client-go's own detectors panic on a cached object that was changed and on a
	// streaming list that differs from a plain one.
	d.command.Env = append(os.Environ(), daemonVariable+"=1", "GORACE=halt_on_error=1",
		"KUBE_CACHE_MUTATION_DETECTOR=true", "KUBE_WATCHLIST_INCONSISTENCY_DETECTOR=true")
	for _, flag := range flags {
		if strings.HasPrefix(flag, "KUBE_") {
			d.command.Env = append(d.command.Env, flag)
		} else {
			d.command.Args = append(d.command.Args, flag)
		}
	}
	stderr, err := d.command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(d.ended)
		d.read(stderr)
		d.err = d.command.Wait()
	}()
	return d
}

func (d *daemon) read(stderr io.Reader) {
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		d.mu.Lock()
		d.raw.Write(lines.Bytes())
		d.raw.WriteByte('\n')
		var line map[string]any
		if json.Unmarshal(lines.Bytes(), &line) == nil {
			d.lines = append(d.lines, line)
			if line["msg"] == "serving" {
				d.addresses[line["what"].(string)] = line["address"].(string)
			}
		}
		d.mu.Unlock()
	}
}

// wantOnlyJSON fails the test if a line has not come through the logger: a panic,
// a race, or a library that logs on its own.
func (d *daemon) wantOnlyJSON(t *testing.T) {
	t.Helper()
	lines := slices.Collect(strings.Lines(d.log()))
	for i, line := range lines {
		if cut := d.dismissed.Load() && i == len(lines)-1; !json.Valid([]byte(line)) && !isGoodReason(line) && !cut {
			t.Errorf("the daemon printed %q", line)
			return
		}
	}
}

// isGoodReason reports whether a line is what a daemon prints when it has to end: it
// leads no more, or etcd was restored.
func isGoodReason(line string) bool {
	return line == "karmada-mirror: lost the lease: another replica may be leading\n" ||
		strings.HasPrefix(line, "karmada-mirror: the API server's data are older than what was read from it")
}

// wantGoodEnd fails the test if a daemon has ended for another reason than these, or
// that the test has ended it: of a panic, a race or a leak.
func (d *daemon) wantGoodEnd(t *testing.T) {
	t.Helper()
	d.wantOnlyJSON(t)
	lines := slices.Collect(strings.Lines(d.log()))
	if !d.dismissed.Load() && (len(lines) == 0 || !isGoodReason(lines[len(lines)-1])) {
		t.Errorf("the daemon ended by itself: %v", d.err)
	}
}

func (d *daemon) log() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.raw.String()
}

// logged counts the lines with this message.
func (d *daemon) logged(message string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	count := 0
	for _, line := range d.lines {
		if line["msg"] == message {
			count++
		}
	}
	return count
}

// wantExit waits until the daemon ends because it has lost its Lease. It is for
// daemons that were launched: those that were started must end well.
func (d *daemon) wantExit(t *testing.T, limit time.Duration) {
	t.Helper()
	select {
	case <-d.ended:
	case <-time.After(limit):
		_ = d.command.Process.Kill()
		t.Fatalf("the daemon has not ended:\n%s", d.log())
	}
	d.wantGoodEnd(t)
}

// stop ends the daemon in good order. It is an error if it has ended by itself.
func (d *daemon) stop() error {
	dismissed := d.dismissed.Swap(true)
	select {
	case <-d.ended:
		if !dismissed {
			return fmt.Errorf("it ended by itself: %v", d.err)
		}
		return nil
	default:
	}
	if err := d.command.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-d.ended:
		return d.err
	case <-time.After(20 * time.Second):
		_ = d.command.Process.Kill()
		<-d.ended
		return fmt.Errorf("it did not end within 20 s of SIGTERM")
	}
}

// terminate asks the daemon to end, as a Deployment does.
func (d *daemon) terminate(t *testing.T) {
	t.Helper()
	d.dismissed.Store(true)
	if err := d.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
}

// kill ends the daemon as a power cut would.
func (d *daemon) kill(t *testing.T) {
	t.Helper()
	d.dismissed.Store(true)
	if err := d.command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-d.ended
}

// endAtEnd ends a launched daemon with its test.
func endAtEnd(t *testing.T, d *daemon) {
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the daemon's log:\n%s", d.log())
		}
		select {
		case <-d.ended:
			d.wantGoodEnd(t)
		default:
			d.kill(t)
		}
	})
}

func (d *daemon) get(server, path string) (int, string, error) {
	d.mu.Lock()
	address := d.addresses[server]
	d.mu.Unlock()
	if address == "" {
		return 0, "", fmt.Errorf("it does not serve %s yet", server)
	}
	response, err := http.Get("http://" + address + path)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}

func (d *daemon) probe(path string) error {
	code, body, err := d.get("probes", path)
	if err == nil && code != http.StatusOK {
		err = fmt.Errorf("%s answers %d: %s", path, code, body)
	}
	return err
}

// metric returns the value of a series, written as in the exposition format.
func (d *daemon) metric(series string) (string, error) {
	_, body, err := d.get("metrics", "/metrics")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(body) {
		if value, ok := strings.CutPrefix(line, series+" "); ok {
			return strings.TrimSpace(value), nil
		}
	}
	return "", fmt.Errorf("there is no series %s", series)
}

func (d *daemon) wantMetric(series, want string) func(context.Context) error {
	return func(context.Context) error {
		got, err := d.metric(series)
		if err == nil && got != want {
			err = fmt.Errorf("%s is %s, not %s", series, got, want)
		}
		return err
	}
}

func repositoryFile(t *testing.T, elements ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(append([]string{env.builder.Repository()}, elements...)...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// settled reads the number of goroutines, and the heap as it is after a garbage
// collection: the least of some readings.
func (d *daemon) settled(t *testing.T) (goroutines, heap float64) {
	t.Helper()
	for i := range 10 {
		pass(t, 300*time.Millisecond)
		g, h := d.number(t, "go_goroutines"), d.number(t, "go_memstats_heap_alloc_bytes")
		if i == 0 {
			goroutines, heap = g, h
		}
		goroutines, heap = min(goroutines, g), min(heap, h)
	}
	return goroutines, heap
}

func (d *daemon) number(t *testing.T, series string) float64 {
	t.Helper()
	number, err := d.reading(series)
	if err != nil {
		t.Fatal(err)
	}
	return number
}

func (d *daemon) reading(series string) (float64, error) {
	value, err := d.metric(series)
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(value, 64)
}
