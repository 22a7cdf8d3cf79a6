// Package build compiles the programs that a sandbox runs, with the go command and
// its cache: a second build of the same sources takes seconds. It does not know how
// the programs are started.
//
// Call it from inside the sandbox module, as `go run` and `go test` do: it finds the
// versions and sources of Karmada and Kubernetes through go.mod.
package build

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// heartbeatInterval is how often a long step reports that it is still running.
const heartbeatInterval = 10 * time.Second

// Builder compiles programs.
type Builder struct {
	// Progress gets lines that say what is happening.
	Progress io.Writer
	// module is the folder of the sandbox module.
	module  string
	release release
}

// New reads go.mod of the module around the working directory, and of the module with
// the Karmada that [KarmadaVariable] selects.
func New(ctx context.Context, progress io.Writer) (*Builder, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return nil, fmt.Errorf("cannot find the sandbox module: %w", err)
	}
	module := filepath.Dir(strings.TrimSpace(string(out)))
	chosen, err := choose(ctx, module, os.Getenv(KarmadaVariable))
	if err != nil {
		return nil, err
	}
	return &Builder{Progress: progress, module: module, release: chosen}, nil
}

// Repository is the folder of the repository that contains the sandbox.
func (b *Builder) Repository() string { return filepath.Dir(b.module) }

// Cache is a folder that git ignores.
func (b *Builder) Cache() string { return filepath.Join(b.Repository(), ".cache") }

// KarmadaSources is the folder with the sources of the Karmada module.
func (b *Builder) KarmadaSources() string { return b.release.karmada.Dir }

// Versions names the versions of Karmada and Kubernetes that are built.
func (b *Builder) Versions() string {
	return fmt.Sprintf("Karmada %s with Kubernetes %s", b.release.karmada.Version, b.release.kubernetes.Version)
}

// Hyperkarmada compiles the binary that contains all components of Karmada and
// returns its path. The first build takes minutes.
func (b *Builder) Hyperkarmada(ctx context.Context) (string, error) {
	path := filepath.Join(b.Cache(), "bin", b.release.binary)
	return path, b.compile(ctx, step{
		what: b.Versions() + ", from source",
		hint: "about 10 minutes on 2 cores the first time, then seconds",
		// Without them, clusters report the version v0.0.0-master+$Format:%H$.
		ldflags: []string{
			"-s", "-w",
			"-X", "k8s.io/component-base/version.gitVersion=" + b.release.kubernetes.Version,
			"-X", "k8s.io/client-go/pkg/version.gitVersion=" + b.release.kubernetes.Version,
			"-X", karmada + "/pkg/version.gitVersion=" + b.release.karmada.Version,
		},
		dir: b.release.dir, output: path, target: hyperkarmada,
	})
}

// Kwok compiles the program that plays the kubelets of a member, and returns its path and
// those of its Stages, which say what it does to nodes and Pods.
func (b *Builder) Kwok(ctx context.Context) (path string, stages []string, err error) {
	dir := filepath.Join(b.module, kwokFolder)
	// See choose for why they are downloaded.
	modules, err := goModules(ctx, dir, "mod", "download", "-json", kwok)
	if err != nil {
		return "", nil, err
	}
	own := filepath.Join(modules[kwok].Dir, "kustomize", "stage")
	stages = []string{
		filepath.Join(own, "node", "fast", "node-initialize.yaml"),
		filepath.Join(own, "pod", "fast", "pod-ready.yaml"),
		filepath.Join(own, "pod", "fast", "pod-complete.yaml"),
		filepath.Join(own, "pod", "fast", "pod-delete.yaml"),
		filepath.Join(dir, "stages.yaml"),
	}
	path = filepath.Join(b.Cache(), "bin", "kwok")
	return path, stages, b.compile(ctx, step{
		what: "kwok " + modules[kwok].Version, hint: "about three minutes the first time, then seconds",
		ldflags: []string{"-s", "-w"},
		dir:     dir, output: path, target: kwok + "/cmd/kwok",
	})
}

// Daemon compiles karmada-mirror and returns its path.
func (b *Builder) Daemon(ctx context.Context) (string, error) {
	path := filepath.Join(b.Cache(), "bin", "karmada-mirror")
	return path, b.compile(ctx, step{
		what: "karmada-mirror", hint: "about a minute the first time",
		dir: b.Repository(), output: path, target: ".",
	})
}

// CheckedDaemon compiles karmada-mirror with the race detector, as the end-to-end
// tests run it, and returns its path.
func (b *Builder) CheckedDaemon(ctx context.Context) (string, error) {
	path := filepath.Join(b.Cache(), "bin", "karmada-mirror-checked")
	return path, b.compile(ctx, step{
		what: "karmada-mirror with the race detector", hint: "about two minutes the first time",
		flags: []string{"-race"},
		dir:   filepath.Join(b.Repository(), "simulation"), output: path, target: checked, // with the daemon's own libraries, not Karmada's
	})
}

type step struct {
	what, hint          string
	flags, ldflags      []string
	dir, output, target string
}

func (b *Builder) compile(ctx context.Context, s step) error {
	b.say("compiling %s (%s)", s.what, s.hint)
	begun := time.Now()
	arguments := slices.Concat([]string{"build", "-v"}, s.flags, []string{"-o", s.output, "-ldflags", strings.Join(s.ldflags, " "), s.target})
	command := exec.CommandContext(ctx, "go", arguments...)
	command.Dir = s.dir
	// Ctrl-C also reaches the go command, which needs a moment to remove its
	// temporary files.
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = 5 * time.Second
	// The packages that -v names show that something happens.
	var said bytes.Buffer
	command.Stderr = io.MultiWriter(&said, &heartbeat{b: b, begun: begun, last: begun})
	err := command.Run()
	if err != nil {
		return fmt.Errorf("cannot compile %s: %w: %s", s.what, err, said.String())
	}
	b.say("  done in %s: %s", time.Since(begun).Round(100*time.Millisecond), s.output)
	return nil
}

// heartbeat reports how far a build has come, but not more often than every few seconds.
type heartbeat struct {
	b           *Builder
	begun, last time.Time
}

// Write gets the paths of packages, and never fails.
func (h *heartbeat) Write(p []byte) (int, error) {
	if time.Since(h.last) >= heartbeatInterval {
		h.last = time.Now()
		h.b.say("  %s: %s", h.last.Sub(h.begun).Round(time.Second), bytes.TrimSpace(p))
	}
	return len(p), nil
}

func (b *Builder) say(format string, arguments ...any) {
	// Ignore the error: there is nowhere else to report it.
	_, _ = fmt.Fprintf(b.Progress, format+"\n", arguments...)
}
