package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/karmada-target/karmada-mirror/sandbox/build"
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

func runWaves(ctx context.Context, out io.Writer, picture string) (err error) {
	builder, err := build.New(ctx, out)
	if err != nil {
		return err
	}
	hyperkarmada, err := builder.Hyperkarmada(ctx)
	if err != nil {
		return err
	}
	kwok, stages, err := builder.Kwok(ctx)
	if err != nil {
		return err
	}
	program, err := builder.Daemon(ctx)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "karmada-mirror-waves-")
	if err != nil {
		return fmt.Errorf("cannot create a folder: %w", err)
	}
	defer func() {
		if err == nil { // the logs explain a failure
			err = os.RemoveAll(dir)
		}
	}()
	k, err := karmada.Start(ctx, karmada.Options{
		Dir:      filepath.Join(dir, "karmada"),
		Programs: karmada.Programs{Hyperkarmada: hyperkarmada, Karmada: builder.KarmadaSources(), Kwok: kwok, Stages: stages},
		Members:  waves.Members(), Flags: waves.Watchfulness,
		Progress: out,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.Stop()) }()
	return waves.Run(ctx, waves.Options{Karmada: k, Repository: builder.Repository(), Dir: dir, Daemon: program, Picture: picture, Out: out})
}
