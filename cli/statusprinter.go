package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/liggitt/tabwriter"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/yaml"

	"github.com/karmada-target/karmada-mirror/config"
)

const statusVersion = config.APIVersion

// statusPrinter prints lines as they arrive, or all at the end.
type statusPrinter interface {
	print(mirrorStatus) error
	flush() error
	// printed returns how many lines there were.
	printed() int
}

func newStatusPrinter(output string, watch, namespaces bool, out io.Writer) (statusPrinter, error) {
	switch output {
	case "", "wide":
		wide := output == "wide"
		return &statusTable{
			printer: printers.NewTablePrinter(printers.PrintOptions{Wide: wide}), wide: wide, namespaces: namespaces, out: printers.GetNewTabWriter(out),
		}, nil
	case "name":
		return &statusNames{out: out}, nil
	}
	printer, err := objectPrinter(output, "wide, name, json or yaml")
	return &statusList{printer: printer, out: out, single: watch}, err
}

// objectPrinter returns the printer of a form for programs. allowed are all forms of the command.
func objectPrinter(output, allowed string) (printers.ResourcePrinter, error) {
	if _, err := genericclioptions.NewJSONYamlPrintFlags().ToPrinter(output); err != nil {
		return nil, misuse("cannot print %q: want %s", output, allowed)
	}
	return &plainPrinter{isYAML: output == "yaml"}, nil
}

// plainPrinter prints nothing that a terminal would obey.
type plainPrinter struct {
	json    printers.JSONPrinter
	isYAML  bool
	printed int
}

// PrintObj implements printers.ResourcePrinter.
func (p *plainPrinter) PrintObj(obj runtime.Object, out io.Writer) error {
	var encoded bytes.Buffer
	if err := p.json.PrintObj(obj, &encoded); err != nil {
		return err
	}
	text := escapeControl(encoded.Bytes())
	if p.isYAML {
		lines, err := yaml.JSONToYAML(text)
		if err != nil {
			return err
		}
		if text = lines; p.printed > 0 {
			text = append([]byte("---\n"), lines...)
		}
	}
	p.printed++
	_, err := out.Write(text)
	return err
}

// tablePage is how many lines are laid out together; the column widths carry over to the
// next page.
const tablePage = 100

// messageWidth is how much of a message fits into a table that is not wide.
const messageWidth = 80

type statusTable struct {
	printer printers.ResourcePrinter
	wide    bool
	// namespaces adds a column for them.
	namespaces bool
	out        *tabwriter.Writer
	page       []metav1.TableRow
	count      int
}

// statusColumns are the columns of the table; those with a priority are in the wide one only.
var statusColumns = []metav1.TableColumnDefinition{
	{Name: "Source"}, {Name: "Cluster"}, {Name: "Work"}, {Name: "Ready"}, {Name: "Applied"}, {Name: "Health"}, {Name: "Age"},
	{Name: "Decision", Priority: 1}, {Name: "Next", Priority: 1}, {Name: "Message"},
}

func (t *statusTable) print(s mirrorStatus) error {
	t.count++
	message := s.Message
	if letters := []rune(message); !t.wide && len(letters) > messageWidth {
		message = string(letters[:messageWidth-1]) + "…"
	}
	row := metav1.TableRow{}
	if t.namespaces {
		row.Cells = append(row.Cells, cmp.Or(s.Source.Namespace, "-"))
	}
	for _, cell := range slices.Concat([]string{s.Source.String()}, t.cellsOf(s), []string{s.Decision, s.Operation, message}) {
		row.Cells = append(row.Cells, cmp.Or(cell, "-"))
	}
	t.page = append(t.page, row)
	if len(t.page) < tablePage {
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
		return []string{s.Cluster, w.Namespace + "/" + w.Name, readyCell(w.Ready, w.Wanted), w.Applied, w.Health, age(&w.CreationTimestamp)}
	case w != nil:
		return []string{s.Cluster, w.Name, readyCell(w.Ready, w.Wanted), w.Applied, w.Health, age(&w.CreationTimestamp)}
	}
	return []string{s.Cluster, "", "", "", "", ""}
}

func (t *statusTable) flush() error {
	columns := statusColumns
	if t.namespaces {
		columns = append([]metav1.TableColumnDefinition{{Name: "Namespace"}}, columns...)
	}
	table := &metav1.Table{ColumnDefinitions: columns, Rows: t.page}
	t.page = nil
	if err := t.printer.PrintObj(table, t.out); err != nil {
		return err
	}
	return t.out.Flush()
}

func (t *statusTable) printed() int { return t.count }

// statusNames prints each source once, in the form that every command accepts.
type statusNames struct {
	out   io.Writer
	last  sourceName
	count int
}

func (n *statusNames) print(s mirrorStatus) error {
	n.count++
	if n.count > 1 && n.last == s.Source { // the lines of a source are adjacent
		return nil
	}
	n.last = s.Source
	_, err := fmt.Fprintln(n.out, s.Source)
	return err
}

func (n *statusNames) flush() error { return nil }

func (n *statusNames) printed() int { return n.count }

// statusList prints one list or, with --watch, a document for each line.
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
	return printItems(l.printer, l.out, "MirrorStatusList", items)
}

// printItems prints a list of one of our kinds.
func printItems(printer printers.ResourcePrinter, out io.Writer, kind string, items []any) error {
	return printer.PrintObj(&unstructured.Unstructured{Object: map[string]any{"apiVersion": statusVersion, "kind": kind, "items": items}}, out)
}

func (l *statusList) printed() int { return l.count }
