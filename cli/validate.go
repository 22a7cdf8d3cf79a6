package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/karmada-target/karmada-mirror/config"
)

func newValidate(transport http.RoundTripper) *cobra.Command {
	var files []string
	var againstCluster bool
	flags := connectionFlags(transport)
	cmd := &cobra.Command{
		Use:   "validate -f FILE",
		Short: "Check a configuration, offline",
		Long: "validate checks the parts of a configuration as the daemon does: files with a MirrorConfiguration, or manifests of\n" +
			"ConfigMaps with such parts. It merges several in order of their names, with config.yaml first.\n\n" +
			"With --against-cluster it also asks the Karmada API server whether it serves the resources.",
		Example: "  karmada-mirror validate -f config.yaml\n  karmada-mirror validate -f manifests/karmada/configmap.yaml -f own.yaml --against-cluster",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			parts, err := readParts(files, cmd.InOrStdin())
			if err != nil {
				return err
			}
			c, err := parts.Parse()
			if err != nil {
				return eachOnALine{err}
			}
			warnings := c.Warnings()
			if unseen := c.WarnUnseen(); unseen != "" && !againstCluster { // who may ask runs check, which knows
				warnings = append(warnings, unseen)
			}
			for _, warning := range warnings {
				fmt.Fprintln(plain{cmd.ErrOrStderr()}, "warning: "+oneLine(warning))
			}
			if againstCluster {
				if err := validateServed(cmd.Context(), flags, c); err != nil {
					return withHint(err)
				}
			}
			_, err = fmt.Fprintf(plain{cmd.OutOrStdout()}, "valid: %d resources\n", len(c.Resources))
			return err
		},
	}
	cmd.Flags().StringSliceVarP(&files, "filename", "f", nil, "the files; - for standard input")
	cmd.Flags().BoolVar(&againstCluster, "against-cluster", false, "ask the Karmada API server whether it serves the resources")
	flags.AddFlags(cmd.Flags())
	// The flag exists: it was defined in the lines above.
	_ = cmd.MarkFlagRequired("filename")
	return cmd
}

// eachOnALine is an error whose mistakes are on lines of their own.
type eachOnALine struct{ error }

func (e eachOnALine) Error() string {
	text := e.error.Error()
	for _, several := range aggregatesIn(e.error) {
		lines := ""
		for _, mistake := range several.Errors() {
			lines += "\n  " + mistake.Error()
		}
		text = strings.Replace(text, " "+several.Error(), lines, 1)
	}
	return text
}

func (e eachOnALine) Unwrap() error { return e.error }

// aggregatesIn returns those in an error that have several mistakes.
func aggregatesIn(err error) []utilerrors.Aggregate {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []utilerrors.Aggregate
		for _, one := range joined.Unwrap() {
			all = append(all, aggregatesIn(one)...)
		}
		return all
	}
	if several := utilerrors.Aggregate(nil); errors.As(err, &several) && len(several.Errors()) > 1 {
		return []utilerrors.Aggregate{several}
	}
	return nil
}

// readParts reads the parts in files.
func readParts(files []string, stdin io.Reader) (config.Parts, error) {
	parts := config.Parts{}
	add := func(name, text string) error {
		if _, ok := parts[name]; ok {
			return fmt.Errorf("there are two parts named %s", name)
		}
		parts[name] = text
		return nil
	}
	for _, file := range files {
		data, err := readFile(file, stdin)
		if err != nil {
			return nil, err
		}
		var manifest corev1.ConfigMap
		err = yaml.Unmarshal(data, &manifest)
		if err == nil && manifest.Kind != "" && manifest.Kind != config.Kind && manifest.Kind != "ConfigMap" {
			return nil, fmt.Errorf("%s: this is a %s: give a %s, or a ConfigMap with some", file, manifest.Kind, config.Kind)
		}
		if err != nil || manifest.Kind != "ConfigMap" {
			if err := add(filepath.Base(file), string(data)); err != nil {
				return nil, err
			}
			continue
		}
		found := config.PartsOf(manifest.Data)
		if len(found) == 0 {
			return nil, fmt.Errorf("%s: this ConfigMap has no part of a configuration: none of its keys ends in .yaml", file)
		}
		for name, text := range found {
			if err := add(name, text); err != nil {
				return nil, err
			}
		}
	}
	return parts, nil
}

// validateServed returns an error for each resource that the API server does not serve.
func validateServed(ctx context.Context, flags *genericclioptions.ConfigFlags, c *config.Configuration) error {
	connection, err := connect(flags)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(connection)
	if err != nil {
		return fmt.Errorf("cannot make a client: %w", err)
	}
	var errs []error
	for _, r := range c.Resources {
		_, served, err := resolve(ctx, client, r.GroupResource(), r.Version)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("cannot tell whether %s is served: %w", r.GroupResource(), err))
		case !served:
			errs = append(errs, fmt.Errorf("the API server does not serve %s%s", resourceName(r.GroupResource(), r.Version), suggest(client.Discovery(), r.GroupResource())))
		}
	}
	return errors.Join(errs...)
}

func readFile(name string, stdin io.Reader) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(stdin)
	}
	return os.ReadFile(name)
}
