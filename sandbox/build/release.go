package build

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
)

// KarmadaVariable is the environment variable that selects a Karmada by its minor
// version, such as 1.16. Unset or empty means the newest.
const KarmadaVariable = "SANDBOX_KARMADA"

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

// folders are the modules that hyperkarmada can be compiled in, relative to the
// sandbox module, newest Karmada first. Each go.mod selects a Karmada and the
// Kubernetes that goes with it; hyperkarmada's own selects the oldest.
var folders = []string{".", "hyperkarmada"}

// release is a Karmada that can be compiled.
type release struct {
	// dir is the folder of the module that selects it.
	dir string
	// binary is the file name of the compiled program.
	binary              string
	kubernetes, karmada moduleInfo
}

type moduleInfo struct{ Path, Version, Dir string }

// choose finds the release of a minor version, and its sources.
func choose(ctx context.Context, module, minor string) (release, error) {
	var offered []string
	for i, folder := range folders {
		dir := filepath.Join(module, folder)
		versions, err := goModules(ctx, dir, "list", "-m", "-json", karmada)
		if err != nil {
			return release{}, err
		}
		v, err := version.ParseSemantic(versions[karmada].Version)
		if err != nil {
			return release{}, fmt.Errorf("cannot tell which Karmada %q has: %w", dir, err)
		}
		has := fmt.Sprintf("%d.%d", v.Major(), v.Minor())
		offered = append(offered, has)
		if minor != has && (minor != "" || i > 0) {
			continue
		}
		// The sources have a location only once they are downloaded, and a fresh
		// machine that built only this command has not done that yet.
		sources, err := goModules(ctx, dir, "mod", "download", "-json", kubernetes, karmada)
		if err != nil {
			return release{}, err
		}
		r := release{dir: dir, binary: "hyperkarmada", kubernetes: sources[kubernetes], karmada: sources[karmada]}
		if i > 0 {
			r.binary += "-" + has
		}
		return r, nil
	}
	return release{}, fmt.Errorf("cannot find Karmada %q: set %s to one of %s", minor, KarmadaVariable, strings.Join(offered, ", "))
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
