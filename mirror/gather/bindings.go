package gather

import (
	"context"
	"errors"
	"fmt"

	policyv1alpha1 "github.com/karmada-io/api/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/api/work/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// The bindings that Karmada creates for the objects that a policy propagates.
var (
	bindingsResource        = schema.GroupVersion(workv1alpha2.GroupVersion).WithResource(workv1alpha2.ResourcePluralResourceBinding)
	clusterBindingsResource = schema.GroupVersion(workv1alpha2.GroupVersion).WithResource(workv1alpha2.ResourcePluralClusterResourceBinding)
)

// addBindings reads the bindings that took over Works of a source. It marks the clusters where
// such a binding is a leftover (Unbound), and those where a binding has a Work of its own for
// the source (Doubled).
func addBindings(ctx context.Context, client dynamic.Interface, f judge.Facts) error {
	left := map[types.NamespacedName]bool{} // one binding owns the Works of all clusters
	var errs []error
	for cluster, target := range judge.Decide(f).Targets {
		if !target.AsksBinding {
			continue
		}
		facts, err := f.Clusters[cluster], error(nil)
		if w := f.Works[cluster]; w.Bound() {
			var isKnown bool
			if facts.Unbound, isKnown = left[w.Binding()]; !isKnown {
				facts.Unbound, err = isLeftBehind(ctx, client, f.ID, w.Binding())
				left[w.Binding()] = facts.Unbound
			}
		} else {
			facts.Doubled, err = isDoubled(ctx, client, f.ID, w.Namespace)
		}
		if err != nil { // only this cluster is unknown
			errs = append(errs, err)
			continue
		}
		f.Clusters[cluster] = facts
	}
	return errors.Join(errs...)
}

// isLeftBehind reports whether a binding no longer exists, or is a leftover: it belongs to the
// source, but to no policy. Karmada leaves bindings behind when a policy is deleted. An unknown
// binding (no name) counts as neither.
func isLeftBehind(ctx context.Context, client dynamic.Interface, id render.Identity, binding types.NamespacedName) (bool, error) {
	if binding.Name == "" {
		return false, nil
	}
	resource := bindingsResource
	if binding.Namespace == "" {
		resource = clusterBindingsResource
	}
	u, err := client.Resource(resource).Namespace(binding.Namespace).Get(ctx, binding.Name, metav1.GetOptions{})
	switch {
	case ProvesAbsence(err, binding.Name):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("cannot tell whether binding %q still needs the Works of %q: %w", binding, id, err)
	}
	return u.GetDeletionTimestamp() == nil && !hasPolicy(u) && isBindingOf(u, id), nil
}

// isDoubled reports whether a binding owns the Work that has Karmada's name for a source, and
// that Work carries the source.
func isDoubled(ctx context.Context, client dynamic.Interface, id render.Identity, namespace string) (bool, error) {
	u, err := client.Resource(render.WorksResource).Namespace(namespace).Get(ctx, id.WorkName(), metav1.GetOptions{})
	switch {
	case ProvesAbsence(err, id.WorkName()):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("cannot tell whether a policy's Work carries %q: %w", id, err)
	}
	w := state.NewWork(u)
	return w.Bound() && w.Carries() == id && !w.Terminating, nil
}

// hasPolicy reports whether a binding is still needed: by a policy, by another controller of
// Karmada's, such as the one for multi-cluster Services, or by another binding that it is a
// dependency of.
func hasPolicy(binding *unstructured.Unstructured) bool {
	labels := binding.GetLabels()
	_, named := labels[policyv1alpha1.PropagationPolicyPermanentIDLabel]
	_, clusterWide := labels[policyv1alpha1.ClusterPropagationPolicyPermanentIDLabel]
	_, managed := labels[workv1alpha2.BindingManagedByLabel]
	requiredBy, _, _ := unstructured.NestedSlice(binding.Object, "spec", "requiredBy")
	return named || clusterWide || managed || len(requiredBy) > 0
}

// isBindingOf reports whether a binding is for a source.
func isBindingOf(binding *unstructured.Unstructured, id render.Identity) bool {
	resource, _, _ := unstructured.NestedMap(binding.Object, "spec", "resource")
	text := func(key string) string { s, _ := resource[key].(string); return s }
	gk := schema.FromAPIVersionAndKind(text("apiVersion"), text("kind")).GroupKind()
	return gk == id.GroupKind() && text("namespace") == id.Namespace && text("name") == id.Name
}
