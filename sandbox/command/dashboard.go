package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/karmada-target/karmada-mirror/sandbox/dashboard"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

func newDashboard() *cobra.Command {
	var prometheus, picture string
	cmd := &cobra.Command{
		Use:   "dashboard",
		Short: "Draw the Grafana dashboard from a run of some minutes",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runDashboard(cmd.Context(), cmd.OutOrStdout(), prometheus, picture)
		},
	}
	cmd.Flags().StringVar(&prometheus, "prometheus", "prometheus", "the program")
	cmd.Flags().StringVar(&picture, "picture", "dashboard.png", "the file to write")
	return cmd
}

func runDashboard(ctx context.Context, out io.Writer, prometheus, picture string) (err error) {
	builder, built, err := programs(ctx, out)
	if err != nil {
		return err
	}
	program, err := builder.Daemon(ctx)
	if err != nil {
		return err
	}
	if prometheus, err = filepath.Abs(prometheus); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "karmada-mirror-dashboard-")
	if err != nil {
		return fmt.Errorf("cannot make a folder: %w", err)
	}
	defer func() {
		if err == nil { // the logs tell of a failure
			err = os.RemoveAll(dir)
		}
	}()
	k, err := karmada.Start(ctx, karmada.Options{Dir: filepath.Join(dir, "karmada"), Programs: built, Members: members(), Progress: out})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.Stop()) }()
	return dashboard.Run(ctx, dashboard.Options{
		Karmada: k, Repository: builder.Repository(), Dir: dir, Daemon: program, Prometheus: prometheus, Picture: picture, Out: out,
	})
}
