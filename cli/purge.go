package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/daemon"
	"github.com/karmada-target/karmada-mirror/mirror/gather"
	"github.com/karmada-target/karmada-mirror/mirror/purge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/watch"
)

// purgeBatch is how many Works purge deletes before it rereads the configuration.
const purgeBatch = 100

// purgeCommand deletes the Works of what is no longer in the configuration.
type purgeCommand struct {
	flags       *genericclioptions.ConfigFlags
	configMap   string
	resource    string
	finalizers  bool
	uninstalled bool // there is no configuration any more: only finalizers are removed
	dryRun, yes bool
	in          io.Reader
	out         io.Writer

	client    kubernetes.Interface
	dynamic   dynamic.Interface
	leftovers purge.Leftovers
	// served is the resource as the API server serves it; without a version if it does not.
	served schema.GroupVersionResource
}

func newPurge(transport http.RoundTripper) *cobra.Command {
	p := &purgeCommand{flags: connectionFlags(transport)}
	cmd := &cobra.Command{
		Use:   "purge --resource RESOURCE.GROUP",
		Short: "Delete the Works of a resource that has left the configuration, and so its objects in the members",
		Long: "purge deletes the Works of a resource that is no longer in the configuration, or of those of its namespaces that no\n" +
			"longer are. Karmada then deletes the objects in the member clusters, unless their Works preserve them. The daemon never\n" +
			"does this: it leaves alone what it does not watch. purge keeps what other daemons mirror, as configured by ConfigMaps\n" +
			"in the same namespace. On a terminal it asks first; elsewhere it needs --yes.\n\n" +
			"With --finalizers, it also removes the daemon's finalizer from such objects, which otherwise can no longer be deleted.\n" +
			"With --uninstalled as well, it does nothing but that, and needs no configuration.",
		Example: "  karmada-mirror purge --resource deployments.apps --dry-run\n  karmada-mirror purge --resource deployments.apps --finalizers",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p.in, p.out = cmd.InOrStdin(), plain{cmd.OutOrStdout()}
			return withHint(p.run(cmd.Context()))
		},
	}
	p.flags.AddFlags(cmd.Flags())
	cmd.Flags().StringVar(&p.configMap, "config-map", daemon.DefaultConfigMap, "namespace/name of the daemon's ConfigMap")
	cmd.Flags().StringVar(&p.resource, "resource", "", "the resource, as in deployments.apps")
	cmd.Flags().BoolVar(&p.finalizers, "finalizers", false, "also remove the daemon's finalizer from the objects")
	cmd.Flags().BoolVar(&p.uninstalled, "uninstalled", false, "with --finalizers: the daemon and its ConfigMap are gone")
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
	if p.uninstalled && !p.finalizers {
		return misuse("cannot use --uninstalled without --finalizers: without a configuration, purge deletes no Works")
	}
	if err := p.prepare(ctx); err != nil {
		return err
	}
	works, err := p.works(ctx)
	if err != nil {
		return err
	}
	objects, err := p.finalized(ctx)
	if err != nil {
		return err
	}
	switch {
	case len(works) == 0 && p.leftovers.Kind.Empty():
		return fmt.Errorf("cannot tell what %q is: the API server does not serve it, and no Work outside the configuration belongs to it; give its full name, as in deployments.apps", p.resource)
	case len(works) == 0 && len(objects) == 0:
		_, err := fmt.Fprintf(p.out, "No %s of %s are outside the configuration.\n", p.sought(), p.leftovers.Resource)
		return err
	case p.dryRun:
		return p.tell(works, objects)
	}
	if err := p.confirm(ctx, works, objects); err != nil {
		return err
	}
	return errors.Join(p.delete(ctx, works), p.release(ctx, objects))
}

// works lists the Works to delete: none if there is no configuration, since it may only be elsewhere.
func (p *purgeCommand) works(ctx context.Context) ([]*state.Work, error) {
	if p.uninstalled {
		return nil, nil
	}
	return p.leftovers.Find(ctx, p.dynamic)
}

// sought names what is looked for.
func (p *purgeCommand) sought() string {
	switch {
	case p.uninstalled:
		return "finalizers"
	case p.finalizers:
		return "Works and no finalizers"
	}
	return "Works"
}

// tell prints what would be done.
func (p *purgeCommand) tell(works []*state.Work, objects []*unstructured.Unstructured) error {
	for _, w := range works {
		fmt.Fprintf(p.out, "%s: Work %s/%s would be deleted\n", w.Source, w.Namespace, w.Name)
	}
	for _, u := range objects {
		fmt.Fprintf(p.out, "%s: its finalizer would be removed\n", gather.IdentityOf(u))
	}
	if len(works) > 0 {
		fmt.Fprintf(p.out, "%d Works would be deleted in %s.\n", len(works), clustersOf(works))
	}
	if len(objects) > 0 {
		fmt.Fprintf(p.out, "The finalizers of %d objects would be removed.\n", len(objects))
	}
	return nil
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
	if p.dynamic, err = watch.NewClient(connection); err != nil {
		return fmt.Errorf("cannot make a client: %w", err)
	}
	if err := p.leftovers.Connect(connection); err != nil {
		return err
	}
	mapping, err := resourceOf(p.flags, p.resource)
	if err != nil {
		return err
	}
	p.served, p.leftovers.Resource, p.leftovers.Kind = mapping.Resource, mapping.Resource.GroupResource(), mapping.GroupVersionKind.GroupKind()
	return p.configure(ctx)
}

// configure reads the configurations of all daemons. It fails if it cannot read one of them.
func (p *purgeCommand) configure(ctx context.Context) error {
	p.leftovers.Configurations = nil
	own, err := readView(ctx, p.client, p.configMap)
	if err == nil {
		err = own.mistake
	}
	isGone := apierrors.IsNotFound(err) && !errors.Is(err, errNotKarmada)
	switch {
	case isGone && own != nil:
		return fmt.Errorf("ConfigMap %q does not exist, but %s leads, and has an earlier configuration in force: end it first", p.configMap, own.status.Leader)
	case p.uninstalled && isGone:
	case isGone && p.finalizers:
		return fmt.Errorf("%w\n  if it is uninstalled, and only finalizers are left, add --uninstalled", err)
	case err != nil:
		return err
	case p.uninstalled:
		return fmt.Errorf("karmada-mirror is not uninstalled: ConfigMap %q exists", p.configMap)
	case own.unread != nil:
		return fmt.Errorf("cannot tell what the daemon has in force: %w", own.unread)
	case own.status != nil && !own.isInForce():
		return fmt.Errorf("cannot delete what the daemon may write again: %s", own.notInForce())
	default:
		if r, ok := own.configuration.Resource(p.leftovers.Resource); ok && len(r.Namespaces) == 0 {
			return fmt.Errorf("%s is in the configuration, for all namespaces: remove it from ConfigMap %q first", p.leftovers.Resource, p.configMap)
		}
		p.leftovers.Configurations = append(p.leftovers.Configurations, own.configuration)
	}
	return p.configureOthers(ctx)
}

// configureOthers reads the configurations of the other daemons.
func (p *purgeCommand) configureOthers(ctx context.Context) error {
	name, err := parseConfigMap(p.configMap)
	if err != nil {
		return err
	}
	list, err := p.client.CoreV1().ConfigMaps(name.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("cannot look for the configurations of other daemons: %w", err)
	}
	others, listed := sets.New[string](), sets.New[string]()
	for _, other := range list.Items {
		if says, _ := daemon.StatusOf(&other); says != nil { // its configuration may have been deleted
			others.Insert(strings.TrimSuffix(other.Name, "-status"))
		}
		if isConfiguration(other.Data) {
			listed.Insert(other.Name)
		}
	}
	others = others.Union(listed)
	for _, other := range sets.List(others.Delete(name.Name)) {
		v, err := readView(ctx, p.client, name.Namespace+"/"+other)
		if apierrors.IsNotFound(err) && !listed.Has(other) { // what was just listed is there, whatever an answer says
			continue
		}
		if err == nil {
			err = cmp.Or(v.mistake, v.unread)
		}
		if err != nil {
			return fmt.Errorf("cannot tell what another daemon mirrors: %w", err)
		}
		if v.status != nil && !v.isInForce() {
			return fmt.Errorf("cannot tell what another daemon mirrors, that of ConfigMap %q: %s", other, v.notInForce())
		}
		p.leftovers.Configurations = append(p.leftovers.Configurations, v.configuration)
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
func (p *purgeCommand) confirm(ctx context.Context, works []*state.Work, objects []*unstructured.Unstructured) error {
	if p.yes {
		return nil
	}
	var what []string
	if len(works) > 0 {
		what = append(what, fmt.Sprintf("This deletes %d Works of %s, and so the objects in %s.", len(works), p.leftovers.Resource, clustersOf(works)))
	}
	if len(objects) > 0 {
		what = append(what, fmt.Sprintf("This removes the finalizer of %d %s: those that are being deleted are gone then, even if clusters still have them.", len(objects), p.leftovers.Resource))
	}
	return confirm(ctx, p.in, p.out, strings.Join(what, " "), "nothing was deleted")
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
	if len(works) > 0 {
		fmt.Fprintf(p.out, "%d Works deleted in %s.\n", count, clustersOf(works))
	}
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

// finalized lists the objects whose finalizer is to be removed.
func (p *purgeCommand) finalized(ctx context.Context) ([]*unstructured.Unstructured, error) {
	if !p.finalizers || p.served.Version == "" {
		return nil, nil
	}
	return p.leftovers.Finalized(ctx, p.dynamic, p.served)
}

// release removes finalizers. Like delete, it continues after a failure, and follows the
// configuration.
func (p *purgeCommand) release(ctx context.Context, objects []*unstructured.Unstructured) error {
	var errs []error
	count := 0
	for i, u := range objects {
		if i%purgeBatch == 0 {
			if err := p.configure(ctx); err != nil {
				return errors.Join(append(errs, err)...)
			}
		}
		released, err := p.leftovers.Release(ctx, p.dynamic, p.served, u)
		if err != nil {
			errs = append(errs, err)
			if ctx.Err() != nil {
				break
			}
			continue
		}
		if released {
			count++
			fmt.Fprintf(p.out, "%s: finalizer removed\n", gather.IdentityOf(u))
		}
	}
	if len(objects) > 0 {
		fmt.Fprintf(p.out, "The finalizers of %d objects removed.\n", count)
	}
	return errors.Join(errs...)
}
