package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/karmada-target/karmada-mirror/sandbox/build"
)

// report is what was measured, and what it holds for.
type report struct {
	Date     string `json:"date"`
	Revision string `json:"revision"` // as git describes it
	Versions string `json:"versions"` // of Karmada, Kubernetes and Go
	Cores    int    `json:"cores"`
	Rows     []row  `json:"rows"`
}

// row is a figure of an arm, measured once in each repetition.
type row struct {
	Scenario string    `json:"scenario"`
	Arm      string    `json:"arm"`
	Figure   string    `json:"figure"` // with its unit
	Values   []float64 `json:"values"`
	// Over is the arm that Ratios divide by, each within one repetition; empty for none.
	Over   string    `json:"over,omitempty"`
	Ratios []float64 `json:"ratios,omitempty"`
}

func newReport(ctx context.Context, builder *build.Builder) (*report, error) {
	revision, err := exec.CommandContext(ctx, "git", "-C", builder.Repository(), "describe", "--always", "--dirty", "--abbrev=12").Output()
	if err != nil {
		return nil, fmt.Errorf("cannot describe the revision: %w", err)
	}
	return &report{
		Date: time.Now().UTC().Format(time.DateOnly), Revision: strings.TrimSpace(string(revision)),
		Versions: builder.Versions() + ", " + runtime.Version(), Cores: runtime.NumCPU(),
	}, nil
}

// add adds a figure of an arm that is compared with none.
func (r *report) add(scenario, arm, figure string, values ...float64) {
	r.Rows = append(r.Rows, row{Scenario: scenario, Arm: arm, Figure: figure, Values: values})
}

// addOver adds a figure of an arm, and its ratio to that of another arm.
func (r *report) addOver(scenario, arm, figure string, values []float64, over string, others []float64) {
	added := row{Scenario: scenario, Arm: arm, Figure: figure, Values: values, Over: over}
	for i, value := range values {
		added.Ratios = append(added.Ratios, value/others[i])
	}
	r.Rows = append(r.Rows, added)
}

func (r *report) print(out io.Writer) error {
	fmt.Fprintf(out, "\nMeasured on %s at revision %s, with %s, on %d cores that all processes share.\n\n", r.Date, r.Revision, r.Versions, r.Cores)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "scenario\tarm\tfigure\tmedian\tmin\tmax\tratio\tmin\tmax\tto")
	for _, row := range r.Rows {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s", row.Scenario, row.Arm, row.Figure, summarize(row.Values))
		if row.Over != "" {
			fmt.Fprintf(table, "\t%s\t%s", summarize(row.Ratios), row.Over)
		}
		fmt.Fprintln(table)
	}
	return table.Flush()
}

func (r *report) write(path string) error {
	encoded, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(encoded, '\n'), 0o644)
}

// summary holds the median, the least and the greatest of some figures.
type summary struct{ median, least, greatest float64 }

func summarize(figures []float64) summary {
	figures = slices.Sorted(slices.Values(figures))
	middle := len(figures) / 2
	median := figures[middle]
	if len(figures)%2 == 0 {
		median = (figures[middle-1] + figures[middle]) / 2
	}
	return summary{median, figures[0], figures[len(figures)-1]}
}

// String returns three columns of a table.
func (s summary) String() string {
	return readable(s.median) + "\t" + readable(s.least) + "\t" + readable(s.greatest)
}

// readable keeps three digits of a small figure, and all before the point of a large one.
func readable(figure float64) string {
	if figure >= 100 {
		return fmt.Sprintf("%.0f", figure)
	}
	return fmt.Sprintf("%.3g", figure)
}

// quantile returns a quantile of sorted durations, in milliseconds.
func quantile(sorted []time.Duration, q float64) float64 {
	return 1000 * sorted[min(len(sorted)-1, int(q*float64(len(sorted))))].Seconds()
}
