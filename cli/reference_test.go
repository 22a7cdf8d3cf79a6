package cli

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"text/template"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
)

var updateReference = flag.Bool("update-reference", false, "write docs/reference/commands.md")

// referencePage is the page of all commands.
var referencePage = template.Must(template.New("").Funcs(template.FuncMap{"options": ownOptions, "codes": func() []exitCode { return exitCodes }}).Parse("" +
	`# Commands and flags

<!-- Generated from the code: go test ./cli -run TestCommandReference -update-reference -->

The commands that talk to the Karmada API server also accept kubectl's connection flags: ` + "`--kubeconfig`, `--context`, `-n`, `--as`" + ` and so on. By default, they use ` + "`$KUBECONFIG`" + `, as kubectl does. If the binary is on the path as ` + "`kubectl-karmada-mirror`" + `, you can also run each as ` + "`kubectl karmada mirror …`" + `.

## Exit codes

| code | of | when |
|---|---|---|
{{range codes}}| {{.Code}} | {{.Commands}} | {{.When}} |
{{end}}{{range .}}
## {{.CommandPath}}

{{.Short}}
{{with .Long}}
### Synopsis

{{.}}
{{end}}` + "\n```text\n{{.UseLine}}\n```\n{{with .Example}}\n### Examples\n\n```text\n{{.}}\n```\n{{end}}{{with options .}}\n### Options\n\n```text\n{{.}}```\n{{end}}{{end}}"))

// ownOptions returns the flags of a command, without those of kubectl's by which it connects.
func ownOptions(c *cobra.Command) string {
	c.InitDefaultHelpFlag()
	connection := pflag.NewFlagSet("", pflag.ContinueOnError)
	if c.Flag("context") != nil {
		genericclioptions.NewConfigFlags(true).AddFlags(connection)
	}
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if connection.Lookup(f.Name) == nil {
			own.AddFlag(f)
		}
	})
	return own.FlagUsages()
}

// TestCommandReference compares the page of commands with the code, or writes it with -update-reference.
func TestCommandReference(t *testing.T) {
	// Some defaults depend on the user.
	t.Setenv("HOME", "/home/you")
	t.Setenv("KUBECACHEDIR", "")
	var page bytes.Buffer
	if err := referencePage.Execute(&page, allCommands(New())); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("..", "docs", "reference", "commands.md")
	if *updateReference {
		if err := os.WriteFile(path, page.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	present, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(present), page.String()); diff != "" {
		t.Errorf("%s is out of date (run go test ./cli -run TestCommandReference -update-reference), -page +code:\n%s", path, diff)
	}
}

// allCommands returns the commands that are more than a group of others, in order.
func allCommands(c *cobra.Command) (all []*cobra.Command) {
	if !c.HasSubCommands() && c.IsAvailableCommand() && c.Name() != "help" {
		all = append(all, c)
	}
	for _, sub := range c.Commands() {
		all = append(all, allCommands(sub)...)
	}
	return all
}
