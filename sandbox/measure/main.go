// Command measure runs karmada-mirror under load in a sandbox, to measure it and to
// draw pictures. Run it in the folder of the sandbox module:
//
//	go run ./measure bench       measures, for docs/performance.md
//	go run ./measure dashboard   draws docs/dashboard.png
//	go run ./measure waves       draws docs/waves.svg
//
// It is not part of the sandbox command, so that a sandbox does not need to compile the
// drawing code, and karmada-mirror with it.
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
		Short:         "Measure and draw karmada-mirror under load",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(newBench(), newBenchLoop(), newBenchDaemon(), newDashboard(), newWaves())
	return root
}
