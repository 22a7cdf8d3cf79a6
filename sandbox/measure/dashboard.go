package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	clusterv1alpha1 "github.com/karmada-io/api/cluster/v1alpha1"
	"github.com/spf13/cobra"

	"github.com/karmada-target/karmada-mirror/sandbox/build"
	"github.com/karmada-target/karmada-mirror/sandbox/dashboard"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

func newDashboard() *cobra.Command {
	var prometheus, picture string
	cmd := &cobra.Command{
		Use:   "dashboard",
		Short: "Draw the Grafana dashboard from a run of a few minutes",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runDashboard(cmd.Context(), cmd.OutOrStdout(), prometheus, picture)
		},
	}
	cmd.Flags().StringVar(&prometheus, "prometheus", "prometheus", "path of the program Prometheus")
	cmd.Flags().StringVar(&picture, "picture", "dashboard.png", "PNG file to write")
	return cmd
}

func runDashboard(ctx context.Context, out io.Writer, prometheus, picture string) (err error) {
	builder, err := build.New(ctx, out)
	if err != nil {
		return err
	}
	hyperkarmada, err := builder.Hyperkarmada(ctx)
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
		return fmt.Errorf("cannot create a folder: %w", err)
	}
	defer func() {
		if err == nil { // the logs explain a failure
			err = os.RemoveAll(dir)
		}
	}()
	k, err := karmada.Start(ctx, karmada.Options{
		Dir:      filepath.Join(dir, "karmada"),
		Programs: karmada.Programs{Hyperkarmada: hyperkarmada, Karmada: builder.KarmadaSources()},
		Members: []karmada.Member{
			{Name: "member1", Mode: clusterv1alpha1.Push},
			{Name: "member2", Mode: clusterv1alpha1.Push},
			{Name: "member3", Mode: clusterv1alpha1.Pull},
		},
		Progress: out,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.Stop()) }()
	return dashboard.Run(ctx, dashboard.Options{
		Karmada: k, Repository: builder.Repository(), Dir: dir, Daemon: program, Prometheus: prometheus, Picture: picture, Out: out,
	})
}
