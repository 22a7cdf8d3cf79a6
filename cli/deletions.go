package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/pager"
	"k8s.io/client-go/util/retry"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/daemon"
	"github.com/karmada-target/karmada-mirror/render"
)

// errNothingHeld is returned when there is nothing to approve.
var errNothingHeld = errors.New("no deletion is held")

// deletions are the commands about what the deletion breaker holds. They work
// on the marks that the daemon puts on the Works and need not reach the daemon.
type deletions struct {
	connection *genericclioptions.ConfigFlags
	resource   string
	configMap  string
	wide, yes  bool
	in         io.Reader
	out        io.Writer
}

func newDeletions() *cobra.Command {
	d := &deletions{connection: connectionFlags()}
	cmd := &cobra.Command{
		Use:   "deletions",
		Short: "See and approve the deletions that the breaker holds",
		Args:  cobra.NoArgs,
		PersistentPreRun: func(cmd *cobra.Command, _ []string) {
			d.in, d.out = cmd.InOrStdin(), cmd.OutOrStdout()
		},
	}
	d.connection.AddFlags(cmd.PersistentFlags())
	cmd.PersistentFlags().StringVar(&d.resource, "resource", "", "only this resource, as in deploy or deployments.apps")
	list := &cobra.Command{
		Use:   "list",
		Short: "List the deletions that the breaker holds",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return d.list(cmd.Context()) },
	}
	list.Flags().BoolVar(&d.wide, "works", false, "one line per Work")
	approve := &cobra.Command{
		Use:   "approve",
		Short: "Let the deletions go that are held now, once",
		Long: "approve lets the deletions go that are held at this moment, of all resources or of --resource, in all namespaces\n" +
			"or in --namespace. It writes the annotation " + config.ApprovalsAnnotation + " on the daemon's ConfigMap.\n" +
			"What is held later needs another approval. On a terminal it asks.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return d.approve(cmd.Context()) },
	}
	approve.Flags().StringVar(&d.configMap, "config-map", daemon.DefaultConfigMap, "namespace/name of the daemon's ConfigMap")
	approve.Flags().BoolVarP(&d.yes, "yes", "y", false, "do not ask")
	cmd.AddCommand(list, approve)
	return cmd
}

// heldWork is a Work whose deletion is held.
type heldWork struct {
	render.Hold
	cluster, namespace, source string
}

// held reads the marks that the flags choose.
func (d *deletions) held(ctx context.Context) ([]heldWork, error) {
	connection, err := connect(d.connection)
	if err != nil {
		return nil, err
	}
	resource := d.resource
	if resource != "" {
		gr, _, err := resourceOf(d.connection, resource)
		if err != nil {
			return nil, err
		}
		resource = gr.String()
	}
	works, err := heldWorks(ctx, connection, resource, *d.connection.Namespace)
	return works, withRights(err)
}

// heldWorks reads the marks of one resource, or of all if it is empty, and of one namespace
// in the same way, in order of resource, source and cluster.
func heldWorks(ctx context.Context, connection *rest.Config, resource, namespace string) ([]heldWork, error) {
	client, err := metadata.NewForConfig(connection)
	if err != nil {
		return nil, fmt.Errorf("cannot make a client: %w", err)
	}
	works := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return client.Resource(render.WorksResource).List(ctx, o)
	})
	var found []heldWork
	err = works.EachListItem(ctx, metav1.ListOptions{LabelSelector: render.HeldKey}, func(obj runtime.Object) error {
		w := obj.(*metav1.PartialObjectMetadata)
		hold, ok := render.ParseHold(w.Annotations)
		source := w.Annotations[render.SourceAnnotation]
		id, _ := render.ParseIdentity(source) // what cannot be read is in no namespace
		if !ok || resource != "" && resource != hold.Resource || namespace != "" && namespace != id.Namespace {
			return nil
		}
		cluster, _ := render.ClusterOf(w.Namespace)
		found = append(found, heldWork{hold, cluster, id.Namespace, source})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("cannot list Works: %w", err)
	}
	slices.SortFunc(found, func(a, b heldWork) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.source, b.source), cmp.Compare(a.cluster, b.cluster))
	})
	return found, nil
}

func (d *deletions) list(ctx context.Context) error {
	works, err := d.held(ctx)
	if err != nil {
		return err
	}
	if len(works) == 0 {
		_, err := fmt.Fprintln(d.out, "No deletion is held.")
		return err
	}
	table := printers.GetNewTabWriter(d.out)
	if d.wide {
		fmt.Fprintln(table, "RESOURCE\tSOURCE\tCLUSTER\tHELD SINCE\tBECAUSE")
		for _, w := range works {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", w.Resource, w.source, w.cluster, w.Since.Format(time.RFC3339), w.Because)
		}
		return table.Flush()
	}
	fmt.Fprintln(table, "RESOURCE\tWORKS\tSOURCES\tCLUSTERS\tHELD SINCE")
	for _, s := range summarize(works) {
		fmt.Fprintf(table, "%s\t%d\t%d\t%s\t%s\n", s.resource, s.works, len(s.sources),
			strings.Join(slices.Sorted(maps.Keys(s.clusters)), ","), s.first.Format(time.RFC3339))
	}
	return table.Flush()
}

// summary is what is held of one resource.
type summary struct {
	resource          string
	works             int
	sources, clusters map[string]bool
	first, last       time.Time
}

// summarize expects the Works in order of resource.
func summarize(works []heldWork) []*summary {
	var all []*summary
	for _, w := range works {
		if len(all) == 0 || all[len(all)-1].resource != w.Resource {
			all = append(all, &summary{resource: w.Resource, sources: map[string]bool{}, clusters: map[string]bool{}, first: w.Since, last: w.Since})
		}
		s := all[len(all)-1]
		s.works++
		s.sources[w.source], s.clusters[w.cluster] = true, true
		if w.Since.Before(s.first) {
			s.first = w.Since
		}
		if w.Since.After(s.last) {
			s.last = w.Since
		}
	}
	return all
}

// approve approves what is held up to the newest mark that it has seen: no two
// clocks have to agree.
func (d *deletions) approve(ctx context.Context) error {
	name, err := daemon.ParseConfigMap(d.configMap)
	if err != nil {
		return err
	}
	works, err := d.held(ctx)
	if err != nil {
		return err
	}
	if len(works) == 0 {
		return errNothingHeld
	}
	if err := d.confirm(len(works)); err != nil {
		return err
	}
	approvals := config.Approvals{}
	held := summarize(works)
	for _, s := range held {
		approvals[config.ApprovalOf(s.resource, *d.connection.Namespace)] = s.last
	}
	if err := d.write(ctx, name, approvals); err != nil {
		return err
	}
	for _, s := range held {
		fmt.Fprintf(d.out, "approved: %d deletions of %s\n", s.works, s.resource)
	}
	return nil
}

// confirm asks, if there is somebody to answer: what is approved was meant to be deleted
// once, and is looked at once more before it is.
func (d *deletions) confirm(works int) error {
	if d.yes || !isTerminal(d.in) {
		return nil
	}
	return ask(d.in, d.out, fmt.Sprintf("This lets %d deletions go.", works), "nothing was approved")
}

// write adds approvals to those that the ConfigMap has of other resources.
func (d *deletions) write(ctx context.Context, name types.NamespacedName, approvals config.Approvals) error {
	connection, err := connect(d.connection)
	if err != nil {
		return err
	}
	client, err := metadata.NewForConfig(connection)
	if err != nil {
		return fmt.Errorf("cannot make a client: %w", err)
	}
	configMaps := client.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace(name.Namespace)
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		present, err := configMaps.Get(ctx, name.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		// What cannot be read approves nothing and is replaced.
		all, err := config.ParseApprovals(present.Annotations[config.ApprovalsAnnotation])
		if err != nil {
			all = config.Approvals{}
		}
		maps.Copy(all, approvals)
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
			"resourceVersion": present.ResourceVersion,
			"annotations":     map[string]string{config.ApprovalsAnnotation: all.String()},
		}})
		if err != nil {
			return err
		}
		_, err = configMaps.Patch(ctx, name.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("cannot write the approval on ConfigMap %q: %w", name, err)
	}
	return nil
}
