package render

import (
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Shrink returns a JSON merge patch of a Work that will be deleted, at exactly this resource
// version: it reduces the manifest to what names the object, by which Karmada deletes it in
// the member, and suspends the Work, so that Karmada does not apply the reduced manifest. A
// Work that preserves its object cannot be shrunk: Karmada applies its manifest again. Nor
// can a Work whose manifest is not id's: the object would stay in the member.
func Shrink(work map[string]any, id Identity, resourceVersion string) ([]byte, error) {
	if preserve, _, _ := unstructured.NestedBool(work, "spec", "preserveResourcesOnDeletion"); preserve {
		return nil, errors.New("it preserves its object in the member, so Karmada needs the whole manifest: remove karmada.target/preserve-on-deletion, or raise etcd's --max-request-bytes")
	}
	manifest, err := ManifestOf(work)
	if err != nil {
		return nil, err
	}
	whole := unstructured.Unstructured{Object: manifest}
	if err := validate(&whole, id); err != nil {
		return nil, err
	}
	rest := unstructured.Unstructured{}
	rest.SetGroupVersionKind(whole.GroupVersionKind())
	rest.SetNamespace(whole.GetNamespace())
	rest.SetName(whole.GetName())
	return mustEncode(map[string]any{
		"metadata": map[string]any{"resourceVersion": resourceVersion},
		"spec": map[string]any{
			"suspendDispatching": true,
			"workload":           map[string]any{"manifests": []any{rest.Object}},
		},
	}), nil
}
