package main

import (
	"context"
	"io"
	"path/filepath"

	clusterv1alpha1 "github.com/karmada-io/api/cluster/v1alpha1"
	"github.com/spf13/cobra"

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

func runDashboard(ctx context.Context, out io.Writer, prometheus, picture string) error {
	prometheus, err := filepath.Abs(prometheus)
	if err != nil {
		return err
	}
	members := []karmada.Member{
		{Name: "member1", Mode: clusterv1alpha1.Push},
		{Name: "member2", Mode: clusterv1alpha1.Push},
		{Name: "member3", Mode: clusterv1alpha1.Pull},
	}
	return onKarmada(ctx, out, "dashboard", karmada.Options{Members: members}, func(s stage) error {
		return dashboard.Run(ctx, dashboard.Options{
			Karmada: s.Karmada, Repository: s.repository, Dir: s.dir, Daemon: s.daemon, Prometheus: prometheus, Picture: picture, Out: out,
		})
	})
}
