package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	policyv1alpha1 "github.com/karmada-io/api/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/api/work/v1alpha2"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"github.com/karmada-target/karmada-mirror/mirror/gather"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// adoptCommand moves what a policy propagates to karmada-mirror.
type adoptCommand struct {
	*sources
	policy, clusterPolicy string
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
		if err := confirm(a.in, a.out, what, "nothing was changed"); err != nil {
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
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(p.object.Object, &typed); err != nil {
		return p, fmt.Errorf("cannot read %s: %w", p, err)
	}
	p.spec = &typed.Spec
	return p, nil
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

// plan says what there is to do, and fails if not all of it can be done. before is what an earlier run has stored; nil for none.
func (a *adoptCommand) plan(ctx context.Context, p policyOf, before *adoption) (*adoption, error) {
	if before != nil { // which has changed the policy
		p.spec.PreserveResourcesOnDeletion, p.spec.ConflictResolution = &before.Preserves, ""
		if before.Overwrites {
			p.spec.ConflictResolution = policyv1alpha1.ConflictOverwrite
		}
	}
	e := equivalentOf(*p.spec)
	if len(e.without) > 0 {
		return nil, fmt.Errorf("cannot move %s: it says what has no equivalent here, so leave it as it is, or change it first:\n  %s", p, strings.Join(e.without, "\n  "))
	}
	todo := &adoption{
		Policy: p.String(), UID: p.object.GetUID(), Label: p.label(), ID: p.object.GetLabels()[p.label()],
		Overwrites: p.spec.ConflictResolution == policyv1alpha1.ConflictOverwrite, Preserves: p.spec.PreserveResourcesOnDeletion != nil && *p.spec.PreserveResourcesOnDeletion,
	}
	bindings, err := a.bindings(ctx, p)
	if err != nil {
		return nil, err
	}
	if len(bindings) > mostObjects {
		return nil, fmt.Errorf("cannot move %s at once: it propagates %d objects, and at most %d can be moved: divide it", p, len(bindings), mostObjects)
	}
	var errs []error
	for _, b := range bindings {
		o, err := a.object(ctx, p, e, b, before != nil)
		if err != nil {
			errs = append(errs, err)
		}
		todo.Objects = append(todo.Objects, o)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("nothing was changed: %w", err)
	}
	if len(todo.Objects) == 0 {
		return nil, fmt.Errorf("%s propagates nothing: delete it, and annotate what it should have", p)
	}
	return todo, nil
}

// bindings are those of a policy, and those of what its objects depend on.
func (a *adoptCommand) bindings(ctx context.Context, p policyOf) ([]workv1alpha2.ResourceBinding, error) {
	label := p.label()
	id := p.object.GetLabels()[label]
	if id == "" {
		return nil, fmt.Errorf("%s has no label %s yet: Karmada's webhook gives it", p, label)
	}
	all, err := a.allBindings(ctx, p)
	if err != nil {
		return nil, err
	}
	var own []workv1alpha2.ResourceBinding
	names := sets.New[types.NamespacedName]()
	for _, b := range all {
		if b.Labels[label] == id {
			own = append(own, b)
			names.Insert(types.NamespacedName{Namespace: b.Namespace, Name: b.Name})
		}
	}
	for _, b := range all {
		if b.Labels[label] == id || !slices.ContainsFunc(b.Spec.RequiredBy, func(s workv1alpha2.BindingSnapshot) bool {
			return names.Has(types.NamespacedName{Namespace: s.Namespace, Name: s.Name})
		}) {
			continue
		}
		own = append(own, b)
	}
	for _, b := range own {
		for _, s := range b.Spec.RequiredBy {
			if !names.Has(types.NamespacedName{Namespace: s.Namespace, Name: s.Name}) {
				return nil, fmt.Errorf("cannot move %s: %s %s is also a dependency of binding %s/%s of another policy", p, b.Spec.Resource.Kind, b.Spec.Resource.Name, s.Namespace, s.Name)
			}
		}
		if key, other := otherPolicy(b.Labels, label, id); other {
			return nil, fmt.Errorf("cannot move %s: %s %s is a dependency, and another policy propagates it, too (%s)", p, b.Spec.Resource.Kind, b.Spec.Resource.Name, key)
		}
	}
	return own, nil
}

// otherPolicy returns the label of a policy other than one.
func otherPolicy(labels map[string]string, label, id string) (key string, ok bool) {
	for _, key := range []string{policyv1alpha1.PropagationPolicyPermanentIDLabel, policyv1alpha1.ClusterPropagationPolicyPermanentIDLabel} {
		if value, has := labels[key]; has && (key != label || value != id) {
			return key, true
		}
	}
	return "", false
}

// allBindings lists the bindings of the policy's namespace, or of all and of the cluster.
func (a *adoptCommand) allBindings(ctx context.Context, p policyOf) (all []workv1alpha2.ResourceBinding, err error) {
	of := []adopted{{Resource: workv1alpha2.ObjectReference{Namespace: "any"}}}
	if p.object.GetNamespace() == "" {
		of = append(of, adopted{})
	}
	for _, o := range of {
		list, err := a.client.Resource(o.bindings()).Namespace(p.object.GetNamespace()).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		var typed workv1alpha2.ResourceBindingList // a ClusterResourceBinding has the same spec
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.UnstructuredContent(), &typed); err != nil {
			return nil, fmt.Errorf("cannot read bindings: %w", err)
		}
		all = append(all, typed.Items...)
	}
	return all, nil
}

// object says what the object of a binding gets. It fails if the daemon would not mirror it to where it is.
func (a *adoptCommand) object(ctx context.Context, p policyOf, e equivalent, b workv1alpha2.ResourceBinding, isAnnotated bool) (adopted, error) {
	label := workv1alpha2.ResourceBindingPermanentIDLabel
	if b.Namespace == "" {
		label = workv1alpha2.ClusterResourceBindingPermanentIDLabel
	}
	o := adopted{
		Resource: b.Spec.Resource, Binding: b.Name, UID: b.UID, PermanentID: b.Labels[label],
		Annotations: maps.Clone(e.annotations),
	}
	if b.Spec.Replicas == 0 && b.Spec.ReplicaRequirements == nil { // nothing to divide
		delete(o.Annotations, render.ReplicasAnnotation)
	}
	o.Annotations[render.ConflictResolutionAnnotation] = "overwrite"
	clusters := sets.New[string]()
	for _, s := range append(slices.Clone(b.Spec.RequiredBy), workv1alpha2.BindingSnapshot{Clusters: b.Spec.Clusters}) {
		for _, c := range s.Clusters {
			clusters.Insert(c.Name)
		}
	}
	o.Clusters = sets.List(clusters)
	if o.PermanentID == "" {
		return o, fmt.Errorf("cannot move %s: its binding has no label %s", o, label)
	}
	if err := a.decide(ctx, p, &o, isAnnotated); err != nil {
		return o, fmt.Errorf("cannot move %s: %w", o, err)
	}
	return o, nil
}

// decide asks the API server for a dry run, and decides about the result as the daemon will once the policy is gone.
func (a *adoptCommand) decide(ctx context.Context, p policyOf, o *adopted, isAnnotated bool) error {
	ref, resource, err := a.resource(*o)
	if err != nil {
		return err
	}
	live, err := resource.Get(ctx, o.Resource.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for key, value := range live.GetAnnotations() {
		if strings.HasPrefix(key, render.Domain) && !isAnnotated {
			return fmt.Errorf("it has the annotation %s=%s already: remove it first", key, value)
		}
	}
	if err := a.otherwiseSelected(ctx, p, live); err != nil {
		return err
	}
	u, err := resource.Patch(ctx, o.Resource.Name, types.MergePatchType, o.patch(), metav1.PatchOptions{DryRun: dryRunAll})
	if err != nil {
		return err
	}
	u.SetLabels(withoutClaims(u.GetLabels()))
	u.SetAnnotations(withoutClaims(u.GetAnnotations()))
	facts, err := a.reader.Facts(ctx, ref, u)
	if err != nil {
		return err
	}
	if hidden := a.reader.HiddenOf(facts); len(hidden) > 0 {
		return cannotTell(hidden)
	}
	now := map[string]string{}
	for cluster, w := range facts.Works {
		if w.Bound() { // it is deleted before
			now[cluster] = w.Name
			delete(facts.Works, cluster)
		}
	}
	o.Clusters = sets.List(sets.New(o.Clusters...).Union(sets.KeySet(now)))
	for _, cluster := range o.Clusters {
		if now[cluster] == "" || facts.IsAway(cluster) {
			return fmt.Errorf("it cannot be moved while cluster %q is away, or has not got it", cluster)
		}
	}
	if facts.Unknown != "" {
		return errors.New(facts.Unknown)
	}
	facts.SharesAtOnce = true
	v := judge.Decide(facts)
	for _, r := range v.Refusals {
		return fmt.Errorf("%s: %s", r.Reason, r.Message)
	}
	wanted, is := sets.New[string](), sets.New(o.Clusters...)
	for _, op := range v.Plan() {
		wanted.Insert(op.Cluster)
		if now[op.Cluster] != "" && op.Kind == judge.Create {
			if err := a.compare(ctx, o, v, op, now[op.Cluster]); err != nil {
				return err
			}
		}
	}
	if !wanted.Equal(is) {
		return fmt.Errorf("it is in %s, and these annotations choose %s: %s", strings.Join(o.Clusters, ", "), cmp.Or(strings.Join(sets.List(wanted), ", "), "none"), o.line())
	}
	return nil
}

// otherwiseSelected returns an error if another policy selects an object: it would claim the object when the first is gone.
func (a *adoptCommand) otherwiseSelected(ctx context.Context, p policyOf, u *unstructured.Unstructured) error {
	for _, of := range []struct{ plural, namespace string }{
		{policyv1alpha1.ResourcePluralPropagationPolicy, u.GetNamespace()}, {policyv1alpha1.ResourcePluralClusterPropagationPolicy, ""},
	} {
		if of.plural == policyv1alpha1.ResourcePluralPropagationPolicy && of.namespace == "" {
			continue
		}
		list, err := a.client.Resource(schema.GroupVersion(policyv1alpha1.GroupVersion).WithResource(of.plural)).Namespace(of.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, other := range list.Items {
			var typed policyv1alpha1.PropagationPolicy
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(other.Object, &typed); err != nil {
				return err
			}
			if other.GetUID() != p.object.GetUID() && slices.ContainsFunc(typed.Spec.ResourceSelectors, func(s policyv1alpha1.ResourceSelector) bool { return selects(s, u) }) {
				return fmt.Errorf("%s %s selects it, too, and would claim it: exclude it there first, by a label", other.GetKind(), other.GetName())
			}
		}
	}
	return nil
}

// selects reports whether a policy's selector selects an object: one that cannot be read does.
func selects(s policyv1alpha1.ResourceSelector, u *unstructured.Unstructured) bool {
	if s.APIVersion != u.GetAPIVersion() || s.Kind != u.GetKind() || s.Namespace != "" && s.Namespace != u.GetNamespace() {
		return false
	}
	if s.Name != "" {
		return s.Name == u.GetName()
	}
	if s.LabelSelector == nil {
		return true
	}
	selector, err := metav1.LabelSelectorAsSelector(s.LabelSelector)
	return err != nil || selector.Matches(labels.Set(u.GetLabels()))
}

// compare notes what will be different in a cluster.
func (a *adoptCommand) compare(ctx context.Context, o *adopted, v judge.Verdict, op judge.Operation, work string) error {
	before, err := a.client.Resource(render.WorksResource).Namespace(render.ExecutionNamespace(op.Cluster)).Get(ctx, work, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if c := state.AppliedCondition(before); c == nil || c.Status != metav1.ConditionTrue {
		return fmt.Errorf("it is not applied in cluster %q: see to that first", op.Cluster)
	}
	body, err := op.Body(v)
	if err != nil {
		return err
	}
	after := map[string]any{}
	if err := kjson.Unmarshal(body, &after); err != nil {
		return err
	}
	is, isErr := render.ManifestOf(before.Object)
	becomes, becomesErr := render.ManifestOf(after)
	if err := cmp.Or(isErr, becomesErr); err != nil {
		return err
	}
	for _, key := range sets.List(sets.KeySet(is).Union(sets.KeySet(becomes)).Delete("metadata", "status")) {
		if !reflect.DeepEqual(is[key], becomes[key]) {
			o.Notes = append(o.Notes, fmt.Sprintf("its %s will be different in %s", key, op.Cluster))
		}
	}
	return nil
}

// withoutClaims removes by what a policy claims an object.
func withoutClaims(of map[string]string) map[string]string {
	of = maps.Clone(of)
	for _, key := range render.ClaimKeys() {
		delete(of, key)
	}
	return of
}

// patch is a merge patch that annotates this very object.
func (a adopted) patch() []byte {
	return patchOf(map[string]any{"uid": a.Resource.UID, "annotations": a.Annotations}, nil)
}

// patchOf is a merge patch of the metadata and the spec.
func patchOf(metadata, spec map[string]any) []byte {
	patch := map[string]any{"metadata": metadata}
	if spec != nil {
		patch["spec"] = spec
	}
	encoded, err := json.Marshal(patch)
	if err != nil { // strings always have an encoding
		panic(err)
	}
	return encoded
}

// resource is where an object is read and written.
func (a *adoptCommand) resource(o adopted) (ref gather.SourceRef, resource dynamic.ResourceInterface, err error) {
	mapper, err := a.mapper()
	if err != nil {
		return ref, nil, err
	}
	mapping, err := mapper.RESTMapping(o.kind().GroupKind(), o.kind().Version)
	if err != nil {
		return ref, nil, err
	}
	ref = gather.SourceRef{Mapping: mapping, Namespace: o.Resource.Namespace, Name: o.Resource.Name}
	return ref, a.client.Resource(mapping.Resource).Namespace(o.Resource.Namespace), nil
}

// move does what is to be done. Each step finds out what of it is done already.
func (a *adoptCommand) move(ctx context.Context, todo *adoption) error {
	p, err := a.read(ctx)
	if err != nil {
		return err
	}
	refs, err := a.annotate(ctx, p, todo)
	if err != nil {
		return err
	}
	if err := a.preserve(ctx, p, todo); err != nil {
		return err
	}
	if err := a.unbind(ctx, p, todo); err != nil {
		return err
	}
	applied := &waitCommand{sources: a.sources, until: untilApplied, timeout: a.timeout, out: a.out}
	if err := applied.all(ctx, refs); err != nil {
		return err
	}
	for _, o := range todo.Objects {
		_, resource, err := a.resource(o)
		if err != nil {
			return err
		}
		settled := patchOf(map[string]any{"uid": o.Resource.UID, "annotations": map[string]any{render.ConflictResolutionAnnotation: nil}}, nil)
		if todo.Overwrites {
			continue
		} else if _, err := resource.Patch(ctx, o.Resource.Name, types.MergePatchType, settled, metav1.PatchOptions{}); err != nil && !isAnother(err) {
			return err
		}
	}
	err = a.client.Resource(configMaps).Namespace(a.store.Namespace).Delete(ctx, a.store.Name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) { // another run was faster
		return nil
	}
	return err
}

// isAnother reports whether a patch has found that the object is gone, or another one of that name.
func isAnother(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsConflict(err) }

// annotate annotates the objects, which the daemon leaves to the policy for now; once the policy is gone, that was done. It returns
// those that still exist.
func (a *adoptCommand) annotate(ctx context.Context, p policyOf, todo *adoption) (refs []gather.SourceRef, err error) {
	for _, o := range todo.Objects {
		ref, resource, err := a.resource(o)
		if err != nil {
			return nil, err
		}
		if p.object != nil {
			_, err = resource.Patch(ctx, o.Resource.Name, types.MergePatchType, o.patch(), metav1.PatchOptions{})
		} else {
			var u *unstructured.Unstructured
			if u, err = resource.Get(ctx, o.Resource.Name, metav1.GetOptions{}); err == nil && u.GetUID() != o.Resource.UID {
				err = apierrors.NewNotFound(ref.Mapping.Resource.GroupResource(), o.Resource.Name)
			}
		}
		switch {
		case isAnother(err) && p.object == nil:
			fmt.Fprintf(a.out, "%s was deleted meanwhile: %s may still have it\n", o, strings.Join(o.Clusters, ", "))
			continue
		case err != nil:
			return nil, err
		}
		refs = append(refs, ref)
	}
	return refs, nil
}

// preserve makes the policy keep the objects in the members, and waits until all Works say so.
func (a *adoptCommand) preserve(ctx context.Context, p policyOf, todo *adoption) error {
	if p.object != nil {
		patch := patchOf(map[string]any{"uid": todo.UID}, preserving)
		if _, err := p.resource.Patch(ctx, p.object.GetName(), types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	return a.until(ctx, "the Works to preserve their objects", todo, func(o adopted) (bool, error) { return a.preserves(ctx, todo, o) })
}

// preserving is what the spec of a policy, or of a binding, says to preserve its objects, and to take them over where they are.
var preserving = map[string]any{"preserveResourcesOnDeletion": true, "conflictResolution": string(policyv1alpha1.ConflictOverwrite)}

// preserves reports whether a binding and all its Works preserve the object; a binding that is gone does. It fails if another policy
// has taken it over.
func (a *adoptCommand) preserves(ctx context.Context, todo *adoption, o adopted) (bool, error) {
	binding, err := a.client.Resource(o.bindings()).Namespace(o.Resource.Namespace).Get(ctx, o.Binding, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return false, err
	}
	if err == nil {
		if err := todo.owns(o, binding); err != nil || !isPreserving(*binding) && !isEmptied(binding) {
			return false, err
		}
	}
	return a.worksPreserve(ctx, o)
}

// owns returns an error if a binding is not what it was: another one, another policy's, or what another object depends on.
func (todo *adoption) owns(o adopted, binding *unstructured.Unstructured) error {
	if binding.GetUID() != o.UID {
		return fmt.Errorf("%s has another binding than before", o)
	}
	if by, claimed := render.ClaimedBy(binding.GetLabels(), nil); claimed && (todo.ID == "" || binding.GetLabels()[todo.Label] != todo.ID) {
		return fmt.Errorf("another policy has taken over %s (%s): exclude the object from it", o, by)
	}
	required, _, _ := unstructured.NestedSlice(binding.Object, "spec", "requiredBy")
	for _, entry := range required {
		by, _ := entry.(map[string]any)
		if !slices.ContainsFunc(todo.Objects, func(of adopted) bool {
			return of.Binding == by["name"] && of.Resource.Namespace == o.Resource.Namespace
		}) {
			return fmt.Errorf("%s is now a dependency of binding %v of another policy, too: move that first", o, by["name"])
		}
	}
	return nil
}

// worksPreserve reports whether all Works of a binding preserve the object.
func (a *adoptCommand) worksPreserve(ctx context.Context, o adopted) (bool, error) {
	works, err := a.client.Resource(render.WorksResource).List(ctx, o.works())
	if err != nil {
		return false, err
	}
	for _, work := range works.Items {
		if !isPreserving(work) {
			return false, nil
		}
	}
	return true, nil
}

// isPreserving reports whether a binding or a Work preserves its object.
func isPreserving(u unstructured.Unstructured) bool {
	does, _, _ := unstructured.NestedBool(u.Object, "spec", "preserveResourcesOnDeletion")
	return does
}

// isEmptied reports whether Karmada has made the binding of a dependency one of nothing, since what depended on it is gone: it then
// no longer says what its Works do.
func isEmptied(binding *unstructured.Unstructured) bool {
	clusters, _, _ := unstructured.NestedSlice(binding.Object, "spec", "clusters")
	required, _, _ := unstructured.NestedSlice(binding.Object, "spec", "requiredBy")
	return len(clusters)+len(required) == 0
}

// unbind deletes the policy, and then the bindings that it leaves behind, and waits until their Works are gone.
func (a *adoptCommand) unbind(ctx context.Context, p policyOf, todo *adoption) error {
	if p.object != nil {
		now, err := a.bindings(ctx, p)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(now, func(b workv1alpha2.ResourceBinding) bool {
			return !slices.ContainsFunc(todo.Objects, func(o adopted) bool { return o.UID == b.UID })
		}) {
			return errors.New("the policy propagates more objects than before")
		}
		err = p.resource.Delete(ctx, p.object.GetName(), metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(todo.UID))})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		err = a.until(ctx, "the policy to be gone", &adoption{Objects: []adopted{{}}}, func(adopted) (bool, error) {
			now, err := p.resource.Get(ctx, p.object.GetName(), metav1.GetOptions{})
			if apierrors.IsNotFound(err) || err == nil && now.GetUID() != todo.UID {
				return true, nil
			}
			return false, err
		})
		if err != nil {
			return err
		}
	}
	if err := a.until(ctx, "the bindings to be left behind", todo, func(o adopted) (bool, error) { return a.release(ctx, todo, o) }); err != nil {
		return err
	}
	return a.until(ctx, "the Works of the bindings to be gone", todo, func(o adopted) (bool, error) {
		works, err := a.client.Resource(render.WorksResource).List(ctx, o.works())
		return err == nil && len(works.Items) == 0, err
	})
}

// release deletes a binding that no policy stands behind any more, and reports whether it is gone. It fails if another policy has
// taken it over.
func (a *adoptCommand) release(ctx context.Context, todo *adoption, o adopted) (bool, error) {
	resource := a.client.Resource(o.bindings()).Namespace(o.Resource.Namespace)
	binding, err := resource.Get(ctx, o.Binding, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return true, nil
	case err != nil:
		return false, err
	case binding.GetDeletionTimestamp() != nil || todo.ID != "" && binding.GetLabels()[todo.Label] == todo.ID: // Karmada has not seen that the policy is gone
		return false, nil
	}
	if err := todo.owns(o, binding); err != nil {
		return false, err
	}
	if !isPreserving(*binding) && !isEmptied(binding) { // the policy has said otherwise in between
		_, err := resource.Patch(ctx, o.Binding, types.MergePatchType, patchOf(map[string]any{"uid": o.UID}, preserving), metav1.PatchOptions{})
		return false, err
	}
	if does, err := a.worksPreserve(ctx, o); err != nil || !does {
		return false, err
	}
	err = resource.Delete(ctx, o.Binding, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &o.UID, ResourceVersion: new(binding.GetResourceVersion())}})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		err = nil
	}
	return false, err
}

// until waits until something holds of all objects.
func (a *adoptCommand) until(ctx context.Context, what string, todo *adoption, holds func(adopted) (bool, error)) error {
	var missing []string
	err := wait.PollUntilContextCancel(ctx, waitPeriod, true, func(context.Context) (bool, error) {
		missing = nil
		for _, o := range todo.Objects {
			ok, err := holds(o)
			if err != nil && (!isTransient(err) || ctx.Err() != nil) {
				return false, err
			}
			if !ok {
				missing = append(missing, o.String())
			}
		}
		return len(missing) == 0, nil
	})
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("waited in vain for %s: %s", what, strings.Join(missing, ", "))
	}
	return err
}
