package bench

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSummarize(t *testing.T) {
	cases := map[string]struct {
		reason  string
		figures []float64
		want    summary
		text    string
	}{
		"Odd":   {"The middle one is the median, in whatever order they come.", []float64{3, 1, 2}, summary{2, 1, 3}, "2\t1\t3"},
		"Even":  {"The median of an even number lies between the two in the middle.", []float64{4, 1, 2, 3}, summary{2.5, 1, 4}, "2.5\t1\t4"},
		"One":   {"One figure has no spread.", []float64{0.12345}, summary{0.12345, 0.12345, 0.12345}, "0.123\t0.123\t0.123"},
		"Large": {"A large figure is not rounded to thousands.", []float64{12345.6}, summary{12345.6, 12345.6, 12345.6}, "12346\t12346\t12346"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := summarize(tc.figures)
			if got != tc.want || got.String() != tc.text {
				t.Errorf("%s summarize() = %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
}

func TestQuantile(t *testing.T) {
	var sorted []time.Duration
	for i := range 200 {
		sorted = append(sorted, time.Duration(i)*time.Millisecond)
	}
	for q, want := range map[float64]float64{0: 0, 0.5: 100, 0.99: 198, 1: 199} {
		if got := quantile(sorted, q); got != want {
			t.Errorf("quantile(%g) = %g ms, want %g ms", q, got, want)
		}
	}
}

// TestReport: ratios are those within a repetition, and the table and the file have the same rows.
func TestReport(t *testing.T) {
	r := &report{Date: "2026-11-26", Revision: "0123456789ab-dirty", Cores: 2}
	r.add("restart", "karmada-mirror", "writes", 0)
	r.addOver("10 objects", "karmada-mirror", "Works/s", []float64{80, 100, 300}, "bare loop", []float64{100, 200, 300})
	var out strings.Builder
	if err := r.print(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"revision 0123456789ab-dirty", "restart karmada-mirror writes 0 0 0\n", "10 objects karmada-mirror Works/s 100 80 300 0.8 0.5 1 bare loop\n"} {
		if printed := spaces(out.String()); !strings.Contains(printed, want) {
			t.Errorf("the table has no %q:\n%s", want, printed)
		}
	}
	path := filepath.Join(t.TempDir(), "bench.json")
	if err := r.write(path); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got := &report{}
	if err := json.Unmarshal(content, got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, got); diff != "" {
		t.Errorf("-printed +written:\n%s", diff)
	}
}

// spaces replaces the space between columns by one.
func spaces(table string) string {
	var lines strings.Builder
	for line := range strings.Lines(table) {
		lines.WriteString(strings.Join(strings.Fields(line), " ") + "\n")
	}
	return lines.String()
}
