package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Kubectl runs kubectl as an administrator, and fails the test on an error.
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
	return run(t, append([]string{filepath.Join(Env.Builder.Cache(), "bin", "hyperkarmada"), "kubectl"}, arguments...)...)
}

// KarmadaMirror runs the command to its end, as an administrator.
func KarmadaMirror(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	return run(t, append([]string{Env.Program}, arguments...)...)
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

func run(t *testing.T, arguments ...string) (string, error) {
	command := exec.CommandContext(t.Context(), arguments[0], arguments[1:]...)
	command.Env = append(os.Environ(), "KUBECONFIG="+Env.Kubeconfig())
	output, err := command.CombinedOutput()
	return string(output), err
}

// WantLine fails the test unless a line of the output matches a pattern.
func WantLine(t *testing.T, output, pattern string) {
	t.Helper()
	if !regexp.MustCompile(`(?m)` + pattern).MatchString(output) {
		t.Errorf("no line matches %q in:\n%s", pattern, output)
	}
}
