package karmada

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// tier orders shutdown: components that others depend on stop last. Components of one
// tier stop together.
type tier int

const (
	storage tier = iota
	servers
	callers
)

// spec is what a component is started from each time.
type spec struct {
	// name is unique in the sandbox and names the log.
	name string
	// program is the component of hyperkarmada, unless binary is set.
	program string
	// binary is the path of a program that is not in hyperkarmada.
	binary string
	flags  []string
	tier   tier
	// probe answers 200 once the component is ready; ca verifies it. Without a probe, it
	// counts as ready once it is started.
	probe string
	ca    []byte
}

// Component is one process of the sandbox. Its methods may be called at any
// time between Start and Stop of the [Karmada] it belongs to.
type Component struct {
	spec
	k *Karmada

	mu sync.Mutex
	// more are the flags from RestartWith.
	more []string
	// current is nil if the component was never started.
	current *child
}

// Log is the path of the log file with the output of all runs.
func (c *Component) Log() string { return filepath.Join(c.k.options.Dir, "log", c.name+".log") }

// PID is the process ID of the current or last run, 0 before the first.
func (c *Component) PID() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current == nil {
		return 0
	}
	return c.current.PID()
}

// Stop stops the component as an operator would: SIGTERM, and SIGKILL if that takes more
// than a few seconds. It returns when the process is gone.
func (c *Component) Stop() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current == nil || c.current.HasEnded() {
		return nil
	}
	if err := c.current.stop(); err != nil {
		return fmt.Errorf("cannot stop component %q: %w", c.name, err)
	}
	return nil
}

// Restart stops the component if it runs, starts it with the same flags and
// ports, and returns when it is ready.
func (c *Component) Restart(ctx context.Context) error {
	return c.RestartWith(ctx, c.more...)
}

// RestartWith is Restart with flags added to the component's own. They replace flags of
// the same name, and those of an earlier RestartWith.
func (c *Component) RestartWith(ctx context.Context, flags ...string) error {
	if err := c.Stop(); err != nil {
		return err
	}
	c.mu.Lock()
	c.more = flags
	c.mu.Unlock()
	return c.start(ctx)
}

// start launches the component and waits until it is ready.
func (c *Component) start(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	begun := time.Now()
	if err := c.launch(); err != nil {
		return err
	}
	if c.probe == "" {
		c.k.say("%s is started", c.name)
		return nil
	}
	client, err := probeClient(c.ca)
	if err != nil {
		return err
	}
	err = c.k.Wait(ctx, c.name+" to be ready", func(ctx context.Context) error {
		return probe(ctx, client, c.probe)
	})
	if err != nil {
		return err
	}
	c.k.say("%s is ready after %.1fs", c.name, time.Since(begun).Seconds())
	return nil
}

func (c *Component) launch() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	log, err := os.OpenFile(c.Log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("cannot open the log of %q: %w", c.name, err)
	}
	defer log.Close()

	command := exec.Command(c.k.options.Programs.Hyperkarmada, c.program)
	if c.binary != "" {
		command = exec.Command(c.binary)
	}
	command.Args = append(command.Args, override(c.flags, c.more)...)
	command.Dir = c.k.options.Dir
	// Pass nothing of the caller's environment: a KUBECONFIG or a proxy in it would
	// change what a component talks to.
	command.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.k.options.Dir, "TMPDIR=" + os.TempDir()}, c.k.options.Environment...)
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = attributes(c.k.options.Detach)
	c.k.forgive(c.name)
	c.current, err = launch(command, func(err error) {
		c.k.died(c.name, fmt.Errorf("%s ended: %w: %s ends with %q", c.name, err, c.Log(), c.LastLines("")))
	})
	if err != nil {
		c.current = nil
		return err
	}
	return c.k.record(c, c.current)
}

// override appends more to flags, without the flags of the same name: a component adds
// up the values of a list flag, such as --controllers.
func override(flags, more []string) []string {
	name := func(flag string) string {
		name, _, _ := strings.Cut(flag, "=")
		return name
	}
	kept := slices.DeleteFunc(slices.Clone(flags), func(flag string) bool {
		return slices.ContainsFunc(more, func(m string) bool { return name(m) == name(flag) })
	})
	return append(kept, more...)
}

// probeClient keeps no connection open: a component is probed again after a restart, and
// tests look for leaked goroutines.
func probeClient(ca []byte) (*http.Client, error) {
	transport := &http.Transport{DisableKeepAlives: true}
	if ca != nil {
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(ca) {
			return nil, fmt.Errorf("cannot use the certificate authority: no certificate in it")
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	return &http.Client{Transport: transport, Timeout: 5 * time.Second}, nil
}

func probe(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, response.Status)
	}
	return nil
}

// LastLines returns the end of the log, only those lines that contain about; nothing if the log
// cannot be read.
func (c *Component) LastLines(about string) string {
	content, _ := os.ReadFile(c.Log()) // nothing
	lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(string(content)), "\n"), func(line string) bool {
		return !strings.Contains(line, about)
	})
	return strings.Join(lines[max(0, len(lines)-20):], " | ")
}
