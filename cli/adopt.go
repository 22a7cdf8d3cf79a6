package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	policyv1alpha1 "github.com/karmada-io/api/policy/v1alpha1"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/karmada-target/karmada-mirror/daemon"
	"github.com/karmada-target/karmada-mirror/mirror/gather"
	"github.com/karmada-target/karmada-mirror/render"
)

// adoptCommand moves what a policy propagates to karmada-mirror.
type adoptCommand struct {
	*sources
	policy, clusterPolicy string
	account               string
	dryRun, yes           bool
	timeout               time.Duration
	in                    io.Reader
	out                   io.Writer
	reader                *gather.Reader
	// store is the ConfigMap with what is to be done, by name.
	store types.NamespacedName
}

func newAdopt(transport http.RoundTripper) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "adopt --policy NAMESPACE/NAME | --cluster-policy NAME",
		Short: "Move what a policy propagates to karmada-mirror, without an interruption",
		Long: "adopt annotates each object that the policy propagates, with its dependencies, deletes the policy and its bindings, and\n" +
			"waits until karmada-mirror has applied the objects. They stay in the members all the time: no Pod is restarted. It\n" +
			"refuses a policy that says what has no equivalent here, and objects that the daemon would not mirror to the same\n" +
			"clusters, before it changes anything. On a terminal it asks first; elsewhere it needs --yes.\n\n" +
			"If it is interrupted, run it again: it continues. What is still to be done is in a ConfigMap beside the daemon's.",
		Example: "  karmada-mirror adopt --policy shop/shop --dry-run\n  karmada-mirror adopt --policy shop/shop",
		Args:    cobra.NoArgs,
	}
	a := &adoptCommand{sources: newSources(cmd, transport)}
	cmd.Flags().StringVar(&a.policy, "policy", "", "namespace/name of a PropagationPolicy")
	cmd.Flags().StringVar(&a.clusterPolicy, "cluster-policy", "", "name of a ClusterPropagationPolicy")
	cmd.Flags().StringVar(&a.account, "service-account", daemonAccount, "namespace/name of the daemon's ServiceAccount, whose rights are checked; empty for none")
	cmd.Flags().DurationVar(&a.timeout, "timeout", 5*time.Minute, "how long to wait for Karmada and the daemon, in all")
	cmd.Flags().BoolVar(&a.dryRun, "dry-run", false, "only print what each object would get")
	cmd.Flags().BoolVarP(&a.yes, "yes", "y", false, "do not ask for confirmation")
	cmd.MarkFlagsOneRequired("policy", "cluster-policy")
	cmd.MarkFlagsMutuallyExclusive("policy", "cluster-policy")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		a.in, a.out = cmd.InOrStdin(), plain{cmd.OutOrStdout()}
		return withHint(a.run(cmd.Context()))
	}
	return cmd
}

func (a *adoptCommand) run(ctx context.Context) error {
	if a.timeout <= 0 {
		return misuse("cannot wait for %s: --timeout must be more than 0", a.timeout)
	}
	p, err := a.read(ctx)
	if err != nil {
		return err
	}
	todo, isNew, err := a.todo(ctx, p)
	if err != nil {
		return err
	}
	for _, o := range todo.Objects {
		fmt.Fprintln(a.out, o.line())
		for _, note := range o.Notes {
			fmt.Fprintln(a.out, "  "+note)
		}
	}
	if a.dryRun {
		return nil
	}
	if !a.yes {
		what := fmt.Sprintf("This deletes %s, and annotates %d objects.", todo.Policy, len(todo.Objects))
		if err := confirm(ctx, a.in, a.out, what, "nothing was changed"); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	if isNew {
		if err := a.save(ctx, todo); err != nil {
			return err
		}
	}
	if err := a.move(ctx, todo); err != nil {
		return fmt.Errorf("%w\n  the objects keep running: run the same command again to continue", err)
	}
	fmt.Fprintf(a.out, "%d objects of %s adopted.\n", len(todo.Objects), todo.Policy)
	return nil
}

// policyOf is a policy as it is read; its spec is nil if it does not exist.
type policyOf struct {
	kind, name string // its namespace/name
	resource   dynamic.ResourceInterface
	object     *unstructured.Unstructured
	spec       *policyv1alpha1.PropagationSpec
}

func (p policyOf) String() string { return p.kind + " " + p.name }

// label is the label by which it claims objects and bindings.
func (p policyOf) label() string {
	if p.kind == policyv1alpha1.ResourceKindPropagationPolicy {
		return policyv1alpha1.PropagationPolicyPermanentIDLabel
	}
	return policyv1alpha1.ClusterPropagationPolicyPermanentIDLabel
}

// read reads the policy, and what it takes to decide as the daemon does.
func (a *adoptCommand) read(ctx context.Context) (p policyOf, err error) {
	if a.reader, err = a.sources.reader(ctx); err != nil {
		return p, err
	}
	if a.configuration == nil || a.isUnknown {
		return p, errors.New("cannot tell what the daemon mirrors: its configuration cannot be read (karmada-mirror check)")
	}
	if a.told.Has(aboutLeader) {
		return p, errors.New("no replica of karmada-mirror leads, so nothing would take over what the policy leaves")
	}
	if err := a.mustWrite(ctx); err != nil {
		return p, err
	}
	own, err := parseConfigMap(a.configMap)
	if err != nil {
		return p, err
	}
	namespace, name, isNamespaced := strings.Cut(a.policy, "/")
	plural := policyv1alpha1.ResourcePluralPropagationPolicy
	p = policyOf{kind: policyv1alpha1.ResourceKindPropagationPolicy, name: a.policy}
	if a.policy == "" {
		namespace, name, plural = "", a.clusterPolicy, policyv1alpha1.ResourcePluralClusterPropagationPolicy
		p = policyOf{kind: policyv1alpha1.ResourceKindClusterPropagationPolicy, name: name}
	} else if !isNamespaced || namespace == "" || name == "" {
		return p, misuse("cannot read --policy %q: want namespace/name", a.policy)
	}
	hash := fnv.New64a()
	hash.Write([]byte(p.String()))
	a.store = types.NamespacedName{Namespace: own.Namespace, Name: fmt.Sprintf("%s-adopt-%016x", own.Name, hash.Sum64())}
	p.resource = a.client.Resource(schema.GroupVersion(policyv1alpha1.GroupVersion).WithResource(plural)).Namespace(namespace)
	p.object, err = p.resource.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		p.object = nil
		return p, nil
	} else if err != nil {
		return p, err
	}
	var typed policyv1alpha1.PropagationPolicy // the cluster's has the same spec
	err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(p.object.Object, &typed, true)
	if runtime.IsStrictDecodingError(err) { // of a newer Karmada
		return p, fmt.Errorf("cannot move %s: it has fields that this command does not know: %w", p, err)
	} else if err != nil {
		return p, fmt.Errorf("cannot read %s: %w", p, err)
	}
	p.spec = &typed.Spec
	return p, nil
}

// mustWrite returns an error if the daemon may not write Works, as far as that can be known.
func (a *adoptCommand) mustWrite(ctx context.Context) error {
	denied := errors.New("the daemon's rights do not let it write Works, so nothing would take over what the policy leaves (karmada-mirror check)")
	if a.told.Has(aboutRights) {
		return denied
	}
	account, err := daemon.ParseConfigMap(a.account)
	if err != nil {
		return nil
	}
	connection, err := connect(a.flags)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(connection)
	if err != nil {
		return fmt.Errorf("cannot make a client: %w", err)
	}
	writes := right{verbs: []string{"create", "patch", "delete"}, GroupResource: render.WorksResource.GroupResource()}
	if missing, err := writes.missing(ctx, user{client, account}); err == nil && len(missing) > 0 { // not everyone may ask
		return fmt.Errorf("%w; if it has another ServiceAccount than %s, give --service-account", denied, a.account)
	}
	return nil
}

// todo is what an earlier run has stored, or else what there is to do.
func (a *adoptCommand) todo(ctx context.Context, p policyOf) (todo *adoption, isNew bool, err error) {
	stored, err := a.client.Resource(configMaps).Namespace(a.store.Namespace).Get(ctx, a.store.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err) && p.object == nil:
		return nil, false, fmt.Errorf("there is no %s", p)
	case apierrors.IsNotFound(err):
		todo, err = a.plan(ctx, p, nil)
		return todo, true, err
	case err != nil:
		return nil, false, err
	}
	text, _, _ := unstructured.NestedString(stored.Object, "data", storeKey)
	todo = &adoption{}
	if err := json.Unmarshal([]byte(text), todo); err != nil {
		return nil, false, fmt.Errorf("cannot read ConfigMap %s, which an earlier run has left: %w", a.store, err)
	}
	if p.object != nil && p.object.GetUID() != todo.UID {
		return nil, false, fmt.Errorf("%s is not the one that an earlier run began to move: if that move no longer matters, delete ConfigMap %s", p, a.store)
	}
	fmt.Fprintln(a.out, "continuing what an earlier run has begun:")
	if p.object != nil { // nothing is lost yet, and much may have changed
		todo, err = a.plan(ctx, p, todo)
		return todo, true, err
	}
	return todo, false, nil
}

// storeKey is the key of what is stored, and mostObjects how many fit into a ConfigMap.
const (
	storeKey    = "adoption"
	mostObjects = 500
)

var configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")

// save stores what is to be done.
func (a *adoptCommand) save(ctx context.Context, todo *adoption) error {
	text, err := json.Marshal(todo)
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{storeKey: string(text)}}}
	u.SetName(a.store.Name)
	stores := a.client.Resource(configMaps).Namespace(a.store.Namespace)
	if _, err = stores.Create(ctx, u, metav1.CreateOptions{}); apierrors.IsAlreadyExists(err) {
		_, err = stores.Update(ctx, u, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("cannot store what is to be done, so nothing was changed: %w", err)
	}
	return nil
}

// line says what an object gets.
func (a adopted) line() string {
	var said []string
	for _, key := range slices.Sorted(maps.Keys(a.Annotations)) {
		said = append(said, key+"="+a.Annotations[key])
	}
	return oneLine(a.String() + ": " + strings.Join(said, " "))
}
