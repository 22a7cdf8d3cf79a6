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
	// What is between these two, in the page and in the README, is the same.
	shortBegin = "<!-- begin: figures of make bench -->"
	shortEnd   = "<!-- end -->"
)

// What is to be reached against the bare loop.
const (
	leastRate = 0.9
	mostCPU   = 1.15
)

// report is what docs/performance.md is made from.
type report struct {
	head        string
	parts       []string
	againstLoop []againstLoop
	goals       []goal
	plots       []plotted
	// What the README says: the comparisons with the bare loop of all kinds of objects,
	// karmada-mirror's Works/s over those of the policies, and the latencies.
	kinds                       []comparison
	overPolicies, overUnlimited summary
	latency                     latencies
}

// goal is a figure that was to be reached.
type goal struct {
	what, reach, figure string
	reached             bool
}

// describe says what the figures hold for.
func (r *report) describe(s stamp, chosen []section) {
	r.head = s.String()
	var absent []string
	for _, s := range sections {
		if !slices.ContainsFunc(chosen, func(c section) bool { return c.name == s.name }) {
			absent = append(absent, s.name)
		}
	}
	if len(absent) > 0 {
		r.head += " Left out of this run: " + strings.Join(absent, ", ") + "."
	}
}

// text adds a paragraph.
func (r *report) text(format string, arguments ...any) {
	r.parts = append(r.parts, fmt.Sprintf(format, arguments...))
}

// table adds one.
func (r *report) table(title string, head []string, rows [][]string) {
	r.parts = append(r.parts, formatTable(title, head, rows))
}

func formatTable(title string, head []string, rows [][]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n| %s |\n|%s\n", title, strings.Join(head, " | "), strings.Repeat("---|", len(head)))
	for _, row := range rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// atLeast and atMost add a goal that the median is to reach.
func (r *report) atLeast(what string, bound float64, s summary) {
	r.goals = append(r.goals, goal{what, fmt.Sprintf("≥ %g", bound), s.format(2), s.median >= bound})
}

func (r *report) atMost(what string, bound float64, s summary) {
	r.goals = append(r.goals, goal{what, fmt.Sprintf("≤ %g", bound), s.format(2), s.median <= bound})
}

// never adds a goal that no repetition may miss. It has more digits, for what misses it
// does so by one in thousands.
func (r *report) never(what string, bound float64, s summary) {
	r.goals = append(r.goals, goal{what, fmt.Sprintf("≤ %g, each time", bound), s.format(4), s.greatest <= bound})
}

// write puts the report between the two marks of a page, and its plots beside it.
func (r *report) write(page string) error {
	for _, p := range r.plots {
		if err := os.WriteFile(filepath.Join(filepath.Dir(page), p.file), p.svg, 0o644); err != nil {
			return err
		}
	}
	return written.Between(page, reportBegin, reportEnd, "\n"+r.body()+"\n\n")
}

func (r *report) body() string {
	parts := []string{r.head}
	if short := r.short(); short != "" {
		parts = append(parts, shortBegin+short+shortEnd)
	}
	if len(r.againstLoop) > 0 {
		parts = append(parts, r.loopTable())
	}
	if len(r.goals) > 0 {
		parts = append(parts, r.goalTable())
	}
	return strings.Join(slices.Concat(parts, r.parts), "\n\n")
}

// loopTable has a row for each comparison with the bare loop, and judges it.
func (r *report) loopTable() string {
	head := []string{
		"object", "objects", "clusters", "condition", "bare loop, Works/s", "karmada-mirror, Works/s", fmt.Sprintf("over the bare loop's: ≥ %g", leastRate),
		"bare loop, from the list on", "karmada-mirror, from the list on", fmt.Sprintf("over the bare loop's: ≥ %g", leastRate),
		fmt.Sprintf("CPU per Work over the bare loop's: ≤ %g", mostCPU), "",
	}
	var rows [][]string
	for _, c := range r.againstLoop {
		rows = append(rows, []string{
			c.load.name, fmt.Sprint(c.sources), fmt.Sprint(c.clusters), c.condition,
			c.of(bare, outcome.rate).format(0), c.of(mirrored, outcome.rate).format(0), c.over(mirrored, bare, rateOver).format(2),
			c.of(bare, outcome.wholeRate).format(0), c.of(mirrored, outcome.wholeRate).format(0), c.over(mirrored, bare, wholeRateOver).format(2),
			c.over(mirrored, bare, cpuOver).format(2), c.verdict(),
		})
	}
	return formatTable("Against a bare loop that POSTs the same bytes with as many in flight", head, rows)
}

// verdict judges by the medians.
func (c againstLoop) verdict() string {
	var missed []string
	if c.over(mirrored, bare, rateOver).median < leastRate {
		missed = append(missed, "Works/s")
	}
	if c.over(mirrored, bare, wholeRateOver).median < leastRate {
		missed = append(missed, "from the list on")
	}
	if c.over(mirrored, bare, cpuOver).median > mostCPU {
		missed = append(missed, "CPU")
	}
	if len(missed) == 0 {
		return "reached"
	}
	return "**missed**: " + strings.Join(missed, ", ")
}

func (r *report) goalTable() string {
	var rows [][]string
	for _, g := range r.goals {
		verdict := "reached"
		if !g.reached {
			verdict = "**missed**"
		}
		rows = append(rows, []string{g.what, g.reach, g.figure, verdict})
	}
	return formatTable("The other goals", []string{"what", "was to be", "is", ""}, rows)
}

// short is what the README says of the figures; empty if a run has not measured all of
// it. The ranges are of medians, from the worst to the best.
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
	return fmt.Sprintf("%s of the Works per second of a bare loop of POSTs, by kind and size of the object (Deployments: %s); "+
		"%.0f times those of Karmada's policies at their defaults, and %.0f times those without Karmada's limit of requests; "+
		"half of the Works are there %s after their object",
		rangeOf(all), rangeOf(ofDeployments), r.overPolicies.median, r.overUnlimited.median, milliseconds(r.latency.quantile(0.5)))
}

func rangeOf(figures []float64) string {
	least, greatest := fmt.Sprintf("%.2f", slices.Min(figures)), fmt.Sprintf("%.2f", slices.Max(figures))
	if least == greatest {
		return least
	}
	return least + " to " + greatest
}
