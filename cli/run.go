package cli

import (
	"github.com/spf13/cobra"

	"github.com/karmada-target/karmada-mirror/daemon"
)

func newRun() *cobra.Command {
	o := &daemon.Options{}
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the daemon",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return daemon.Run(cmd.Context(), o, build())
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}
