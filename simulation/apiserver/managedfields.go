package apiserver

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// stamp notes when an object, or a subresource of it, and its finalizers were last written: as if one user wrote the
// finalizers, and one all else.
func stamp(o, before Object, w write, now metav1.Time) {
	last := map[string]any{"manager": "user", "operation": "Update", "time": now.Format(time.RFC3339)}
	if w.subresource != "" {
		last["subresource"] = w.subresource
	}
	finalizers, _, _ := unstructured.NestedStringSlice(o, "metadata", "finalizers")
	if old, _, _ := unstructured.NestedStringSlice(before, "metadata", "finalizers"); !slices.Equal(old, finalizers) {
		set := map[string]any{}
		for _, name := range finalizers {
			set[fmt.Sprintf("v:%q", name)] = map[string]any{}
		}
		last["manager"], last["fieldsV1"] = "finalizers", map[string]any{"f:metadata": map[string]any{"f:finalizers": set}}
	}
	entries, _ := metadata(o)["managedFields"].([]any)
	entries = slices.DeleteFunc(slices.Clone(entries), func(e any) bool {
		entry := e.(map[string]any)
		return entry["manager"] == last["manager"] && entry["subresource"] == last["subresource"]
	})
	metadata(o)["managedFields"] = append(entries, last)
}
