package cli

import (
	"net/http"

	"github.com/spf13/cobra"

	"github.com/karmada-target/karmada-mirror/daemon"
)

func newRun(transport http.RoundTripper) *cobra.Command {
	o := &daemon.Options{Network: daemon.Network{Transport: transport}}
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
