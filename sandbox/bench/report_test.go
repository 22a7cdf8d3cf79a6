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

// compared has the bare loop make 100 Works/s for 1 s of CPU each, in each of some
// repetitions.
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
		"Reached":  {"A goal that is just reached is reached.", []outcome{measured(90.1, 90.1, 1.149)}, "reached"},
		"Rate":     {"Works/s from the first to the last.", []outcome{measured(89, 95, 1)}, "**missed**: Works/s"},
		"Whole":    {"Works/s from the list on.", []outcome{measured(95, 89, 1)}, "**missed**: from the list on"},
		"CPU":      {"CPU has a goal of its own.", []outcome{measured(95, 95, 1.2)}, "**missed**: CPU"},
		"All":      {"All that is missed is named.", []outcome{measured(50, 50, 2)}, "**missed**: Works/s, from the list on, CPU"},
		"ByMedian": {"One repetition of three does not decide.", []outcome{measured(50, 50, 2), measured(95, 95, 1), measured(95, 95, 1)}, "reached"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := compared(configMap1k, tc.of...).verdict(); got != tc.want {
				t.Errorf("%s verdict() = %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// Every comparison that there is has a row in the table of goals.
func TestLoopTableIsComplete(t *testing.T) {
	r := &report{}
	for _, load := range []workload{configMap1k, configMap100k, deployment, widget} {
		r.againstLoop = append(r.againstLoop, compared(load, measured(95, 95, 1)))
	}
	worst := compared(configMap100k, measured(78, 78, 1.31))
	worst.condition = "etcd with fsync"
	r.againstLoop = append(r.againstLoop, worst)
	rows := strings.Split(r.loopTable(), "\n")[4:]
	if len(rows) != len(r.againstLoop) {
		t.Fatalf("the table has %d rows, want %d", len(rows), len(r.againstLoop))
	}
	for _, want := range []string{"| ConfigMap 100 kB | 10 | 2 | etcd with fsync |", "| 0.78 |", "| 1.31 | **missed**: Works/s, from the list on, CPU |"} {
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
		{"reads", "≤ 0, each time", "0.0000 (0.0000–0.0010)", false}, // by the greatest
		{"writes", "≤ 1, each time", "1.0000", true},
		{"time", "≤ 1.5", "1.00 (1.00–9.00)", true}, // by the median
		{"rate", "≥ 50", "49.00 (1.00–90.00)", false},
	}
	for i, g := range r.goals {
		if g != want[i] {
			t.Errorf("goal %d is %v, want %v", i, g, want[i])
		}
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
	const want = "0.78 to 0.95 of the Works per second of a bare loop of POSTs, by kind and size of the object (Deployments: 0.84 to 0.90); " +
		"37 times those of Karmada's policies at their defaults, and 12 times those without Karmada's limit of requests; half of the Works are there 6.0 ms after their object"
	if got := r.short(); got != want {
		t.Errorf("short() = %q, want %q", got, want)
	}
	r.latency = nil
	if got := r.short(); got != "" {
		t.Errorf("short() = %q of a run that has not measured the latency", got)
	}
}

func TestWriteReport(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	content := fmt.Sprintf("before\n%sold\n%safter\n", reportBegin, reportEnd)
	if err := os.WriteFile(page, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	r := &report{head: "Measured.", plots: []plotted{{"plot.svg", []byte("<svg/>")}}}
	if err := r.write(page); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("before\n%s\nMeasured.\n\n%safter\n", reportBegin, reportEnd); string(got) != want {
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
