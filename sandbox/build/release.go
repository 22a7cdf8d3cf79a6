package build

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/semver"
)

// KarmadaVariable is the environment variable that selects a Karmada by its minor
// version, such as 1.17. Unset or empty means the newest, which go.mod has.
const KarmadaVariable = "SANDBOX_KARMADA"

// KubernetesVariable is the environment variable that selects another kube-apiserver for Karmada, by its minor version, such as 1.36.
// Unset or empty means that of the Kubernetes which Karmada is compiled with.
const KubernetesVariable = "SANDBOX_KUBERNETES"

// newer are the versions of Kubernetes whose kube-apiserver can be compiled.
var newer = []string{"v1.36.3", "v1.37.2"}

// older are the other versions of Karmada that can be compiled, each with the newest's Kubernetes.
var older = []string{"v1.17.1"}

const (
	// hyperkarmada is the main package that contains all components of Karmada.
	hyperkarmada = "github.com/karmada-target/karmada-mirror/sandbox/hyperkarmada"
	checked      = "github.com/karmada-target/karmada-mirror/simulation/checked"
	// The modules whose versions the components report.
	kubernetes = "k8s.io/kubernetes"
	karmada    = "github.com/karmada-io/karmada"
	// kwok is compiled in the sandbox module, whichever Karmada is chosen.
	kwok = "sigs.k8s.io/kwok"
)

// release is a Karmada that can be compiled.
type release struct {
	// modFile is the go.mod that selects it; empty for the sandbox module's own.
	modFile string
	// binary is the file name of the compiled program.
	binary              string
	kubernetes, karmada moduleInfo
}

type moduleInfo struct{ Path, Version, Dir string }

// choose finds the release of a minor version, and its sources. What it writes goes to a folder.
func choose(ctx context.Context, module, cache, minor string) (release, error) {
	own, err := goModules(ctx, module, "list", "-m", "-json", karmada, kubernetes)
	if err != nil {
		return release{}, err
	}
	r := release{binary: "hyperkarmada"}
	var offered []string
	for _, v := range append([]string{own[karmada].Version}, older...) {
		has := strings.TrimPrefix(semver.MajorMinor(v), "v")
		offered = append(offered, has)
		if minor != has && (minor != "" || v != own[karmada].Version) {
			continue
		}
		if v != own[karmada].Version {
			r.binary += "-" + has
			if r.modFile, err = alter(module, filepath.Join(cache, r.binary+".mod"), func(text string) string { return text + "\nreplace " + karmada + " => " + karmada + " " + v + "\n" }); err != nil {
				return release{}, err
			}
		}
		// The sources have a location only once they are downloaded, and a fresh
		// machine that built only this command has not done that yet.
		sources, err := goModules(ctx, module, "mod", "download", "-json", karmada+"@"+v, kubernetes+"@"+own[kubernetes].Version)
		r.karmada, r.kubernetes = sources[karmada], sources[kubernetes]
		return r, err
	}
	return release{}, fmt.Errorf("cannot find Karmada %q: set %s to one of %s", minor, KarmadaVariable, strings.Join(offered, ", "))
}

// alter writes the module's go.mod, changed, and its go.sum to a file and one beside it.
func alter(module, modFile string, change func(text string) string) (string, error) {
	for from, to := range map[string]string{"go.mod": modFile, "go.sum": strings.TrimSuffix(modFile, ".mod") + ".sum"} {
		text, err := os.ReadFile(filepath.Join(module, from))
		if from == "go.mod" {
			text = []byte(change(string(text)))
		}
		if err == nil {
			err = errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, text, 0o644))
		}
		if err != nil {
			return "", fmt.Errorf("cannot select other versions of modules: %w", err)
		}
	}
	return modFile, nil
}

// APIServer compiles the kube-apiserver that [KubernetesVariable] selects, and returns its path; empty if it selects none. Its modules
// have the versions v0.x.y to its v1.x.y.
func (b *Builder) APIServer(ctx context.Context) (string, error) {
	minor := os.Getenv(KubernetesVariable)
	if minor == "" {
		return "", nil
	}
	i := slices.IndexFunc(newer, func(v string) bool { return semver.MajorMinor(v) == "v"+minor })
	if i < 0 {
		return "", fmt.Errorf("cannot find Kubernetes %q: set %s to one of %s", minor, KubernetesVariable, strings.Join(newer, ", "))
	}
	has, wants := b.release.kubernetes.Version, newer[i]
	output := b.binary("kube-apiserver-" + minor)
	modFile, err := alter(b.module, filepath.Join(b.Cache(), filepath.Base(output)+".mod"), func(text string) string {
		return strings.NewReplacer(has, wants, strings.Replace(has, "v1", "v0", 1), strings.Replace(wants, "v1", "v0", 1)).Replace(text)
	})
	if err != nil {
		return "", err
	}
	return output, b.compile(ctx, step{
		what: "kube-apiserver " + wants, dir: b.module, modFile: modFile, output: output, targets: []string{kubernetes + "/cmd/kube-apiserver"},
		ldflags: []string{"-X", "k8s.io/component-base/version.gitVersion=" + wants},
	})
}

// goModules runs a go command that describes modules, and returns them by path.
func goModules(ctx context.Context, dir string, arguments ...string) (map[string]moduleInfo, error) {
	command := exec.CommandContext(ctx, "go", arguments...)
	command.Dir = dir
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("cannot find the sources of the components (is %q in the sandbox module?): %w", dir, withStderr(err))
	}
	modules := map[string]moduleInfo{}
	decoder := json.NewDecoder(bytes.NewReader(out))
	for decoder.More() {
		var m moduleInfo
		if err := decoder.Decode(&m); err != nil {
			return nil, fmt.Errorf("cannot decode the list of modules: %w", err)
		}
		modules[m.Path] = m
	}
	return modules, nil
}

func withStderr(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return fmt.Errorf("%w: %s", err, strings.Join(strings.Fields(string(exit.Stderr)), " "))
	}
	return err
}
