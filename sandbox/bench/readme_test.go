package bench

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the figures of docs/performance.md into README.md")

// TestReadmeFigures compares the README's figures with the measured ones. With -update it
// writes them into the README.
func TestReadmeFigures(t *testing.T) {
	_, measured, _ := figures(t, filepath.Join("..", "..", "docs", "performance.md"))
	readme := filepath.Join("..", "..", "README.md")
	before, shown, after := figures(t, readme)
	if *update {
		if err := os.WriteFile(readme, []byte(before+measured+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if shown != measured {
		t.Errorf("README.md says %q, docs/performance.md %q: run this test with -update", shown, measured)
	}
}

// figures returns what a file says between the marks, and what surrounds it.
func figures(t *testing.T, path string) (before, between, after string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begun := strings.Cut(string(content), shortBegin)
	between, after, ended := strings.Cut(rest, shortEnd)
	if !begun || !ended || between == "" {
		t.Fatalf("%s has no figures between %q and %q", path, shortBegin, shortEnd)
	}
	return before + shortBegin, between, shortEnd + after
}
