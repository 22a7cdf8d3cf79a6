package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/metrics"
)

// version and revision are set by the linker; see the Dockerfile.
var (
	version  = "dev"
	revision = ""
)

// build returns the version of this binary. One built from a module or a checkout
// knows it without the linker's help.
func build() metrics.Build {
	b := metrics.Build{Version: version, Revision: revision, GoVersion: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if b.Version == "dev" && info.Main.Version != "" && info.Main.Version != "(devel)" {
		b.Version = info.Main.Version
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" && b.Revision == "" {
			b.Revision = setting.Value
		}
	}
	return b
}

func newVersion() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b := build()
			if output != "" {
				printer, err := objectPrinter(output, "json or yaml")
				if err != nil {
					return err
				}
				return printer.PrintObj(&unstructured.Unstructured{Object: map[string]any{
					"apiVersion": statusVersion, "kind": "Version", "version": b.Version, "revision": b.Revision, "goVersion": b.GoVersion,
				}}, cmd.OutOrStdout())
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "karmada-mirror %s (revision %s, %s)\n", b.Version, orUnknown(b.Revision), b.GoVersion)
			return err
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "json or yaml")
	completeWords(cmd, "output", "json", "yaml")
	return cmd
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}
