package docs

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/spf13/pflag"

	"github.com/karmada-target/karmada-mirror/cli"
	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/render"
)

var update = flag.Bool("update", false, "write docs/reference/commands.md")

func reference(name string) string { return filepath.Join("..", "..", "docs", "reference", name) }

// firstCells returns the first cell of each row of a page's tables.
func firstCells(t *testing.T, name string) []string {
	t.Helper()
	page, err := Read(reference(name))
	if err != nil {
		t.Fatal(err)
	}
	var cells []string
	for _, row := range page.Rows {
		cells = append(cells, row[0])
	}
	return cells
}

// TestTables compares the tables of the reference with the code.
func TestTables(t *testing.T) {
	cases := map[string][]string{
		"annotations.md": {
			render.ClustersAnnotation, render.ClusterSelectorAnnotation, render.SuspendAnnotation,
			render.PreserveOnDeletionAnnotation, render.ExpandAnnotation, render.ReplicasAnnotation, render.DeletionAnnotation,
			render.WavesAnnotation, render.WaveBakeAnnotation, render.WaveDeadlineAnnotation, render.ConflictResolutionAnnotation,
		},
		"works.md": {
			render.ManagedByLabel, render.SourceIDLabel, render.SourceAnnotation, render.SourceUIDAnnotation,
			render.SourceCreatedAnnotation, render.OverriddenByAnnotation, render.ShareAnnotation, render.RenderedAnnotation, render.WrittenAnnotation, render.HeldKey, render.HandoverAnnotation,
		},
		"configuration.md": fields(reflect.TypeFor[config.Configuration](), ""),
	}
	for page, want := range cases {
		got := firstCells(t, page)
		if page == "configuration.md" || page == "annotations.md" { // their other tables list something else
			got = slices.DeleteFunc(got, func(cell string) bool { return !slices.Contains(want, cell) })
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s, -code +page:\n%s", page, diff)
		}
	}
}

// fields returns the paths of the fields that a user sets, by their JSON names.
func fields(of reflect.Type, path string) []string {
	var paths []string
	for field := range of.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		kind := field.Type
		path := path + name
		switch {
		case kind.Kind() == reflect.Slice && kind.Elem().Kind() == reflect.Struct:
			paths = append(append(paths, path), fields(kind.Elem(), path+"[].")...)
		case kind.Kind() == reflect.Struct && kind.PkgPath() == of.PkgPath():
			paths = append(paths, fields(kind, path+".")...)
		default:
			paths = append(paths, path)
		}
	}
	return paths
}

// TestReasons compares the page with the reasons and hints in the code.
func TestReasons(t *testing.T) {
	page, err := Read(reference("reasons.md"))
	if err != nil {
		t.Fatal(err)
	}
	want, got := map[string]string{}, map[string]string{}
	for _, reason := range judge.Reasons() {
		want[string(reason)] = reason.Hint()
	}
	for _, row := range page.Rows {
		got[row[0]] = row[2]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reasons, -code +page:\n%s", diff)
	}
}

// TestCommandReference compares the page of commands with the code, or writes it with
// -update.
func TestCommandReference(t *testing.T) {
	// Some defaults depend on the user.
	t.Setenv("HOME", "/home/you")
	t.Setenv("KUBECACHEDIR", "")
	var page bytes.Buffer
	page.WriteString(`# Commands and flags

<!-- Generated from the code: cd sandbox && go test ./docs -run TestCommandReference -update -->

The commands that talk to the Karmada API server also accept kubectl's connection flags: ` + "`--kubeconfig`, `--context`, `-n`, `--as`" + ` and so on. By default, they use ` + "`$KUBECONFIG`" + `, as kubectl does. If the binary is on the path as ` + "`kubectl-karmada-mirror`" + `, you can also run each as ` + "`kubectl karmada mirror …`" + `.

`)
	root := cli.New()
	root.DisableAutoGenTag = true
	for _, command := range commands(root) {
		if err := writeCommand(&page, command); err != nil {
			t.Fatal(err)
		}
	}
	path := reference("commands.md")
	if *update {
		if err := os.WriteFile(path, page.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	present, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(present), page.String()); diff != "" {
		t.Errorf("%s is out of date (run go test ./docs -run TestCommandReference -update), -page +code:\n%s", path, diff)
	}
}

// commands returns the commands that are more than a group of others, in order.
func commands(c *cobra.Command) []*cobra.Command {
	var all []*cobra.Command
	if !c.HasSubCommands() && c.IsAvailableCommand() && c.Name() != "help" {
		all = append(all, c)
	}
	for _, sub := range c.Commands() {
		all = append(all, commands(sub)...)
	}
	return all
}

// writeCommand writes cobra's page of a command, without the flags of kubectl's by which it
// connects and links between pages, and with a language for its blocks.
func writeCommand(page *bytes.Buffer, command *cobra.Command) error {
	connection := pflag.NewFlagSet("", pflag.ContinueOnError)
	genericclioptions.NewConfigFlags(true).AddFlags(connection)
	connects := command.Flag("context") != nil
	connection.VisitAll(func(f *pflag.Flag) {
		for _, flags := range []*pflag.FlagSet{command.NonInheritedFlags(), command.InheritedFlags()} {
			if known := flags.Lookup(f.Name); known != nil && connects {
				known.Hidden = true
			}
		}
	})
	var made bytes.Buffer
	if err := doc.GenMarkdown(command, &made); err != nil {
		return err
	}
	text, _, _ := strings.Cut(made.String(), "### SEE ALSO")
	inside := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			if inside = !inside; inside {
				line = "```text\n"
			}
		}
		page.WriteString(line)
	}
	return nil
}
