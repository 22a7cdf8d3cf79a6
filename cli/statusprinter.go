package cli

import (
	"cmp"
	"fmt"
	"io"

	"github.com/liggitt/tabwriter"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/karmada-target/karmada-mirror/config"
)

const statusVersion = config.APIVersion

// statusPrinter prints lines as they come, or all at the end.
type statusPrinter interface {
	print(mirrorStatus) error
	flush() error
	// printed is how many there were.
	printed() int
}

func newStatusPrinter(output string, watch bool, out io.Writer) (statusPrinter, error) {
	switch output {
	case "", "wide":
		wide := output == "wide"
		return &statusTable{
			printer: printers.NewTablePrinter(printers.PrintOptions{Wide: wide}), wide: wide, out: printers.GetNewTabWriter(out),
		}, nil
	case "json":
		return &statusList{printer: &printers.JSONPrinter{}, out: out, single: watch}, nil
	case "yaml":
		return &statusList{printer: &printers.YAMLPrinter{}, out: out, single: watch}, nil
	}
	return nil, fmt.Errorf("cannot print %q: want wide, json or yaml", output)
}

// tablePage is how many lines are laid out together; the widths of the columns are
// remembered.
const tablePage = 100

// messageWidth is what of a message fits into a table that is not wide.
const messageWidth = 80

type statusTable struct {
	printer printers.ResourcePrinter
	wide    bool
	out     *tabwriter.Writer
	page    []metav1.TableRow
	count   int
}

// columns of the table; those with a priority are of the wide one only.
var statusColumns = []metav1.TableColumnDefinition{
	{Name: "Source"}, {Name: "Cluster"}, {Name: "Work"}, {Name: "Applied"}, {Name: "Health"}, {Name: "Age"},
	{Name: "Decision", Priority: 1}, {Name: "Next", Priority: 1}, {Name: "Message"},
}

func (t *statusTable) print(s mirrorStatus) error {
	t.count++
	work, since := &workStatus{}, metav1.Time{}
	if s.Work != nil {
		work, since = s.Work, s.Work.CreationTimestamp
	}
	name, message := work.Name, s.Message
	if t.wide && s.Work != nil {
		name = work.Namespace + "/" + work.Name
	}
	if letters := []rune(message); !t.wide && len(letters) > messageWidth {
		message = string(letters[:messageWidth-1]) + "…"
	}
	row := metav1.TableRow{}
	for _, cell := range []string{s.Source.String(), s.Cluster, name, work.Applied, work.Health, age(since), s.Decision, s.Operation, message} {
		row.Cells = append(row.Cells, cmp.Or(cell, "-"))
	}
	t.page = append(t.page, row)
	if len(t.page) < tablePage {
		return nil
	}
	return t.flush()
}

func (t *statusTable) flush() error {
	table := &metav1.Table{ColumnDefinitions: statusColumns, Rows: t.page}
	t.page = nil
	if err := t.printer.PrintObj(table, t.out); err != nil {
		return err
	}
	return t.out.Flush()
}

func (t *statusTable) printed() int { return t.count }

// statusList prints one list, or when it is followed a document for each line.
type statusList struct {
	printer printers.ResourcePrinter
	out     io.Writer
	single  bool
	items   []any
	count   int
}

func (l *statusList) print(s mirrorStatus) error {
	l.count++
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&s)
	if err != nil {
		return err
	}
	if l.single {
		return l.printer.PrintObj(&unstructured.Unstructured{Object: fields}, l.out)
	}
	l.items = append(l.items, fields)
	return nil
}

func (l *statusList) flush() error {
	if l.single {
		return nil
	}
	items := l.items
	if items == nil {
		items = []any{}
	}
	return l.printer.PrintObj(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": statusVersion, "kind": "MirrorStatusList", "items": items,
	}}, l.out)
}

func (l *statusList) printed() int { return l.count }
