package override

import (
	"slices"
	"strings"

	policyv1alpha1 "github.com/karmada-io/api/policy/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// labelsAfter returns the labels of an object on which steps were applied, without the
// object: whatever else they change, the labels depend on the labels alone. If a step fails,
// the result does not matter, because Apply fails as well.
func labelsAfter(steps []step, o Object) map[string]string {
	changes := func(s step) bool { return s.rule.changesLabels() }
	if !slices.ContainsFunc(steps, changes) {
		return o.Labels
	}
	labels := map[string]any{}
	for key, value := range o.Labels {
		labels[key] = value
	}
	metadata := map[string]any{"name": o.Name, "namespace": o.Namespace, "labels": labels}
	obj := map[string]any{"apiVersion": o.APIVersion, "kind": o.Kind, "metadata": metadata}
	for _, s := range steps {
		if applyOverriders(obj, &s.rule.onLabels, s.stripped) != nil {
			return o.Labels
		}
	}
	after, _, _ := unstructured.NestedStringMap(obj, "metadata", "labels")
	return after
}

func (r *rule) changesLabels() bool {
	o := &r.onLabels
	return len(o.LabelsOverrider)+len(o.Plaintext)+len(o.FieldOverrider)+len(o.ImageOverrider) > 0
}

// onLabels returns those overriders that can change the labels of an object.
func onLabels(o policyv1alpha1.Overriders) policyv1alpha1.Overriders {
	return policyv1alpha1.Overriders{
		LabelsOverrider: o.LabelsOverrider,
		Plaintext:       keep(o.Plaintext, func(p policyv1alpha1.PlaintextOverrider) bool { return concernsLabels(p.Path) }),
		FieldOverrider:  keep(o.FieldOverrider, func(f policyv1alpha1.FieldOverrider) bool { return concernsLabels(f.FieldPath) }),
		ImageOverrider: keep(o.ImageOverrider, func(i policyv1alpha1.ImageOverrider) bool {
			return i.Predicate != nil && concernsLabels(i.Predicate.Path)
		}),
	}
}

// concernsLabels reports whether a path leads to the labels, into them, or to what contains
// them.
func concernsLabels(path string) bool {
	toLabels := []string{"metadata", "labels"}
	tokens := strings.Split(path, "/")[1:]
	for i := range min(len(tokens), len(toLabels)) {
		if unescape(tokens[i]) != toLabels[i] {
			return false
		}
	}
	return true
}

func keep[T any](list []T, wanted func(T) bool) (kept []T) {
	for _, item := range list {
		if wanted(item) {
			kept = append(kept, item)
		}
	}
	return kept
}
