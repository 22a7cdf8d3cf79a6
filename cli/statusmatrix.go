package cli

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	workv1alpha1 "github.com/karmada-io/api/work/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
)

// statusMatrix prints a row for each source, and a column for each cluster.
type statusMatrix struct {
	sources  []sourceName
	cells    []map[string]string // of each source, by cluster
	clusters sets.Set[string]
	out      io.Writer
}

func (m *statusMatrix) print(s mirrorStatus) error {
	if s.Clusters != nil { // its clusters follow
		return nil
	}
	if last := len(m.sources) - 1; last < 0 || m.sources[last] != s.Source { // the lines of a source are adjacent
		m.sources, m.cells = append(m.sources, s.Source), append(m.cells, map[string]string{})
	}
	if s.Cluster == "" && len(m.cells[len(m.cells)-1]) > 0 { // it is about a name, or about all of them
		return nil
	}
	m.clusters.Insert(s.Cluster)
	m.cells[len(m.cells)-1][s.Cluster] = s.cell()
	return nil
}

// cell says in a word how a source is in a cluster.
func (s mirrorStatus) cell() string {
	w := s.Work
	switch applied := s.appliedCell(); {
	case s.isHidden:
		return "?"
	case w != nil && w.State == state.WorkDeleting.String():
		return "Leaving"
	case w != nil && w.DeletionHeld:
		return "Held"
	case s.isKept:
		return "Kept"
	case s.lacksCluster && w == nil:
		return "NoCluster"
	case s.Decision == judge.Unknown.String() && !s.Waits:
		return "Refused"
	case w == nil:
		return cmp.Or(applied, "Missing")
	case s.Decision != judge.Wanted.String() && !s.Waits:
		return "Leaving"
	case applied == string(metav1.ConditionFalse):
		return "Failed"
	case applied != string(metav1.ConditionTrue):
		return cmp.Or(applied, "Pending")
	case s.Operation != "":
		return "Outdated"
	case w.Health != string(workv1alpha1.ResourceHealthy):
		return strings.TrimSpace(readyCell(w.Ready, w.Wanted) + " " + cmp.Or(w.Health, "Unknown"))
	}
	return cmp.Or(readyCell(w.Ready, w.Wanted), "OK")
}

func (m *statusMatrix) flush() error {
	if len(m.sources) == 0 {
		return nil
	}
	clusters := sets.List(m.clusters)
	table := &metav1.Table{ColumnDefinitions: []metav1.TableColumnDefinition{{Name: "Source"}}}
	for _, cluster := range clusters {
		table.ColumnDefinitions = append(table.ColumnDefinitions, metav1.TableColumnDefinition{Name: cmp.Or(cluster, "any")})
	}
	for i, source := range m.sources {
		row := metav1.TableRow{Cells: []any{source.String()}}
		for _, cluster := range clusters {
			row.Cells = append(row.Cells, cmp.Or(m.cells[i][cluster], "-"))
		}
		table.Rows = append(table.Rows, row)
	}
	out := printers.GetNewTabWriter(m.out)
	if err := printers.NewTablePrinter(printers.PrintOptions{}).PrintObj(table, out); err != nil {
		return fmt.Errorf("cannot print: %w", err)
	}
	return out.Flush()
}

func (m *statusMatrix) printed() int { return len(m.sources) }
