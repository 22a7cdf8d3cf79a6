package render

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// serverSet are the fields of metadata that the API server or a controller of
// the Karmada control plane sets and that mean nothing in a member.
var serverSet = []string{
	"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
	"deletionGracePeriodSeconds", "managedFields", "selfLink", "ownerReferences", "finalizers",
}

// Strip removes from an object, in place, what must not reach a member:
// metadata set by the server, status, our own annotations, the keys that
// control Karmada, and the fields that Karmada's prune removes. It never
// fails: it drops malformed metadata, and leaves anything else malformed alone.
//
// It also removes null fields where they mean nothing: those of metadata, and of
// the API groups of Kubernetes, whose objects are typed. In a custom resource, a
// null may be content: it tells Helm to drop a default, for example.
func Strip(obj map[string]any) {
	if _, ok := obj["metadata"].(map[string]any); !ok {
		delete(obj, "metadata")
	}
	stripAllocated(&unstructured.Unstructured{Object: obj})
	stripEdited(obj)
}

// stripEdited is Strip but for what the control plane has allocated: a policy that sets it for a cluster has chosen it.
func stripEdited(obj map[string]any) {
	delete(obj, "status")
	stripMetadata(obj)
	pruneBuiltin(obj)
	if metadata, ok := obj["metadata"].(map[string]any); ok {
		dropEmpty(metadata, "annotations")
		dropEmpty(metadata, "labels")
	}
	apiVersion, _ := obj["apiVersion"].(string)
	gv, err := schema.ParseGroupVersion(apiVersion)
	settle(obj["metadata"], false)
	settle(obj, err == nil && (!scheme.Scheme.IsGroupRegistered(gv.Group) || gv.Group == resourcev1.GroupName)) // of which drivers have parameters
}

func stripMetadata(obj map[string]any) {
	metadata, ok := obj["metadata"].(map[string]any)
	if !ok {
		return
	}
	for _, field := range serverSet {
		delete(metadata, field)
	}
	kind := (&unstructured.Unstructured{Object: obj}).GroupVersionKind().GroupKind()
	stripKeys(metadata, "annotations", func(key, _ string) bool { return isStripped(key) || isLeftBehind(kind, key) })
	stripKeys(metadata, "labels", func(key, value string) bool {
		retains := key == retainReplicasLabel && value == retainReplicas // any other value says nothing
		return isStripped(key) && !retains || isLeftBehind(kind, key)
	})
}

// isStripped reports whether a label or annotation does not reach a member.
func isStripped(key string) bool {
	return key == corev1.LastAppliedConfigAnnotation || strings.HasPrefix(key, Domain) || karmadaKey(key)
}

// strippedOf tells which field on a path Strip may have removed from an object.
func strippedOf(obj map[string]any, path []string) int {
	u := &unstructured.Unstructured{Object: obj}
	kind, isMetadata := u.GroupVersionKind().GroupKind(), path[0] == "metadata" && len(path) > 1
	isKey := isMetadata && len(path) > 2 && (path[1] == "labels" || path[1] == "annotations") && path[2] != retainReplicasLabel
	switch {
	case path[0] == "status":
		return 1
	case isMetadata && slices.Contains(serverSet, path[1]):
		return 2
	case isKey && (isStripped(path[2]) || isLeftBehind(kind, path[2])):
		return 3
	}
	for _, field := range slices.Concat(allocatedFields[kind], prunedOf(u)) {
		if len(path) >= len(field) && slices.EqualFunc(path[:len(field)], field, func(token, name string) bool { return name == anyItem || token == name }) {
			return len(field)
		}
	}
	return 0
}

// stripKeys deletes the entries of a string map that are unwanted or not
// strings.
func stripKeys(metadata map[string]any, field string, unwanted func(key, value string) bool) {
	entries, ok := metadata[field].(map[string]any)
	if !ok {
		delete(metadata, field)
		return
	}
	for key, value := range entries {
		if text, isString := value.(string); !isString || unwanted(key, text) {
			delete(entries, key)
		}
	}
}

// karmadaKey reports whether a key is Karmada's. A tenant must not smuggle one
// through, such as work.karmada.io/conflict-resolution.
func karmadaKey(key string) bool {
	domain, _, qualified := strings.Cut(key, "/")
	return qualified && (domain == "karmada.io" || strings.HasSuffix(domain, ".karmada.io"))
}

func dropEmpty(metadata map[string]any, field string) {
	if entries, ok := metadata[field].(map[string]any); ok && len(entries) == 0 {
		delete(metadata, field)
	}
}

// settle replaces, in place, values that the API server and Karmada's webhook
// would change by what they become: it turns a negative zero into zero, and
// removes null fields unless it keeps them. A null in a list stays: it holds a
// position.
func settle(value any, keepsNulls bool) any {
	switch v := value.(type) {
	case map[string]any:
		for key, field := range v {
			if isNull(field) && !keepsNulls {
				delete(v, key)
				continue
			}
			v[key] = settle(field, keepsNulls)
		}
	case []any:
		for i, item := range v {
			v[i] = settle(item, keepsNulls)
		}
	case float64:
		if v == 0 {
			return int64(0)
		}
	}
	return value
}

// isNull reports whether a value is encoded as null: a list or map that is nil
// comes from Go code, never from JSON.
func isNull(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		return v == nil
	case []any:
		return v == nil
	}
	return value == nil
}
