// Package build compiles the programs that a sandbox runs, with the go command and
// its cache: a second build of the same sources takes seconds. It does not know how
// the programs are started.
//
// Call it from inside the sandbox module, as `go run` and `go test` do: it finds the
// versions and sources of Karmada and Kubernetes through go.mod.
package build

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Builder compiles programs.
type Builder struct {
	// Progress gets lines that say what is happening.
	Progress io.Writer
	// module is the folder of the sandbox module.
	module  string
	release release
	// compiled are the outputs of steps that have run: sources do not change while a process lasts.
	mu       sync.Mutex
	compiled map[string]bool
}

// New reads go.mod of the module around the working directory, for the Karmada that [KarmadaVariable] selects.
func New(ctx context.Context, progress io.Writer) (*Builder, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return nil, fmt.Errorf("cannot find the sandbox module: %w", err)
	}
	module := filepath.Dir(strings.TrimSpace(string(out)))
	b := &Builder{Progress: progress, module: module, compiled: map[string]bool{}}
	b.release, err = choose(ctx, module, b.Cache(), os.Getenv(KarmadaVariable))
	return b, err
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

// All compiles what a sandbox and karmada-mirror need; checked adds [Builder.CheckedDaemon]. The first time takes minutes.
func (b *Builder) All(ctx context.Context, checked bool) error {
	steps := append(b.components(), b.daemon())
	if checked {
		steps = append(steps, b.checkedDaemon())
	}
	return b.compile(ctx, steps...)
}

// Hyperkarmada compiles the binary that contains all components of Karmada and
// returns its path.
func (b *Builder) Hyperkarmada(ctx context.Context) (string, error) {
	return b.binary(b.release.binary), b.compile(ctx, b.components()...)
}

// Kwok compiles the program that plays the kubelets of a member, and returns its path and
// those of its Stages, which say what it does to nodes and Pods.
func (b *Builder) Kwok(ctx context.Context) (path string, stages []string, err error) {
	if err := b.compile(ctx, b.components()...); err != nil {
		return "", nil, err
	}
	// See choose for why they are downloaded.
	modules, err := goModules(ctx, b.module, "mod", "download", "-json", kwok)
	own := filepath.Join(modules[kwok].Dir, "kustomize", "stage")
	return b.binary("kwok"), []string{
		filepath.Join(own, "node", "fast", "node-initialize.yaml"),
		filepath.Join(own, "pod", "fast", "pod-ready.yaml"),
		filepath.Join(own, "pod", "fast", "pod-complete.yaml"),
		filepath.Join(own, "pod", "fast", "pod-delete.yaml"),
		filepath.Join(b.module, "karmada", "stages.yaml"),
	}, err
}

// Daemon compiles karmada-mirror and returns its path.
func (b *Builder) Daemon(ctx context.Context) (string, error) {
	s := b.daemon()
	return s.output, b.compile(ctx, s)
}

// CheckedDaemon compiles karmada-mirror with the race detector, as the end-to-end
// tests run it, and returns its path.
func (b *Builder) CheckedDaemon(ctx context.Context) (string, error) {
	s := b.checkedDaemon()
	return s.output, b.compile(ctx, s)
}

func (b *Builder) binary(name string) string { return filepath.Join(b.Cache(), "bin", name) }

// step is one run of go build.
type step struct {
	what   string
	isRace bool
	// dir is where it runs, and output is a file, or a folder for several targets. modFile is another go.mod to use.
	dir, output, modFile string
	targets              []string
	ldflags              []string
}

// components are the sandbox command and what it starts. One command compiles the packages that they share once.
func (b *Builder) components() []step {
	own := step{what: "the sandbox", dir: b.module, output: b.binary("") + "/", targets: []string{".", kwok + "/cmd/kwok"}}
	all := step{
		what: b.Versions(), dir: b.module, modFile: b.release.modFile, output: b.binary(b.release.binary), targets: []string{hyperkarmada},
		// Without them, clusters report the version v0.0.0-master+$Format:%H$.
		ldflags: []string{
			"-X", "k8s.io/component-base/version.gitVersion=" + b.release.kubernetes.Version,
			"-X", "k8s.io/client-go/pkg/version.gitVersion=" + b.release.kubernetes.Version,
			"-X", karmada + "/pkg/version.gitVersion=" + b.release.karmada.Version,
		},
	}
	if all.modFile != "" {
		return []step{own, all}
	}
	all.targets, all.output = append(all.targets, own.targets...), own.output
	return []step{all}
}

func (b *Builder) daemon() step {
	return step{what: "karmada-mirror", dir: b.Repository(), output: b.binary("karmada-mirror"), targets: []string{"."}}
}

func (b *Builder) checkedDaemon() step {
	return step{
		what: "karmada-mirror with the race detector", isRace: true, output: b.binary("karmada-mirror-checked"),
		dir: filepath.Join(b.Repository(), "simulation"), targets: []string{checked}, // with the daemon's own libraries, not Karmada's
	}
}

// compile runs the steps that have not run yet, and reports how far they have come, all together.
func (b *Builder) compile(ctx context.Context, steps ...step) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	steps = slices.DeleteFunc(steps, func(s step) bool { return b.compiled[s.output] })
	var names []string
	for _, s := range steps {
		names = append(names, s.what)
	}
	p := newProgress(b.Progress, strings.Join(names, ", "))
	defer p.end()
	for _, s := range steps {
		stale, err := s.stale(ctx, p)
		if err != nil {
			return err
		}
		p.total += stale
	}
	for _, s := range steps {
		ldflags := strings.Join(append([]string{"-s", "-w"}, s.ldflags...), " ")
		if _, err := s.run(ctx, p, slices.Concat([]string{"build", "-v"}, s.flags(), []string{"-o", s.output, "-ldflags", ldflags}, s.targets)...); err != nil {
			return err
		}
		b.compiled[s.output] = true
	}
	p.succeed()
	return nil
}

// stale counts the packages to compile. It downloads the modules that are missing.
func (s step) stale(ctx context.Context, p *progress) (int, error) {
	out, err := s.run(ctx, p, slices.Concat([]string{"list", "-deps", "-f", `{{if or .Stale (eq .Name "main")}}x{{end}}`}, s.flags(), s.targets)...)
	return strings.Count(out, "x"), err
}

func (s step) flags() (flags []string) {
	if s.isRace {
		flags = append(flags, "-race")
	}
	if s.modFile != "" {
		flags = append(flags, "-mod=mod", "-modfile="+s.modFile)
	}
	return flags
}

func (s step) run(ctx context.Context, p *progress, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, "go", arguments...)
	command.Dir = s.dir
	// The race detector needs cgo; nothing else does, and it would take a C compiler and a tenth of the time.
	command.Env = append(append([]string{"GOGC=400"}, os.Environ()...), "CGO_ENABLED=0") // see docs/decisions/sandbox.md; yours wins
	if s.isRace {
		command.Env = append(command.Env, "CGO_ENABLED=1")
	}
	// Ctrl-C also reaches the go command, which needs a moment to remove its
	// temporary files.
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = cancelDelay
	var out strings.Builder
	command.Stdout, command.Stderr = &out, p
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("cannot compile %s: %w: %s", s.what, err, p.messages())
	}
	return out.String(), nil
}
