package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/karmada-target/karmada-mirror/sandbox/build"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

func newDown() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Stop the sandbox and remove its files",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return down(cmd, dir)
		},
	}
	dirFlag(cmd, &dir)
	return cmd
}

func down(cmd *cobra.Command, dir string) error {
	builder, err := build.New(cmd.Context(), cmd.OutOrStdout())
	if err != nil {
		return err
	}
	if dir, err = dirOrDefault(dir, builder); err != nil {
		return err
	}
	running, err := karmada.Running(dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "stopping %d components\n", running)
	if err := karmada.Down(dir); err != nil {
		return err
	}
	return clean(dir)
}
