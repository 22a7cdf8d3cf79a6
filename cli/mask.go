package cli

import (
	"reflect"
	"slices"
	"strings"

	workv1alpha2 "github.com/karmada-io/api/work/v1alpha2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The masks for the values of Secrets, as in kubectl diff.
const (
	masked       = "***"
	maskedBefore = "*** (before)"
	maskedAfter  = "*** (after)"
)

// maskSecrets replaces, in place, the values of the Secrets in two Works, and still
// shows which of them differ. Either Work may be nil.
func maskSecrets(before, after map[string]any) {
	then, now := manifestsOf(before), manifestsOf(after)
	for i := range max(len(then), len(now)) {
		maskSecret(secretAt(then, i), secretAt(now, i))
	}
	// kubectl apply puts a second copy of a Work in here.
	maskPair(annotationsOf(before), annotationsOf(after), corev1.LastAppliedConfigAnnotation)
}

func manifestsOf(work map[string]any) []any {
	manifests, _, _ := unstructured.NestedFieldNoCopy(work, "spec", "workload", "manifests")
	list, _ := manifests.([]any)
	return list
}

// secretAt returns the Secret at an index; nil if there is none.
func secretAt(manifests []any, i int) map[string]any {
	if i >= len(manifests) {
		return nil
	}
	manifest, _ := manifests[i].(map[string]any)
	if manifest["kind"] != "Secret" || manifest["apiVersion"] != "v1" {
		return nil
	}
	return manifest
}

func maskSecret(before, after map[string]any) {
	for _, field := range []string{"data", "stringData"} {
		then, thenIsMap := before[field].(map[string]any)
		now, nowIsMap := after[field].(map[string]any)
		if before[field] != nil && !thenIsMap || after[field] != nil && !nowIsMap {
			maskPair(before, after, field) // mask it whole, whatever it is
			continue
		}
		for key := range then {
			maskPair(then, now, key)
		}
		for key := range now {
			if _, isMasked := then[key]; !isMasked {
				maskPair(then, now, key)
			}
		}
	}
	maskPair(annotationsOf(before), annotationsOf(after), corev1.LastAppliedConfigAnnotation)
}

func annotationsOf(object map[string]any) map[string]any {
	annotations, _, _ := unstructured.NestedFieldNoCopy(object, "metadata", "annotations")
	values, _ := annotations.(map[string]any)
	return values
}

// maskPair masks the values of one key, if there are any.
func maskPair(before, after map[string]any, key string) {
	then, had := before[key]
	now, has := after[key]
	first, second := masked, masked
	if had && has && !reflect.DeepEqual(then, now) {
		first, second = maskedBefore, maskedAfter
	}
	if had {
		before[key] = first
	}
	if has {
		after[key] = second
	}
}

// dropPermanentID removes, in place, what Karmada's webhook adds to the manifest of a Work when it is written: it stays as it is.
func dropPermanentID(work map[string]any) {
	for _, manifest := range manifestsOf(work) {
		u := &unstructured.Unstructured{}
		if u.Object, _ = manifest.(map[string]any); u.GetLabels()[workv1alpha2.WorkPermanentIDLabel] == "" {
			continue
		}
		labels, annotations := u.GetLabels(), u.GetAnnotations()
		delete(labels, workv1alpha2.WorkPermanentIDLabel)
		u.SetLabels(labels)
		keys := slices.DeleteFunc(strings.Split(annotations[workv1alpha2.ManagedLabels], ","), func(key string) bool { return key == workv1alpha2.WorkPermanentIDLabel })
		if annotations[workv1alpha2.ManagedLabels] = strings.Join(keys, ","); len(keys) > 0 {
			u.SetAnnotations(annotations)
		}
	}
}
