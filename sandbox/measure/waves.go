package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
	"github.com/karmada-target/karmada-mirror/sandbox/waves"
)

func newWaves() *cobra.Command {
	var picture string
	cmd := &cobra.Command{
		Use:   "waves",
		Short: "Draw a rollout in waves from a run of a few minutes",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runWaves(cmd.Context(), cmd.OutOrStdout(), picture)
		},
	}
	cmd.Flags().StringVar(&picture, "picture", "waves.svg", "SVG file to write")
	return cmd
}

func runWaves(ctx context.Context, out io.Writer, picture string) error {
	return onKarmada(ctx, out, "waves", karmada.Options{Members: waves.Members(), Flags: waves.Watchfulness}, func(s stage) error {
		return waves.Run(ctx, waves.Options{Karmada: s.Karmada, Repository: s.repository, Dir: s.dir, Daemon: s.daemon, Picture: picture, Out: out})
	})
}
