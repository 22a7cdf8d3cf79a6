package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
)

func newExplain() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain RESOURCE NAME",
		Short: "Tell why an object is mirrored to each cluster, or why not, and what to do",
		Long:  "explain decides as the daemon does, by reads of its own: it needs the right to read the object, its\nNamespace, Clusters, Works and the daemon's ConfigMap, and none to write.",
		Args:  cobra.ExactArgs(2),
	}
	s := newSources(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		reader, err := s.reader(cmd.Context())
		if err != nil {
			return err
		}
		ref, err := s.find(args[0], args[1])
		if err != nil {
			return err
		}
		facts, err := reader.Facts(cmd.Context(), ref, nil)
		if err != nil {
			return err
		}
		return printExplanation(cmd.OutOrStdout(), facts)
	}
	return cmd
}

func printExplanation(out io.Writer, f judge.Facts) error {
	e := judge.Explain(f)
	fmt.Fprintln(out, f.ID)
	for _, step := range e.Steps {
		fmt.Fprintf(out, "  %s %s\n", tick(step.Passed), step.What)
		if step.Hint != "" {
			fmt.Fprintf(out, "      %s\n", step.Hint)
		}
	}
	for _, notice := range e.Notices {
		fmt.Fprintf(out, "  ! %s: %s\n      %s\n", notice.Reason, notice.Message, notice.Reason.Hint())
	}
	if len(e.Clusters) == 0 {
		_, err := fmt.Fprintln(out, "\nNo cluster is asked for, and there is no Work.")
		return err
	}
	fmt.Fprintln(out)
	table := printers.GetNewTabWriter(out)
	fmt.Fprintln(table, "CLUSTER\tDECISION\tBECAUSE\tWORK\tSTATE\tNEXT")
	for _, c := range e.Clusters {
		work, state := "-", "-"
		if c.Work != nil {
			work, state = c.Work.Namespace+"/"+c.Work.Name, c.Work.State.String()
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", c.Cluster, c.Decision, c.Because, work, state, next(c))
	}
	return table.Flush()
}

// next is what happens, or what to do.
func next(c judge.ClusterExplanation) string {
	var parts []string
	for _, op := range c.Operations {
		parts = append(parts, string(op))
	}
	if c.Hint != "" {
		parts = append(parts, c.Hint)
	}
	if len(parts) == 0 {
		return "-"
	}
	return strings.Join(parts, "; ")
}

func tick(passed bool) string {
	if passed {
		return "✓"
	}
	return "✗"
}
