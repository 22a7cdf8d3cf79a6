package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// measured is an outcome with these Works/s, in both ways to count, and seconds of CPU
// per Work.
func measured(rate, wholeRate, cpu float64) outcome {
	const works = 1000
	return outcome{
		works: works, span: time.Duration(works / rate * float64(time.Second)), whole: time.Duration(works / wholeRate * float64(time.Second)),
		cost: cost{cpu: map[string]float64{"all": cpu * works}},
	}
}

// compared has the bare loop write 100 Works/s for 1 s of CPU each, in every repetition.
func compared(load workload, of ...outcome) againstLoop {
	c := againstLoop{comparison: comparison{scenario: scenario{load, 10, 2}}}
	for _, o := range of {
		c.repetitions = append(c.repetitions, []outcome{measured(100, 100, 1), o})
	}
	return c
}

func TestVerdictAgainstLoop(t *testing.T) {
	cases := map[string]struct {
		reason string
		of     []outcome
		want   string
	}{
		"Reached":  {"A goal that is only just met is met.", []outcome{measured(90.1, 90.1, 1.149)}, "met"},
		"Rate":     {"Works/s from the first to the last.", []outcome{measured(89, 95, 1)}, "**missed**: first to last"},
		"Whole":    {"Works/s from the start to the last.", []outcome{measured(95, 89, 1)}, "**missed**: start to last"},
		"CPU":      {"CPU has a goal of its own.", []outcome{measured(95, 95, 1.2)}, "**missed**: CPU"},
		"All":      {"Every miss is named.", []outcome{measured(50, 50, 2)}, "**missed**: first to last, start to last, CPU"},
		"ByMedian": {"One repetition of three does not decide.", []outcome{measured(50, 50, 2), measured(95, 95, 1), measured(95, 95, 1)}, "met"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := compared(configMap1k, tc.of...).verdict(); got != tc.want {
				t.Errorf("%s verdict() = %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// TestLoopTableIsComplete: every comparison with the bare loop has a row, and is judged.
func TestLoopTableIsComplete(t *testing.T) {
	r := &report{}
	for _, load := range []workload{configMap1k, configMap100k, deployment, widget} {
		r.againstLoop = append(r.againstLoop, compared(load, measured(95, 95, 1)))
	}
	worst := compared(configMap100k, measured(78, 78, 1.31))
	worst.variant = "etcd with fsync"
	r.againstLoop = append(r.againstLoop, worst)
	table := r.loopTable()
	if want := "4 of 5 rows meet all goals"; !strings.Contains(table, want) {
		t.Errorf("the table does not say %q", want)
	}
	rows := strings.Split(table, "\n")[6:]
	if len(rows) != len(r.againstLoop) {
		t.Fatalf("the table has %d rows, want %d", len(rows), len(r.againstLoop))
	}
	for _, want := range []string{"| ConfigMap 100 kB | 10 | 2 | etcd with fsync |", "| 0.78 |", "| 1.31 | **missed**: first to last, start to last, CPU |"} {
		if last := rows[len(rows)-1]; !strings.Contains(last, want) {
			t.Errorf("the row %q has no %q", last, want)
		}
	}
}

func TestGoals(t *testing.T) {
	r := &report{}
	r.never("reads", 0, summarize([]float64{0, 0, 0.001}))
	r.never("writes", 1, summarize([]float64{1, 1, 1}))
	r.atMost("time", 1.5, summarize([]float64{1, 1, 9}))
	r.atLeast("rate", 50, summarize([]float64{1, 49, 90}))
	want := []goal{
		{"reads", "≤ 0 in every run", "0.0000 (0.0000–0.0010)", false}, // by the worst run
		{"writes", "≤ 1 in every run", "1.0000", true},
		{"time", "≤ 1.5", "1.00 (1.00–9.00)", true}, // by the median
		{"rate", "≥ 50", "49.00 (1.00–90.00)", false},
	}
	for i, g := range r.goals {
		if g != want[i] {
			t.Errorf("goal %d is %v, want %v", i, g, want[i])
		}
	}
	if table, want := r.goalTable(), "2 of 4 are met."; !strings.Contains(table, want) {
		t.Errorf("the table does not say %q:\n%s", want, table)
	}
}

func TestShort(t *testing.T) {
	r := &report{
		kinds: []comparison{
			compared(configMap1k, measured(95, 95, 1)).comparison, compared(configMap100k, measured(78, 95, 1)).comparison,
			compared(deployment, measured(84, 95, 1)).comparison, compared(deployment, measured(90, 95, 1)).comparison,
		},
		overPolicies: exactly(36.7), overUnlimited: exactly(12), latency: latencies{6 * time.Millisecond},
	}
	const want = "It writes 0.78 to 0.95 times as many Works per second as a bare loop of POSTs, depending on the kind and size of the object (0.84 to 0.90 for Deployments), " +
		"37 times as many as Karmada's policies at their defaults, and 12 times as many as policies without Karmada's rate limit; at 50 objects a second, half of the Works exist within 6.0 ms of their object"
	if got := r.short(); got != want {
		t.Errorf("short() = %q, want %q", got, want)
	}
	r.latency = nil
	if got := r.short(); got != "" {
		t.Errorf("short() = %q for a run that has not measured the latency", got)
	}
}

func TestWriteReport(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	content := fmt.Sprintf("before\n%sold\n%safter\n", reportBegin, reportEnd)
	if err := os.WriteFile(page, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	r := &report{head: "Measured.", plots: []plotted{{"plot.svg", "A plot", []byte("<svg/>")}}}
	if err := r.write(page); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("before\n%s\nMeasured.\n\n### Charts\n\n![A plot](plot.svg)\n\n%safter\n", reportBegin, reportEnd); string(got) != want {
		t.Errorf("the page is %q, want %q", got, want)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(page), "plot.svg")); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(page, []byte("without marks"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.write(page); err == nil {
		t.Error("a page without marks was written")
	}
}
