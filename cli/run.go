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
			stderr := daemon.NewOutput(cmd.ErrOrStderr())
			err := daemon.Run(cmd.Context(), o, build(), stderr)
			if err == nil {
				return nil
			}
			printError(stderr, err)
			_ = stderr.Sync() // perhaps no one reads it
			return printed{err}
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}
