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

// purgeBatch is how many Works purge deletes before it rereads the configuration.
const purgeBatch = 100

// purgeCommand deletes the Works of what is no longer in the configuration.
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
		Short: "Delete the Works of a resource that has left the configuration, and so its objects in the members",
		Long: "purge deletes the Works of a resource that is no longer in the configuration, or of those of its namespaces that no\n" +
			"longer are. Karmada then deletes the objects in the member clusters, unless their Works preserve them. The daemon never\n" +
			"does this: it leaves alone what it does not watch. purge keeps what other daemons mirror, as configured by ConfigMaps\n" +
			"in the same namespace. On a terminal it asks first; elsewhere it needs --yes.",
		Example: "  karmada-mirror purge --resource deployments.apps --dry-run\n  karmada-mirror purge --resource deployments.apps",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p.in, p.out = cmd.InOrStdin(), cmd.OutOrStdout()
			return withHint(p.run(cmd.Context()))
		},
	}
	p.flags.AddFlags(cmd.Flags())
	cmd.Flags().StringVar(&p.configMap, "config-map", daemon.DefaultConfigMap, "namespace/name of the daemon's ConfigMap")
	cmd.Flags().StringVar(&p.resource, "resource", "", "the resource, as in deployments.apps")
	cmd.Flags().BoolVar(&p.dryRun, "dry-run", false, "only print what would be deleted")
	cmd.Flags().BoolVarP(&p.yes, "yes", "y", false, "do not ask for confirmation")
	completeFlag(cmd, "resource", func(*cobra.Command) []string { return completeResource(p.flags) })
	// The flag exists: it was defined in the lines above.
	_ = cmd.MarkFlagRequired("resource")
	return cmd
}

func (p *purgeCommand) run(ctx context.Context) error {
	if *p.flags.Namespace != "" {
		return misuse("cannot purge by --namespace: purge deletes what has left the configuration; to purge a namespace, remove it from the resource's namespaces there")
	}
	if err := p.prepare(ctx); err != nil {
		return err
	}
	works, err := p.leftovers.Find(ctx, p.dynamic)
	if err != nil {
		return err
	}
	if len(works) == 0 && p.leftovers.Kind.Empty() {
		return fmt.Errorf("cannot tell what %q is: the API server does not serve it, and no Work outside the configuration belongs to it; give its full name, as in deployments.apps", p.resource)
	}
	if len(works) == 0 {
		_, err := fmt.Fprintf(p.out, "No Works of %s are outside the configuration.\n", p.leftovers.Resource)
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

// prepare connects, resolves the resource and reads the configurations.
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

// configure reads the configurations of all daemons. It fails if it cannot read one of them.
func (p *purgeCommand) configure(ctx context.Context) error {
	own, err := readConfiguration(ctx, p.client, p.configMap)
	if err != nil {
		return err
	}
	if r, ok := own.Resource(p.leftovers.Resource); ok && len(r.Namespaces) == 0 {
		return fmt.Errorf("%s is in the configuration, for all namespaces: remove it from ConfigMap %q first", p.leftovers.Resource, p.configMap)
	}
	name, err := parseConfigMap(p.configMap)
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

// confirm asks on a terminal; elsewhere it needs --yes.
func (p *purgeCommand) confirm(works []*state.Work) error {
	if p.yes {
		return nil
	}
	what := fmt.Sprintf("This deletes %d Works of %s, and so the objects in %s.", len(works), p.leftovers.Resource, clustersOf(works))
	return confirm(p.in, p.out, what, "nothing was deleted")
}

// delete continues after a failed deletion, and stops if the resource is back in a
// configuration.
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

// clustersOf names the clusters, or counts them if there are more than five.
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
