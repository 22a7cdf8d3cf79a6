// Command measure runs karmada-mirror under load in a sandbox, and measures it for
// docs/performance.md. Run it in the folder of the sandbox module:
//
//	go run ./measure bench
//
// It is not part of the sandbox command, so that a sandbox does not need to compile the
// code that draws plots, and karmada-mirror with it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := newRoot().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "measure",
		Short:         "Measure karmada-mirror under load",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(newBench(), newBenchLoop(), newBenchDaemon())
	return root
}
