package process

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
	"slices"
	"sync"
)

// DaemonOptions say how to run karmada-mirror.
type DaemonOptions struct {
	// Program is the program and any arguments before its subcommand `run`.
	Program []string
	// Kubeconfig is the path of the daemon's kubeconfig.
	Kubeconfig string
	// Flags are flags of run. Unless they say otherwise, it serves on free loopback
	// ports, and a leader has a minute to renew its Lease, which a busy machine needs.
	Flags []string
	// Environment is added to this process's own.
	Environment []string
	// LogFile is the path of a file to append the log to; empty if Log is enough.
	LogFile string
}

// Daemon is a karmada-mirror that is running or has ended.
type Daemon struct {
	*Process

	mu        sync.Mutex
	raw       bytes.Buffer
	messages  map[string]int
	addresses map[string]string // of its servers
}

// StartDaemon starts karmada-mirror, and does not wait until it is ready.
func StartDaemon(o DaemonOptions) (*Daemon, error) {
	d := &Daemon{messages: map[string]int{}, addresses: map[string]string{}}
	arguments := slices.Concat(o.Program[1:], []string{"run", "--kubeconfig", o.Kubeconfig,
		"--metrics-bind-address", "127.0.0.1:0", "--health-probe-bind-address", "127.0.0.1:0",
		"--leader-elect-lease-duration", "60s", "--leader-elect-renew-deadline", "50s"}, o.Flags)
	command := exec.Command(o.Program[0], arguments...)
	command.Env = append(os.Environ(), o.Environment...)
	if o.LogFile == "" {
		var err error
		d.Process, err = Start(command, d.read)
		return d, err
	}
	file, err := os.OpenFile(o.LogFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot open the log of karmada-mirror: %w", err)
	}
	d.Process, err = Start(command, func(stderr io.Reader) {
		defer file.Close()
		d.read(io.TeeReader(stderr, file))
	})
	return d, err
}

// read reads the log line by line. A line that is not JSON is kept as it is.
func (d *Daemon) read(stderr io.Reader) {
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line struct{ Msg, What, Address string }
		isJSON := json.Unmarshal(lines.Bytes(), &line) == nil
		d.mu.Lock()
		d.raw.Write(lines.Bytes())
		d.raw.WriteByte('\n')
		if isJSON {
			d.messages[line.Msg]++
			if line.Msg == "serving" {
				d.addresses[line.What] = line.Address
			}
		}
		d.mu.Unlock()
	}
}

// Log returns everything that was logged so far.
func (d *Daemon) Log() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.raw.String()
}

// Logged counts the log lines with this message.
func (d *Daemon) Logged(message string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.messages[message]
}

// Address returns where one of its servers ("metrics", "probes" or "profiles") listens,
// or an empty string until it does.
func (d *Daemon) Address(server string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.addresses[server]
}

// Get sends a request to one of its servers.
func (d *Daemon) Get(ctx context.Context, server, path string) (code int, body string, err error) {
	address := d.Address(server)
	if address == "" {
		return 0, "", fmt.Errorf("it does not serve %s yet", server)
	}
	return ask(ctx, "http://"+address+path)
}

// Probe returns an error unless a probe, such as /readyz, answers 200.
func (d *Daemon) Probe(ctx context.Context, path string) error {
	code, body, err := d.Get(ctx, "probes", path)
	if err == nil && code != http.StatusOK {
		err = fmt.Errorf("%s answers %d: %s", path, code, body)
	}
	return err
}
