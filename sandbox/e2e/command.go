package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Command prepares karmada-mirror as an administrator runs it.
func Command(t *testing.T, arguments ...string) *exec.Cmd {
	t.Helper()
	// An isolated test has its ConfigMap elsewhere.
	reads := slices.Contains([]string{"status", "explain", "diff", "wait", "purge"}, arguments[0]) || slices.Contains(arguments, "approve")
	if s := scopeOf(t); reads && !s.isInstallation() && !slices.Contains(arguments, "--config-map") {
		arguments = append(arguments, "--config-map", s.home+"/"+Account)
	}
	command := exec.CommandContext(t.Context(), Env.Daemon, arguments...)
	command.Env = append(os.Environ(), "KUBECONFIG="+Env.Kubeconfig())
	return command
}

// Kubectl runs kubectl as an administrator.
func Kubectl(t *testing.T, arguments ...string) string {
	t.Helper()
	output, err := TryKubectl(t, arguments...)
	if err != nil {
		t.Fatalf("kubectl %s: %v: %s", strings.Join(arguments, " "), err, output)
	}
	return output
}

// TryKubectl is Kubectl for a command that may fail.
func TryKubectl(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), filepath.Join(Env.Builder.Cache(), "bin", "hyperkarmada"), append([]string{"kubectl"}, arguments...)...)
	command.Env = append(os.Environ(), "KUBECONFIG="+Env.Kubeconfig())
	output, err := command.CombinedOutput()
	return string(output), err
}

// KarmadaMirror runs the command to its end.
func KarmadaMirror(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	output, err := Command(t, arguments...).CombinedOutput()
	return string(output), err
}

// MustKarmadaMirror runs the command and fails the test on an error.
func MustKarmadaMirror(t *testing.T, arguments ...string) string {
	t.Helper()
	output, err := KarmadaMirror(t, arguments...)
	if err != nil {
		t.Fatalf("karmada-mirror %s: %v: %s", strings.Join(arguments, " "), err, output)
	}
	return output
}
