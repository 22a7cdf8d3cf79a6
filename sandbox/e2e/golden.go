package e2e

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// unstable lists the parts of a command's output that vary: ages, ports of the sandbox,
// versions.
var unstable = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "127.0.0.1:PORT"},
	{regexp.MustCompile(`Kubernetes v[0-9.]+`), "Kubernetes VERSION"},
	{regexp.MustCompile(`(?m)\b(\d+m)?\d+s( +)`), "AGE   "},
	{regexp.MustCompile(`"20\d\d-[^"]+Z"`), `"TIME"`},
	{regexp.MustCompile(`(?m)^  ✓ \S+ leads$`), "  ✓ POD leads"},
}

// WantGolden compares output with a file, except for the parts that vary.
func WantGolden(t *testing.T, name, output string) {
	t.Helper()
	for _, u := range unstable {
		output = u.pattern.ReplaceAllString(output, u.instead)
	}
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(output), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if difference := cmp.Diff(string(want), output); difference != "" {
		t.Errorf("%s (-want +got; -update rewrites it):\n%s", file, difference)
	}
}
