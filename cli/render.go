package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/render"
)

func newRender() *cobra.Command {
	var files []string
	var clusters []string
	print := genericclioptions.NewPrintFlags("").WithDefaultOutput("yaml")
	cmd := &cobra.Command{
		Use:   "render -f FILE --clusters NAME[,NAME...]",
		Short: "Print the Works of manifests, offline",
		Long:  "render prints the Works that the daemon would write for manifests on these clusters, whatever clusters\nthe manifests' own annotations choose. It needs no API server: it takes the UIDs from the file.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			printer, err := print.ToPrinter()
			if err != nil {
				return misuse("%w", err)
			}
			return renderFiles(cmd, files, clusters, printer)
		},
	}
	cmd.Flags().StringSliceVarP(&files, "filename", "f", nil, "files, folders or URLs with manifests; - for standard input")
	cmd.Flags().StringSliceVar(&clusters, "clusters", nil, "the names of the clusters")
	print.AddFlags(cmd)
	// The flags exist: they were defined in the lines above.
	_, _ = cmd.MarkFlagRequired("filename"), cmd.MarkFlagRequired("clusters")
	return cmd
}

func renderFiles(cmd *cobra.Command, files, clusters []string, printer printers.ResourcePrinter) error {
	terms, err := render.ParseTerms(strings.Join(clusters, ","))
	if err != nil || terms.IsOpen() {
		return misuse("%w", errors.Join(errors.New("--clusters takes names only: render does not look up which clusters there are"), err))
	}
	streams := genericiooptions.IOStreams{In: cmd.InOrStdin(), Out: cmd.OutOrStdout(), ErrOut: cmd.ErrOrStderr()}
	return resource.NewLocalBuilder().Unstructured().
		FilenameParam(false, &resource.FilenameOptions{Filenames: files}).Flatten().Do().
		Visit(func(info *resource.Info, err error) error {
			if err != nil {
				return err
			}
			return renderObject(info.Object.(*unstructured.Unstructured), terms.Names(), printer, streams)
		})
}

func renderObject(u *unstructured.Unstructured, clusters []string, printer printers.ResourcePrinter, streams genericiooptions.IOStreams) error {
	annotations := u.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[render.ClustersAnnotation] = strings.Join(clusters, ",")
	u.SetAnnotations(annotations)
	source := judge.NewSource(u, render.Wishes{})
	if source.Refusal != nil {
		return fmt.Errorf("cannot render %s: %s: %s", source.ID, source.Refusal.Reason, source.Refusal.Message)
	}
	works := source.Template.Works()
	for _, cluster := range clusters {
		work := &unstructured.Unstructured{}
		if err := work.UnmarshalJSON(works.For(cluster)); err != nil {
			return fmt.Errorf("cannot decode the Work of %s: %w", source.ID, err)
		}
		if err := printer.PrintObj(work, streams.Out); err != nil {
			return err
		}
	}
	return nil
}
