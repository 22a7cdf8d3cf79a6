// Package command holds the subcommands of the sandbox command, one file each.
package command

import (
	"context"
	"io"

	clusterv1alpha1 "github.com/karmada-io/api/cluster/v1alpha1"
	"github.com/spf13/cobra"

	"github.com/karmada-target/karmada-mirror/sandbox/build"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

// New returns the sandbox command.
func New() *cobra.Command {
	root := &cobra.Command{
		Use:           "sandbox",
		Short:         "Run a real Karmada with three member clusters on this machine",
		Long:          "Run a real Karmada with three member clusters on this machine: the newest, or the minor version in $" + build.KarmadaVariable + ".",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(
		newWithDir("up", "Start the sandbox, building it first, and leave it running", up),
		newWithDir("down", "Stop the sandbox and remove its files", down),
		newDemo(),
	)
	return root
}

// Members are two member clusters in push mode and one in pull mode, on which Pods run.
func Members() []karmada.Member {
	return []karmada.Member{
		{Name: "member1", Mode: clusterv1alpha1.Push, Nodes: 1},
		{Name: "member2", Mode: clusterv1alpha1.Push, Nodes: 1},
		{Name: "member3", Mode: clusterv1alpha1.Pull, Nodes: 1},
	}
}

// Programs builds the programs that karmada.Start needs.
func Programs(ctx context.Context, out io.Writer) (*build.Builder, karmada.Programs, error) {
	builder, err := build.New(ctx, out)
	if err != nil {
		return nil, karmada.Programs{}, err
	}
	binary, err := builder.Hyperkarmada(ctx)
	if err != nil {
		return nil, karmada.Programs{}, err
	}
	kwok, stages, err := builder.Kwok(ctx)
	return builder, karmada.Programs{Hyperkarmada: binary, Karmada: builder.KarmadaSources(), Kwok: kwok, Stages: stages}, err
}
