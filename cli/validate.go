package cli

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/karmada-target/karmada-mirror/config"
)

func newValidate() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "validate -f FILE",
		Short: "Check a configuration file, offline",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			data, err := readFile(file, cmd.InOrStdin())
			if err != nil {
				return err
			}
			c, err := config.Parse(data)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "valid: %d resources\n", len(c.Resources))
			return err
		},
	}
	cmd.Flags().StringVarP(&file, "filename", "f", "", "the file; - for standard input")
	// The flag exists: it was defined in the line above.
	_ = cmd.MarkFlagRequired("filename")
	return cmd
}

func readFile(name string, stdin io.Reader) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(stdin)
	}
	return os.ReadFile(name)
}
