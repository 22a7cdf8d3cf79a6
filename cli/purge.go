package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/daemon"
	"github.com/karmada-target/karmada-mirror/mirror/purge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
)

// purgeBatch is how many Works are deleted until the configuration is looked at again.
const purgeBatch = 100

// purgeCommand deletes the Works of what has left the configuration.
type purgeCommand struct {
	flags       *genericclioptions.ConfigFlags
	configMap   string
	resource    string
	dryRun, yes bool
	in          io.Reader
	out         io.Writer

	client    kubernetes.Interface
	dynamic   dynamic.Interface
	leftovers purge.Leftovers
}

func newPurge() *cobra.Command {
	p := &purgeCommand{flags: connectionFlags()}
	cmd := &cobra.Command{
		Use:   "purge --resource RESOURCE.GROUP",
		Short: "Delete the Works of a resource that has left the configuration, and so the objects in the members",
		Long: "purge deletes the Works of a resource that is not in the configuration any more, or of those of its namespaces that\n" +
			"are not. Karmada then deletes the objects in the member clusters, unless their Works say that it preserves them.\n" +
			"The daemon never does that: what it is not told to watch it leaves alone. The configurations of other daemons, in\n" +
			"ConfigMaps of the same namespace, are respected. On a terminal it asks before it deletes; elsewhere it wants --yes.",
		Example: "  karmada-mirror purge --resource deployments.apps --dry-run\n  karmada-mirror purge --resource deployments.apps",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p.in, p.out = cmd.InOrStdin(), cmd.OutOrStdout()
			return p.run(cmd.Context())
		},
	}
	p.flags.AddFlags(cmd.Flags())
	cmd.Flags().StringVar(&p.configMap, "config-map", daemon.DefaultConfigMap, "namespace/name of the daemon's ConfigMap")
	cmd.Flags().StringVar(&p.resource, "resource", "", "the resource, as in deployments.apps")
	cmd.Flags().BoolVar(&p.dryRun, "dry-run", false, "only say what would be deleted")
	cmd.Flags().BoolVarP(&p.yes, "yes", "y", false, "do not ask")
	completeFlag(cmd, "resource", func(*cobra.Command) []string { return completeResource(p.flags) })
	// The flag exists: it was defined in the lines above.
	_ = cmd.MarkFlagRequired("resource")
	return cmd
}

func (p *purgeCommand) run(ctx context.Context) error {
	if *p.flags.Namespace != "" {
		return errors.New("cannot purge one namespace: what has left the configuration goes; to purge a namespace, take it out of the resource's namespaces there")
	}
	if err := p.prepare(ctx); err != nil {
		return err
	}
	works, err := p.leftovers.Find(ctx, p.dynamic)
	if err != nil {
		return err
	}
	if len(works) == 0 && p.leftovers.Kind.Empty() {
		return fmt.Errorf("cannot tell what %q is: the API server does not serve it, and no Work outside the configuration is of it; name it in full, as in deployments.apps", p.resource)
	}
	if len(works) == 0 {
		_, err := fmt.Fprintf(p.out, "There is no Work of %s outside the configuration.\n", p.leftovers.Resource)
		return err
	}
	if p.dryRun {
		for _, w := range works {
			fmt.Fprintf(p.out, "%s: Work %s/%s would be deleted\n", w.Source, w.Namespace, w.Name)
		}
		_, err := fmt.Fprintf(p.out, "%d Works would be deleted in %s.\n", len(works), clustersOf(works))
		return err
	}
	if err := p.confirm(works); err != nil {
		return err
	}
	return p.delete(ctx, works)
}

// prepare connects, and finds out of what the Works are.
func (p *purgeCommand) prepare(ctx context.Context) error {
	connection, err := connect(p.flags)
	if err != nil {
		return err
	}
	if p.client, err = kubernetes.NewForConfig(connection); err != nil {
		return fmt.Errorf("cannot make a client: %w", err)
	}
	if p.dynamic, err = dynamic.NewForConfig(connection); err != nil {
		return fmt.Errorf("cannot make a client: %w", err)
	}
	if err := p.leftovers.Connect(connection); err != nil {
		return err
	}
	if p.leftovers.Resource, p.leftovers.Kind, err = resourceOf(p.flags, p.resource); err != nil {
		return err
	}
	return p.configure(ctx)
}

// configure reads what the daemons are told to mirror. All of it must be known.
func (p *purgeCommand) configure(ctx context.Context) error {
	own, err := readConfiguration(ctx, p.client, p.configMap)
	if err != nil {
		return err
	}
	if r, ok := own.Resource(p.leftovers.Resource); ok && len(r.Namespaces) == 0 {
		return fmt.Errorf("%s is in the configuration, in all namespaces: take it out of ConfigMap %q first", p.leftovers.Resource, p.configMap)
	}
	name, err := daemon.ParseConfigMap(p.configMap)
	if err != nil {
		return err
	}
	list, err := p.client.CoreV1().ConfigMaps(name.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("cannot look for the configurations of other daemons: %w", err)
	}
	p.leftovers.Configurations = []*config.Configuration{own}
	for _, other := range list.Items {
		if other.Name == name.Name || !isConfiguration(other.Data) {
			continue
		}
		c, err := config.ParseConfigMap(other.Data)
		if err != nil {
			return fmt.Errorf("cannot tell what another daemon mirrors: ConfigMap %q: %w", other.Name, err)
		}
		p.leftovers.Configurations = append(p.leftovers.Configurations, c)
	}
	return nil
}

// isConfiguration reports whether a ConfigMap has a part of a configuration.
func isConfiguration(data map[string]string) bool {
	for _, text := range config.PartsOf(data) {
		if strings.Contains(text, config.APIVersion) {
			return true
		}
	}
	return false
}

// confirm asks, if there is somebody to answer; where there is nobody, --yes must say so.
func (p *purgeCommand) confirm(works []*state.Work) error {
	if p.yes {
		return nil
	}
	what := fmt.Sprintf("This deletes %d Works of %s, and so the objects in %s.", len(works), p.leftovers.Resource, clustersOf(works))
	return confirm(p.in, p.out, what, "nothing was deleted")
}

// delete goes on where one deletion fails, and ends when the resource has come back
// into a configuration.
func (p *purgeCommand) delete(ctx context.Context, works []*state.Work) error {
	var errs []error
	count := 0
	for i, w := range works {
		if i%purgeBatch == 0 {
			if err := p.configure(ctx); err != nil {
				return errors.Join(append(errs, err)...)
			}
		}
		deleted, err := p.leftovers.Delete(ctx, w)
		if err != nil {
			errs = append(errs, err)
			if ctx.Err() != nil {
				break
			}
			continue
		}
		if deleted {
			count++
			fmt.Fprintf(p.out, "%s: Work %s/%s deleted\n", w.Source, w.Namespace, w.Name)
		}
	}
	fmt.Fprintf(p.out, "%d Works deleted in %s.\n", count, clustersOf(works))
	return errors.Join(errs...)
}

// clustersOf names the clusters, or counts them.
func clustersOf(works []*state.Work) string {
	clusters := sets.New[string]()
	for _, w := range works {
		clusters.Insert(w.Cluster)
	}
	if len(clusters) > 5 {
		return fmt.Sprintf("%d clusters", len(clusters))
	}
	return strings.Join(sets.List(clusters), ", ")
}
