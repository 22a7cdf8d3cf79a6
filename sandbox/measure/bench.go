package main

import (
	"errors"
	"fmt"
	"os"
	"runtime/pprof"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/karmada-target/karmada-mirror/cli"
	"github.com/karmada-target/karmada-mirror/sandbox/bench"
)

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
	cmd.Flags().StringVar(&o.Profiles, "profiles", "", "write CPU profiles of karmada-mirror to this folder; karmada-mirror then runs as part of this program")
	cmd.Flags().StringVar(&o.Against, "against", "", "an earlier revision of karmada-mirror that the section revisions compares with")
	cmd.Flags().StringVar(&o.Page, "page", "", "write the report between the marks of this page, and its plots next to it")
	return cmd
}

// newBenchLoop is the command that runs the bare loop.
func newBenchLoop() *cobra.Command {
	var watches bool
	cmd := &cobra.Command{
		Use:    bench.LoopCommand + " KUBECONFIG FILE IN-FLIGHT",
		Hidden: true,
		Args:   cobra.ExactArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			inFlight, err := strconv.Atoi(args[2])
			if err != nil || inFlight < 1 {
				return fmt.Errorf("cannot keep %q requests in flight", args[2])
			}
			return bench.Loop(cmd.Context(), args[0], args[1], inFlight, watches, cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&watches, bench.LoopWatches, false, "also watch the Works")
	return cmd
}

// newBenchDaemon is the command that runs karmada-mirror with a profile.
func newBenchDaemon() *cobra.Command {
	return &cobra.Command{
		Use:                bench.DaemonCommand + " PROFILE ARGUMENTS",
		Hidden:             true,
		DisableFlagParsing: true,
		Args:               cobra.MinimumNArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			profile, err := os.Create(args[0])
			if err != nil {
				return err
			}
			if err := pprof.StartCPUProfile(profile); err != nil {
				return errors.Join(err, profile.Close())
			}
			os.Args = append(os.Args[:1:1], args[1:]...)
			code := cli.Main()
			pprof.StopCPUProfile()
			if err := profile.Close(); err != nil || code == 0 {
				return err
			}
			return fmt.Errorf("karmada-mirror exited with status %d", code)
		},
	}
}
