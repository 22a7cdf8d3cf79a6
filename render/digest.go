package render

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	workv1alpha2 "github.com/karmada-io/api/work/v1alpha2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Digest says what a Work means: equal digests make equal member objects. The
// zero value is the digest of nothing.
type Digest [16]byte

func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// ErrNotOurForm is returned for a Work that does not carry exactly one object.
var ErrNotOurForm = errors.New("the Work does not carry exactly one manifest")

// DigestOf digests a whole decoded Work that lives in namespace. It leaves out
// the bookkeeping that Karmada's mutating webhook adds, and what that webhook
// removes on the kind alone, so that a Work has the same digest before and after
// it. The namespace is left out too where the manifest repeats it: the Works of
// one source have one digest in all clusters. The Work is not changed.
func DigestOf(work map[string]any, namespace string) (Digest, error) {
	manifests, _, err := unstructured.NestedFieldNoCopy(work, "spec", "workload", "manifests")
	if err != nil {
		return Digest{}, ErrNotOurForm
	}
	list, _ := manifests.([]any)
	if len(list) != 1 {
		return Digest{}, ErrNotOurForm
	}
	manifest, ok := list[0].(map[string]any)
	if !ok {
		return Digest{}, ErrNotOurForm
	}
	suspend, _, _ := unstructured.NestedBool(work, "spec", "suspendDispatching")
	preserve, _, _ := unstructured.NestedBool(work, "spec", "preserveResourcesOnDeletion")
	return digest(manifest, namespace, suspend, preserve)
}

func digest(manifest map[string]any, namespace string, suspend, preserve bool) (Digest, error) {
	encoded, err := json.Marshal([]any{normalize(manifest, namespace), suspend, preserve})
	if err != nil {
		return Digest{}, fmt.Errorf("cannot encode a manifest: %w", err)
	}
	sum := sha256.Sum256(encoded)
	return Digest(sum[:16]), nil
}

// normalize returns a copy, as deep as it differs, of what the manifest means.
func normalize(manifest map[string]any, namespace string) map[string]any {
	kind, _ := manifest["kind"].(string)
	if pruner, ok := kindPruners[kind]; ok {
		manifest = runtime.DeepCopyJSON(manifest)
		pruner(manifest)
	} else {
		manifest = maps.Clone(manifest)
	}
	metadata, ok := manifest["metadata"].(map[string]any)
	if !ok {
		return manifest
	}
	metadata = maps.Clone(metadata)
	manifest["metadata"] = metadata
	if labels, ok := metadata["labels"].(map[string]any); ok {
		labels = maps.Clone(labels)
		delete(labels, workv1alpha2.WorkPermanentIDLabel)
		metadata["labels"] = labels
	}
	if annotations, ok := metadata["annotations"].(map[string]any); ok {
		annotations = maps.Clone(annotations)
		delete(annotations, workv1alpha2.ManagedAnnotation)
		delete(annotations, workv1alpha2.ManagedLabels)
		if annotations[workv1alpha2.WorkNamespaceAnnotation] == namespace {
			annotations[workv1alpha2.WorkNamespaceAnnotation] = "the Work's own"
		}
		metadata["annotations"] = annotations
	}
	return manifest
}
