package bench

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// TestRecommendedLimits: under the limits that the docs recommend, KarmadaMirrorMemoryHigh
// does not fire.
func TestRecommendedLimits(t *testing.T) {
	rule := regexp.MustCompile(`(?s)alert: KarmadaMirrorMemoryHigh\n.*?\) > ([0-9.]+)\n`).FindStringSubmatch(read(t, "manifests", "monitoring", "prometheusrule.yaml"))
	if rule == nil || number(t, rule[1]) != alertAbove {
		t.Errorf("the alert is not at %g: %q", alertAbove, rule)
	}
	rows := regexp.MustCompile(`(?m)^\| [0-9,]+ \| [0-9,]+ \| ([0-9]+) MB \| ([0-9]+)Mi \|$`).FindAllStringSubmatch(read(t, "docs", "how-to", "install.md"), -1)
	if len(rows) == 0 {
		t.Fatal("install.md has no table of limits")
	}
	for _, row := range rows {
		heap, limit := number(t, row[1])*1e6, number(t, row[2])*(1<<20)
		if limit != limitFor(heap) {
			t.Errorf("%q: the limit for such a heap is %.0fMi", row[0], limitFor(heap)/(1<<20))
		}
	}
	// Besides the heap, Go needs less than a quarter of its limit: the benchmark measures it.
	for heap := 1e6; heap < 1e9; heap += 1e6 {
		if used := heap / (goShare * limitFor(heap)); used > alertAbove-0.25 {
			t.Errorf("a heap of %.0f MB takes %.2f of Go's limit", heap/1e6, used)
		}
	}
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{"..", ".."}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
