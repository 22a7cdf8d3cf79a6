// Command measure runs karmada-mirror under load in a sandbox, and prints what it costs; see
// docs/performance.md. Run it in the folder of the sandbox module:
//
//	go run ./measure bench
//
// It is not part of the sandbox command, which then compiles without karmada-mirror.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/sandbox/bench"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	root := &cobra.Command{Use: "measure", Short: "Measure karmada-mirror under load", SilenceUsage: true, SilenceErrors: true}
	root.AddCommand(newBench(), newBenchLoop())
	err := root.ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func newBench() *cobra.Command {
	o := bench.Options{}
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure karmada-mirror against a bare loop and against Karmada's policies",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Out = cmd.OutOrStdout()
			return bench.Run(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVar(&o.Quick, "quick", false, "measure less of everything, and skip what takes long")
	cmd.Flags().IntVar(&o.Repetitions, "repetitions", 0, "how often to run each arm (default 3)")
	cmd.Flags().StringSliceVar(&o.Only, "only", nil, "the sections to measure: "+strings.Join(bench.SectionNames(), ", "))
	cmd.Flags().StringVar(&o.Against, "against", "", "an earlier revision of karmada-mirror, which takes turns in the section throughput")
	cmd.Flags().StringVar(&o.JSON, "json", "", "also write the figures to this file")
	return cmd
}

// newBenchLoop is the command that runs the bare loop.
func newBenchLoop() *cobra.Command {
	return &cobra.Command{
		Use:    bench.LoopCommand + " KUBECONFIG GROUP VERSION RESOURCE",
		Hidden: true,
		Args:   cobra.ExactArgs(4),
		RunE: func(cmd *cobra.Command, args []string) error {
			resource := schema.GroupVersionResource{Group: args[1], Version: args[2], Resource: args[3]}
			return bench.Loop(cmd.Context(), args[0], resource, cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
}
