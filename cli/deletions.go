package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/pager"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/daemon"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// errNothingHeld is returned when there is nothing to approve.
var errNothingHeld = errors.New("no deletion is held")

// deletions are the commands for the deletions that the breaker holds. They work on
// the marks that the daemon puts on the Works, and need not reach the daemon.
type deletions struct {
	connection *genericclioptions.ConfigFlags
	resource   string
	members    []string
	configMap  string
	name       types.NamespacedName // of the ConfigMap
	// configuration is that in the ConfigMap, if it can be read; unread is why it cannot.
	configuration *config.Configuration
	unread        error
	output        string
	wide, yes     bool
	dryRun        bool
	in            io.Reader
	out, errOut   io.Writer
}

func newDeletions(transport http.RoundTripper) *cobra.Command {
	d := &deletions{connection: connectionFlags(transport)}
	cmd := &cobra.Command{
		Use:   "deletions",
		Short: "List and approve the deletions that the breaker holds",
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			d.in, d.out, d.errOut = cmd.InOrStdin(), plain{cmd.OutOrStdout()}, plain{cmd.ErrOrStderr()}
			return mustNotBeEmpty(cmd, "resource", "namespace", "member")
		},
	}
	d.connection.AddFlags(cmd.PersistentFlags())
	cmd.PersistentFlags().StringVar(&d.configMap, "config-map", daemon.DefaultConfigMap, "namespace/name of the daemon's ConfigMap")
	cmd.PersistentFlags().StringVar(&d.resource, "resource", "", "only this resource, as in deploy or deployments.apps")
	cmd.PersistentFlags().StringSliceVar(&d.members, "member", nil, "only these member clusters")
	completeNamespace(cmd, d.connection)
	completeFlag(cmd, "resource", func(*cobra.Command) []string { return completeResource(d.connection) })
	completeFlag(cmd, "member", func(cmd *cobra.Command) []string {
		return namesOf(cmd, d.connection, state.ClustersResource, metav1.NamespaceAll)
	})
	cmd.AddCommand(d.newList(), d.newApprove())
	return cmd
}

func (d *deletions) newList() *cobra.Command {
	list := &cobra.Command{
		Use:   "list",
		Short: "List the deletions that the breaker holds",
		Long: "list counts the held deletions by resource and namespace, or lists each Work. Without --namespace it looks at all\n" +
			"namespaces. It names apart what has been approved on the ConfigMap and is still there.",
		Example: "  karmada-mirror deletions list\n  karmada-mirror deletions list -n shop --member member1 --works\n  karmada-mirror deletions list -o json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return d.list(cmd.Context()) },
	}
	list.Flags().BoolVar(&d.wide, "works", false, "print one line per Work")
	list.Flags().StringVarP(&d.output, "output", "o", "", "json or yaml: each Work")
	completeWords(list, "output", "json", "yaml")
	return list
}

// heldWork is a Work whose deletion is held.
type heldWork struct {
	render.Hold
	cluster, namespace string
	// source is empty if the Work does not name it.
	source string
	work   types.NamespacedName
}

// heldDeletion is the printed form of a heldWork.
type heldDeletion struct {
	metav1.TypeMeta `json:",inline"`
	Source          string `json:"source"`
	Resource        string `json:"resource"`
	Namespace       string `json:"namespace,omitempty"`
	Cluster         string `json:"cluster"`
	Work            struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	} `json:"work"`
	HeldSince metav1.Time `json:"heldSince"`
	Because   string      `json:"because"`
	// Approved is true if it is not held any more, and not carried out yet.
	Approved bool `json:"approved,omitempty"`
}

// held reads the marks that the flags select.
func (d *deletions) held(ctx context.Context) (works []heldWork, err error) {
	if d.name, err = parseConfigMap(d.configMap); err != nil {
		return nil, err
	}
	connection, err := connect(d.connection)
	if err != nil {
		return nil, err
	}
	isOf, isServed := func(heldWork) bool { return true }, true
	if d.resource != "" {
		mapping, err := resourceOf(d.connection, d.resource)
		if err != nil {
			return nil, err
		}
		resource := mapping.Resource.GroupResource().String()
		isOf, isServed = func(w heldWork) bool { return w.Resource == resource }, mapping.Resource.Version != ""
	}
	client, err := kubernetes.NewForConfig(connection)
	if err != nil {
		return nil, fmt.Errorf("cannot make a client: %w", err)
	}
	v, err := readView(ctx, client, d.configMap)
	if d.unread = err; err == nil {
		if v.absence != "" {
			fmt.Fprintln(d.errOut, "warning: "+v.withoutLeader())
		}
		configuration, told, isKnown := v.inForce()
		if d.configuration = configuration; !isKnown {
			d.unread = errors.New(told)
		}
	}
	works, err = heldWorks(ctx, connection, d.configuration, *d.connection.Namespace)
	if !isServed && !slices.ContainsFunc(works, isOf) {
		var resources []string // that may be meant: by a short name, or by another one in their group
		for _, w := range works {
			if _, group, _ := strings.Cut(w.Resource, "."); !strings.Contains(d.resource, ".") || group != "" && strings.HasSuffix(d.resource, "."+group) {
				resources = append(resources, w.Resource)
			}
		}
		if resources != nil {
			return nil, fmt.Errorf("cannot tell what %q is: the API server does not serve it; deletions are held of %s: give the full name", d.resource, strings.Join(slices.Compact(resources), ", "))
		}
	}
	works = slices.DeleteFunc(works, func(w heldWork) bool {
		return !isOf(w) || len(d.members) > 0 && !slices.Contains(d.members, w.cluster)
	})
	return works, withHint(blameServer(ctx, client, err))
}

// heldWorks reads the marks for one namespace, or for all if it is empty, in order of resource, namespace, source and cluster.
// What is being deleted is no longer held. Anyone who may write in a member cluster's namespace may mark a Work, but with the
// admission policies only the daemon makes it one of ours. The configuration has the approvals.
func heldWorks(ctx context.Context, connection *rest.Config, configuration *config.Configuration, namespace string) ([]heldWork, error) {
	client, err := metadata.NewForConfig(connection)
	if err != nil {
		return nil, fmt.Errorf("cannot make a client: %w", err)
	}
	works := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return client.Resource(render.WorksResource).List(ctx, o)
	})
	var found []heldWork
	err = works.EachListItem(ctx, metav1.ListOptions{LabelSelector: render.OurWorks + "," + render.HeldKey}, func(obj runtime.Object) error {
		w := obj.(*metav1.PartialObjectMetadata)
		hold, ok := render.ParseHold(w.Annotations)
		source := w.Annotations[render.SourceAnnotation]
		id, err := render.ParseIdentity(source)
		isOurs := err != nil || w.Name == id.WorkName() || w.Name == id.LongWorkName() // an unreadable one counts as in no namespace
		if !ok || !isOurs || w.DeletionTimestamp != nil || namespace != "" && namespace != id.Namespace {
			return nil
		}
		cluster, _ := render.ClusterOf(w.Namespace)
		hold.Approved = configuration.Approves(hold.Since, hold.Resource, id.Namespace, cluster)
		found = append(found, heldWork{hold, cluster, id.Namespace, source, types.NamespacedName{Namespace: w.Namespace, Name: w.Name}})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("cannot list Works: %w", err)
	}
	slices.SortFunc(found, func(a, b heldWork) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.source, b.source), cmp.Compare(a.cluster, b.cluster))
	})
	return found, nil
}

// unapproved returns the Works that are still held, and says how many others there are.
func (d *deletions) unapproved(works []heldWork) []heldWork {
	held := slices.DeleteFunc(slices.Clone(works), func(w heldWork) bool { return w.Approved })
	for _, s := range summarize(slices.DeleteFunc(works, func(w heldWork) bool { return !w.Approved }), byNamespace) {
		fmt.Fprintf(d.out, "approved, and not carried out yet: %s; if this stays so, see the log of karmada-mirror\n", s)
	}
	return held
}

func (d *deletions) list(ctx context.Context) error {
	var printer printers.ResourcePrinter
	if d.output != "" {
		var err error
		if printer, err = objectPrinter(d.output, "json or yaml"); err != nil {
			return err
		}
	}
	works, err := d.held(ctx)
	switch {
	case err != nil:
		return err
	case printer != nil:
		return d.printList(printer, works)
	}
	if works = d.unapproved(works); len(works) > 0 {
		return d.printTable(works)
	}
	_, err = fmt.Fprintln(d.out, "No deletion is held.")
	return err
}

func (d *deletions) printTable(works []heldWork) error {
	table := printers.GetNewTabWriter(d.out)
	if d.wide {
		fmt.Fprintln(table, "RESOURCE\tSOURCE\tCLUSTER\tHELD SINCE\tBECAUSE")
		for _, w := range works {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", w.Resource, w.source, w.cluster, w.Since.Format(time.RFC3339), w.Because)
		}
		return table.Flush()
	}
	fmt.Fprintln(table, "RESOURCE\tNAMESPACE\tWORKS\tSOURCES\tCLUSTERS\tHELD SINCE")
	for _, s := range summarize(works, byNamespace) {
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%s\t%s\n", s.resource, cmp.Or(s.namespace, "<none>"), s.works, len(s.sources),
			strings.Join(slices.Sorted(maps.Keys(s.clusters)), ","), s.first.Format(time.RFC3339))
	}
	return table.Flush()
}

func (d *deletions) printList(printer printers.ResourcePrinter, works []heldWork) error {
	items := []any{}
	for _, w := range works {
		held := heldDeletion{
			TypeMeta: metav1.TypeMeta{APIVersion: statusVersion, Kind: "HeldDeletion"},
			Source:   w.source, Resource: w.Resource, Namespace: w.namespace, Cluster: w.cluster, HeldSince: metav1.NewTime(w.Since), Because: w.Because, Approved: w.Approved,
		}
		held.Work.Namespace, held.Work.Name = w.work.Namespace, w.work.Name
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&held)
		if err != nil {
			return err
		}
		items = append(items, fields)
	}
	return printItems(printer, d.out, "HeldDeletionList", items)
}

// summary sums up what is held of one resource and, if the key has them, of one namespace and
// for one cluster.
type summary struct {
	resource, namespace, cluster string
	works                        int
	sources, clusters            map[string]bool
	first, last                  time.Time
}

// key returns the fields of a Work by which it is summed up.
type key func(heldWork) summary

func byNamespace(w heldWork) summary { return summary{resource: w.Resource, namespace: w.namespace} }

// byFlags is the key that the flags select by, and so the one to approve by.
func (d *deletions) byFlags(w heldWork) summary {
	s := summary{resource: w.Resource, namespace: *d.connection.Namespace}
	if len(d.members) > 0 {
		s.cluster = w.cluster
	}
	return s
}

// summarize returns the summaries, in order of the first Work of each.
func summarize(works []heldWork, of key) []*summary {
	var all []*summary
	for _, w := range works {
		k := of(w)
		i := slices.IndexFunc(all, func(s *summary) bool {
			return s.resource == k.resource && s.namespace == k.namespace && s.cluster == k.cluster
		})
		if i < 0 {
			i = len(all)
			k.sources, k.clusters, k.first, k.last = map[string]bool{}, map[string]bool{}, w.Since, w.Since
			all = append(all, &k)
		}
		all[i].add(w)
	}
	return all
}

func (s *summary) add(w heldWork) {
	s.works++
	s.sources[w.source], s.clusters[w.cluster] = true, true
	if w.Since.Before(s.first) {
		s.first = w.Since
	}
	if w.Since.After(s.last) {
		s.last = w.Since
	}
}

func (s *summary) String() string {
	text := fmt.Sprintf("%d deletions of %s", s.works, s.resource)
	if s.namespace != "" {
		text += " in namespace " + s.namespace
	}
	return text + " in " + strings.Join(slices.Sorted(maps.Keys(s.clusters)), ", ")
}
