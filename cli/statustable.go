package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/liggitt/tabwriter"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/karmada-target/karmada-mirror/mirror/state"
)

// tablePage is how many lines are laid out together; the column widths carry over to the
// next page.
const tablePage = 100

const (
	// tablePadding is what the printer puts between columns, and leastMessage how much of a message is shown however narrow the terminal is.
	tablePadding = 3
	leastMessage = 24
)

// statusTable prints lines for people. In a terminal, it fits them to its width.
type statusTable struct {
	printer printers.ResourcePrinter
	wide    bool
	// namespaces adds a column for them.
	namespaces bool
	// width is that of the terminal, 0 if the output is none. isAnywhere: the lines may be about several namespaces.
	width      int
	isAnywhere bool
	out        *tabwriter.Writer
	page       [][]string
	widths     []int // of the columns so far, which carry over
	count      int
}

func newStatusTable(wide, namespaces bool, out io.Writer) *statusTable {
	return &statusTable{
		printer: printers.NewTablePrinter(printers.PrintOptions{Wide: wide}), wide: wide, namespaces: namespaces, width: widthOf(out), out: printers.GetNewTabWriter(out),
	}
}

// isNarrow reports whether lines are fitted to a terminal: a program, and who wants them wide, gets all that there is.
func (t *statusTable) isNarrow() bool { return t.width > 0 && !t.wide }

func (t *statusTable) print(s mirrorStatus) error {
	t.count++
	source := s.Source.String()
	if t.isNarrow() {
		source = s.Source.short(t.isAnywhere && !t.namespaces)
	}
	row := slices.Concat([]string{source}, t.cellsOf(s), []string{s.Decision, s.Operation, s.Message})
	if t.namespaces {
		row = slices.Insert(row, 0, s.Source.Namespace)
	}
	if t.page = append(t.page, row); len(t.page) < tablePage {
		return nil
	}
	return t.flush()
}

// cellsOf returns the cells from Cluster to Age.
func (t *statusTable) cellsOf(s mirrorStatus) []string {
	switch all, w := s.Clusters, s.Work; {
	case all != nil:
		return []string{fmt.Sprintf("%d/%d", all.Applied, all.Total), "", readyCell(all.Ready, all.Wanted), all.applied, all.health, age(all.CreationTimestamp)}
	case w != nil && t.wide:
		return []string{s.Cluster, w.Namespace + "/" + w.Name, readyCell(w.Ready, w.Wanted), s.appliedCell(), w.Health, age(&w.CreationTimestamp)}
	case w != nil:
		return []string{s.Cluster, w.Name, readyCell(w.Ready, w.Wanted), s.appliedCell(), w.Health, age(&w.CreationTimestamp)}
	}
	return []string{s.Cluster, "", "", s.appliedCell(), "", ""}
}

// The words for content that is not to be applied now, where the condition Applied would be about an earlier one.
const (
	suspendedCell = "Suspended"
	laterCell     = "Later"
)

// appliedCell says whether what the object says is applied.
func (s mirrorStatus) appliedCell() string {
	switch {
	case s.Waits:
		return laterCell
	case s.Work == nil:
		return ""
	case s.Work.State == state.WorkSuspended.String():
		return suspendedCell
	}
	return s.Work.Applied
}

// columns returns the columns of the table; those with a priority are in the wide one only.
func (t *statusTable) columns() []metav1.TableColumnDefinition {
	columns := []metav1.TableColumnDefinition{
		{Name: "Source"}, {Name: "Cluster"}, {Name: "Work"}, {Name: "Ready"}, {Name: "Applied"}, {Name: "Health"}, {Name: "Age"},
		{Name: "Decision", Priority: 1}, {Name: "Next", Priority: 1}, {Name: "Message"},
	}
	if t.isNarrow() {
		columns[2].Priority = 1
	}
	if t.namespaces {
		columns = slices.Insert(columns, 0, metav1.TableColumnDefinition{Name: "Namespace"})
	}
	return columns
}

func (t *statusTable) flush() error {
	table := &metav1.Table{ColumnDefinitions: t.columns()}
	if t.isNarrow() {
		t.fit(table.ColumnDefinitions)
	}
	for _, cells := range t.page {
		row := metav1.TableRow{}
		for _, cell := range cells {
			row.Cells = append(row.Cells, cmp.Or(cell, "-"))
		}
		table.Rows = append(table.Rows, row)
	}
	t.page = nil
	if err := t.printer.PrintObj(table, t.out); err != nil {
		return err
	}
	return t.out.Flush()
}

// fit cuts the messages, which are in the last column, to what the others leave of the terminal.
func (t *statusTable) fit(columns []metav1.TableColumnDefinition) {
	last, left := len(columns)-1, t.width
	if t.widths == nil {
		t.widths = make([]int, last)
	}
	for i, column := range columns[:last] {
		if column.Priority > 0 {
			continue
		}
		t.widths[i] = max(t.widths[i], len(column.Name))
		for _, row := range t.page {
			t.widths[i] = max(t.widths[i], utf8.RuneCountInString(row[i]))
		}
		left -= t.widths[i] + tablePadding
	}
	for _, row := range t.page {
		row[last] = cut(row[last], max(left, leastMessage))
	}
}

// cut shortens a text to a number of characters.
func cut(text string, width int) string {
	if letters := []rune(text); len(letters) > width {
		return string(letters[:width-1]) + "…"
	}
	return text
}

func (t *statusTable) printed() int { return t.count }

// shortKinds are the names by which kubectl knows the kinds of the default configuration, and some more.
var shortKinds = map[string]string{
	"Deployment.apps": "deploy", "StatefulSet.apps": "sts", "DaemonSet.apps": "ds", "ReplicaSet.apps": "rs", "Job.batch": "job", "CronJob.batch": "cj",
	"ConfigMap": "cm", "Secret": "secret", "ServiceAccount": "sa", "PersistentVolumeClaim": "pvc", "Service": "svc", "Pod": "po",
	"Ingress.networking.k8s.io": "ing", "NetworkPolicy.networking.k8s.io": "netpol", "HorizontalPodAutoscaler.autoscaling": "hpa", "PodDisruptionBudget.policy": "pdb",
}

// short returns the source as kubectl takes it, with its namespace if that is not known anyway.
func (s sourceName) short(withNamespace bool) string {
	kind := strings.TrimSuffix(s.Kind+"."+s.Group, ".")
	name := cmp.Or(shortKinds[kind], strings.ToLower(kind)) + "/"
	if withNamespace && s.Namespace != "" {
		name += s.Namespace + "/"
	}
	return name + s.Name
}
