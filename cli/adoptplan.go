package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	policyv1alpha1 "github.com/karmada-io/api/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/api/work/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"

	"github.com/karmada-target/karmada-mirror/mirror/gather"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

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
	unknown := judge.UnknownNames(facts)
	for _, r := range v.Refusals {
		if unknown != nil && r == *unknown { // a weight of a cluster that does not exist weighs nothing there, too
			continue
		}
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
