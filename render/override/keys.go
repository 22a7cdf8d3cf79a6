package override

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	policyv1alpha1 "github.com/karmada-io/api/policy/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// overrideKeys changes labels or annotations. To remove or replace a key that is not there
// does nothing. Labels that are not a map of strings have no keys, and the first one that is
// added replaces them (buildLabelAnnotationOverriderPatches in
// pkg/util/overridemanager/labelannotationoverrider.go, v1.18.2).
func overrideKeys(obj map[string]any, field string, o policyv1alpha1.LabelAnnotationOverrider) error {
	if !isOperator(o.Operator) && len(o.Value) > 0 {
		return fmt.Errorf(": the operator %.20q is unknown", o.Operator)
	}
	metadata, ok := obj["metadata"].(map[string]any)
	if !ok {
		return errors.New(": the object has no metadata")
	}
	before, isMap, _ := unstructured.NestedStringMap(metadata, field)
	if o.Operator == policyv1alpha1.OverriderOpAdd && !isMap && len(o.Value) > 0 {
		metadata[field] = map[string]any{}
	}
	entries, _ := metadata[field].(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(o.Value)) {
		_, exists := before[key]
		// Karmada makes the key part of a path, in which ~ begins an escape. No valid key
		// contains it.
		written := unescape(key)
		switch {
		case o.Operator == policyv1alpha1.OverriderOpAdd, o.Operator == policyv1alpha1.OverriderOpReplace && exists:
			entries[written] = o.Value[key]
		case exists:
			delete(entries, written)
		}
	}
	return nil
}
