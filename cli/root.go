// Package cli is the command line: the commands, one file each, and signals. `run` starts
// package daemon; the others look at what the daemon does, by the same decisions.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
)

// Main runs the command line and returns the exit code: 0 for success, 1 for a
// failure unless the command says otherwise, 130 if it was interrupted. The first SIGINT or SIGTERM ends the command
// gracefully, a second one at once.
func Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	root := New()
	if name := filepath.Base(os.Args[0]); name == plugin {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl karmada mirror"}
	}
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	return report(os.Stderr, err, ctx.Err() != nil)
}

// interrupted is the exit code of what has not ended before a signal, as in a shell.
const interrupted = 130

// report prints an error, and the usage if that is the mistake, and returns the exit code.
func report(out io.Writer, err error, isInterrupted bool) (code int) {
	if _, isPrinted := errors.AsType[printed](err); isPrinted {
		return 1
	}
	printError(out, err)
	printUsage(out, err)
	if isInterrupted {
		return interrupted
	}
	if exit := (*exitError)(nil); errors.As(err, &exit) {
		return exit.code
	}
	return 1
}

// printed is an error that its command has printed.
type printed struct{ error }

// printError prints the text of an error, if it has any.
func printError(out io.Writer, err error) {
	if text := err.Error(); text != "" {
		fmt.Fprintln(out, "karmada-mirror:", stripControl(text))
	}
}

const (
	program = "karmada-mirror"
	// plugin is the file name under which kubectl runs it as `kubectl karmada mirror`.
	plugin = "kubectl-karmada-mirror"
)

// New returns the root command.
func New() *cobra.Command { return NewOver(nil) }

// NewOver returns the root command with another way to the Karmada API server: transport carries the
// requests; nil makes one from the kubeconfig.
func NewOver(transport http.RoundTripper) *cobra.Command {
	root := &cobra.Command{
		Use:           program,
		Short:         "Mirror annotated objects to Karmada's member clusters",
		Long:          "karmada-mirror writes a Work for each member cluster that an object on the Karmada API server\nnames in its annotation karmada.target/clusters, and deletes it when the object no longer asks for it.",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	for _, group := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{"Look at objects:", []*cobra.Command{newStatus(transport), newExplain(transport), newDiff(transport), newWait(transport), newRender()}},
		{"Change what is mirrored:", []*cobra.Command{newAdopt(transport), newDeletions(transport), newPurge(transport)}},
		{"Run and set up the daemon:", []*cobra.Command{newRun(transport), newCheck(transport), newValidate(transport), newKubeconfig(transport)}},
	} {
		root.AddGroup(&cobra.Group{ID: group.title, Title: group.title})
		for _, cmd := range group.commands {
			cmd.GroupID = group.title
		}
		root.AddCommand(group.commands...)
	}
	root.AddCommand(newVersion())
	reportMisuse(root)
	return root
}
