package command

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestLean limits what make demo compiles before its first line: nothing that
// only measuring and drawing need, and not the daemon, which is a separate
// program.
func TestLean(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := strings.Fields(string(out))
	for _, heavy := range []string{
		"google.golang.org/grpc", "github.com/prometheus/client_golang/prometheus",
		"k8s.io/client-go/kubernetes", "k8s.io/client-go/informers", "github.com/karmada-target/karmada-mirror/mirror/state", // which everything that mirrors imports
	} {
		if slices.Contains(packages, heavy) {
			t.Errorf("the sandbox command depends on %s", heavy)
		}
	}
}
