package bench

import (
	"github.com/karmada-target/karmada-mirror/sandbox/written"

	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	reportBegin = "<!-- From here on it is written by `make bench`. -->\n"
	reportEnd   = "<!-- To here. -->\n"
	// The text between these two is the same in the page and in the README.
	shortBegin = "<!-- begin: figures of make bench -->"
	shortEnd   = "<!-- end -->"
)

// The goals against the bare loop.
const (
	leastRate = 0.9
	mostCPU   = 1.15
)

// report holds what docs/performance.md is written from.
type report struct {
	head        string
	againstLoop []againstLoop
	goals       []goal
	tables      []string
	// measurements are single figures: what was measured, and the result.
	measurements [][]string
	plots        []plotted
	// The README quotes these: the comparisons with the bare loop for all kinds of objects,
	// the ratios of karmada-mirror's Works/s to those of the policies, and the latencies.
	kinds                       []comparison
	overPolicies, overUnlimited summary
	latency                     latencies
}

// goal is a figure with a bound.
type goal struct {
	what, bound, figure string
	met                 bool
}

// describe sets what the figures hold for.
func (r *report) describe(s stamp, chosen []section) {
	r.head = s.String()
	var absent []string
	for _, s := range sections {
		if !slices.ContainsFunc(chosen, func(c section) bool { return c.name == s.name }) {
			absent = append(absent, s.name)
		}
	}
	if len(absent) > 0 {
		r.head += " Not measured in this run: " + strings.Join(absent, ", ") + "."
	}
}

// measured adds a single figure.
func (r *report) measured(what, format string, arguments ...any) {
	r.measurements = append(r.measurements, []string{what, fmt.Sprintf(format, arguments...)})
}

// table adds a table. explanation says how to read it.
func (r *report) table(title, explanation string, head []string, rows [][]string) {
	r.tables = append(r.tables, formatTable(title, explanation, head, rows))
}

func formatTable(title, explanation string, head []string, rows [][]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n%s\n\n| %s |\n|%s\n", title, explanation, strings.Join(head, " | "), strings.Repeat("---|", len(head)))
	for _, row := range rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// atLeast and atMost add a goal for the median.
func (r *report) atLeast(what string, bound float64, s summary) {
	r.goals = append(r.goals, goal{what, fmt.Sprintf("≥ %g", bound), s.format(2), s.median >= bound})
}

func (r *report) atMost(what string, bound float64, s summary) {
	r.goals = append(r.goals, goal{what, fmt.Sprintf("≤ %g", bound), s.format(2), s.median <= bound})
}

// never adds a goal that no run may miss. It has more digits, because a miss is one in
// thousands.
func (r *report) never(what string, bound float64, s summary) {
	r.goals = append(r.goals, goal{what, fmt.Sprintf("≤ %g in every run", bound), s.format(4), s.greatest <= bound})
}

// write puts the report between the two marks of a page, and its plots next to the page.
func (r *report) write(page string) error {
	for _, p := range r.plots {
		if err := os.WriteFile(filepath.Join(filepath.Dir(page), p.file), p.svg, 0o644); err != nil {
			return err
		}
	}
	return written.Between(page, reportBegin, reportEnd, "\n"+r.body()+"\n\n")
}

func (r *report) body() string {
	var parts []string
	if short := r.short(); short != "" {
		parts = append(parts, shortBegin+short+shortEnd+".")
	}
	parts = append(parts, r.head)
	if len(r.againstLoop) > 0 {
		parts = append(parts, r.loopTable())
	}
	if len(r.goals) > 0 {
		parts = append(parts, r.goalTable())
	}
	parts = append(parts, r.tables...)
	if len(r.measurements) > 0 {
		parts = append(parts, formatTable("Single measurements", "All times are by the benchmark's clock.",
			[]string{"what", "result"}, r.measurements))
	}
	if len(r.plots) > 0 {
		parts = append(parts, "### Charts")
	}
	for _, p := range r.plots {
		parts = append(parts, fmt.Sprintf("![%s](%s)", p.alt, p.file))
	}
	return strings.Join(parts, "\n\n")
}

// loopTable has a row for each comparison with the bare loop, and says whether it meets the
// goals.
func (r *report) loopTable() string {
	head := []string{
		"object", "objects", "clusters", "variant",
		"bare loop, first to last, Works/s", "karmada-mirror, first to last, Works/s", fmt.Sprintf("ratio (goal ≥ %g)", leastRate),
		"bare loop, start to last, Works/s", "karmada-mirror, start to last, Works/s", fmt.Sprintf("ratio (goal ≥ %g)", leastRate),
		fmt.Sprintf("CPU per Work, ratio (goal ≤ %g)", mostCPU), "goals",
	}
	var rows [][]string
	reached := 0
	for _, c := range r.againstLoop {
		rows = append(rows, []string{
			c.load.name, fmt.Sprint(c.sources), fmt.Sprint(c.clusters), c.variant,
			c.of(bare, outcome.rate).format(0), c.of(mirrored, outcome.rate).format(0), c.over(mirrored, bare, rateOver).format(2),
			c.of(bare, outcome.wholeRate).format(0), c.of(mirrored, outcome.wholeRate).format(0), c.over(mirrored, bare, wholeRateOver).format(2),
			c.over(mirrored, bare, cpuOver).format(2), c.verdict(),
		})
		if c.verdict() == met {
			reached++
		}
	}
	explanation := fmt.Sprintf("The bare loop only POSTs the same bytes, with as many requests in flight (%d). "+
		"*First to last* counts from the first Work to the last, *start to last* from when all sources are listed or the loop gets its signal. "+
		"Ratios divide karmada-mirror's figure by the loop's. CPU is that of the loop or karmada-mirror, kube-apiserver, etcd and karmada-webhook together. "+
		"%d of %d rows meet all goals, which are judged by the median before rounding.", inFlight, reached, len(rows))
	return formatTable("Compared with a bare loop of POSTs", explanation, head, rows)
}

// The verdicts on goals.
const (
	met    = "met"
	missed = "**missed**"
)

// verdict judges by the medians.
func (c againstLoop) verdict() string {
	var misses []string
	if c.over(mirrored, bare, rateOver).median < leastRate {
		misses = append(misses, "first to last")
	}
	if c.over(mirrored, bare, wholeRateOver).median < leastRate {
		misses = append(misses, "start to last")
	}
	if c.over(mirrored, bare, cpuOver).median > mostCPU {
		misses = append(misses, "CPU")
	}
	if len(misses) == 0 {
		return met
	}
	return missed + ": " + strings.Join(misses, ", ")
}

func (r *report) goalTable() string {
	var rows [][]string
	reached := 0
	for _, g := range r.goals {
		verdict := missed
		if g.met {
			verdict = met
			reached++
		}
		rows = append(rows, []string{g.what, g.bound, g.figure, verdict})
	}
	explanation := fmt.Sprintf("%d of %d are met. A goal for every run is judged by the worst run, the others by the median.", reached, len(rows))
	return formatTable("Other goals", explanation, []string{"what", "goal", "measured", "result"}, rows)
}

// short is what the README quotes; empty if a run has not measured all of it. The ranges
// are those of the medians, from the worst to the best.
func (r *report) short() string {
	var all, ofDeployments []float64
	for _, c := range r.kinds {
		rate := c.over(mirrored, bare, rateOver).median
		all = append(all, rate)
		if c.load.name == deployment.name {
			ofDeployments = append(ofDeployments, rate)
		}
	}
	if len(ofDeployments) == 0 || len(r.latency) == 0 || r.overPolicies == (summary{}) {
		return ""
	}
	return fmt.Sprintf("It writes %s times as many Works per second as a bare loop of POSTs, depending on the kind and size of the object (%s for Deployments), "+
		"%.0f times as many as Karmada's policies at their defaults, and %.0f times as many as policies without Karmada's rate limit; "+
		"at %d objects a second, half of the Works exist within %s of their object",
		rangeOf(all), rangeOf(ofDeployments), r.overPolicies.median, r.overUnlimited.median, steadyRate, milliseconds(r.latency.quantile(0.5)))
}

func rangeOf(figures []float64) string {
	least, greatest := fmt.Sprintf("%.2f", slices.Min(figures)), fmt.Sprintf("%.2f", slices.Max(figures))
	if least == greatest {
		return least
	}
	return least + " to " + greatest
}
