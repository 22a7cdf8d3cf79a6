// Package cli is the command line: the commands, a file each, and signals. `run` is the
// daemon, of package daemon; the others look at what it does, with its own decisions.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
)

// Main runs the command line and returns the exit code: 0 for success, 1 for a
// failure unless the command says otherwise. The first SIGINT or SIGTERM ends the command
// in good order, a second one at once.
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
	printError(os.Stderr, err)
	printUsage(os.Stderr, err)
	if exit := (*exitError)(nil); errors.As(err, &exit) {
		return exit.code
	}
	return 1
}

// printError prints what an error says, if anything.
func printError(out io.Writer, err error) {
	if text := err.Error(); text != "" {
		fmt.Fprintln(out, "karmada-mirror:", harmless(text))
	}
}

const (
	program = "karmada-mirror"
	// plugin is the name by which kubectl finds the program as `kubectl karmada mirror`.
	plugin = "kubectl-karmada-mirror"
)

// New makes the root command.
func New() *cobra.Command {
	root := &cobra.Command{
		Use:           program,
		Short:         "Mirror annotated objects to Karmada's member clusters",
		Long:          "karmada-mirror writes a Work for each member cluster that an object of the Karmada API server\nnames in its annotation karmada.target/clusters, and takes it away when it is not asked for any more.",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(newRun(), newStatus(), newExplain(), newDiff(), newWait(), newRender(), newDeletions(), newPurge(), newCheck(), newKubeconfig(), newValidate(), newVersion())
	tellUsage(root)
	return root
}
