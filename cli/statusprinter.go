package cli

import (
	"bytes"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
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
		return newStatusTable(output == "wide", namespaces, out), nil
	case "matrix":
		if watch {
			return nil, misuse("cannot use --watch with -o matrix")
		}
		return &statusMatrix{clusters: sets.New[string](), out: out}, nil
	case "name":
		return &statusNames{out: out}, nil
	}
	printer, err := objectPrinter(output, "wide, matrix, name, json or yaml")
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
