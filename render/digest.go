package render

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Digest identifies what a Work means: equal digests make equal member objects. The
// zero value is the digest of nothing.
type Digest [16]byte

func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// ErrNotOurForm is returned for a Work that does not carry exactly one object.
var ErrNotOurForm = errors.New("the Work does not carry exactly one manifest")

// DigestOf returns the digest of a whole decoded Work that has this namespace and name, and its
// content. It
// ignores the bookkeeping that Karmada's mutating webhook adds, and what that webhook
// removes by the kind alone, so that a Work has the same digest before and after the
// webhook. It also ignores namespace and name where the manifest repeats them: the Works
// of one source have the same digest in all clusters. The Work is not changed.
func DigestOf(work map[string]any, namespace, name string) (Digest, Content, error) {
	manifest, err := ManifestOf(work)
	if err != nil {
		return Digest{}, Content{}, err
	}
	meaning, err := meaningOf(manifest, namespace, name)
	if err != nil {
		return Digest{}, Content{}, err
	}
	o := OptionsOf(work)
	return o.digest(meaning), Content{meaning, o.ofContent()}, nil
}

// CarriedBy returns the object whose manifest a whole decoded Work carries; the zero value
// if the Work does not carry exactly one manifest with a kind and a name.
func CarriedBy(work map[string]any) Identity {
	manifest, _ := ManifestOf(work)
	u := unstructured.Unstructured{Object: manifest}
	gk := u.GroupVersionKind().GroupKind()
	if gk.Kind == "" || u.GetName() == "" {
		return Identity{}
	}
	return Identity{Group: gk.Group, Kind: gk.Kind, Namespace: u.GetNamespace(), Name: u.GetName()}
}

// OptionsOf returns the Options that a whole decoded Work was made with, as far as it has
// our form.
func OptionsOf(work map[string]any) (o Options) {
	manifest, _ := ManifestOf(work)
	o.Suspend, _, _ = unstructured.NestedBool(work, "spec", "suspendDispatching")
	o.PreserveOnDeletion, _, _ = unstructured.NestedBool(work, "spec", "preserveResourcesOnDeletion")
	o.Overwrite = hasEntry(manifest, "annotations", conflictResolutionAnnotation, conflictOverwrite)
	o.RetainReplicas = hasEntry(manifest, "labels", retainReplicasLabel, retainReplicas)
	return o
}

func hasEntry(manifest map[string]any, field, key, value string) bool {
	metadata, _ := manifest["metadata"].(map[string]any)
	entries, _ := metadata[field].(map[string]any)
	return entries[key] == value
}

// Content is what a Work carries, whatever it says of suspension and preservation: those take effect
// at once, in whatever order its clusters get the content.
type Content struct {
	meaning Digest
	options Options
}

// Content returns the content of the Works.
func (t *Template) Content() Content { return Content{t.meaning, t.options.ofContent()} }

// Digest returns the digest of a Work with the content.
func (c Content) Digest(suspend, preserve bool) Digest {
	o := c.options
	o.Suspend, o.PreserveOnDeletion = suspend, preserve
	return o.digest(c.meaning)
}

// String returns the value of WrittenAnnotation.
func (c Content) String() string { return c.Digest(false, false).String() }

// ofContent returns the options that are part of the content.
func (o Options) ofContent() Options {
	o.Suspend, o.PreserveOnDeletion = false, false
	return o
}

// digest returns the digest of a Work with these options and a manifest of that meaning.
func (o Options) digest(meaning Digest) Digest {
	named := meaning[:]
	for _, option := range []struct {
		name string
		isOn bool
	}{{"suspend", o.Suspend}, {"preserve", o.PreserveOnDeletion}, {"overwrite", o.Overwrite}, {"retain", o.RetainReplicas}} {
		if option.isOn { // a digest does not depend on options that are added later
			named = append(named, ","+option.name...)
		}
	}
	sum := sha256.Sum256(named)
	return Digest(sum[:16])
}

// ManifestOf returns the one manifest of a whole decoded Work, or ErrNotOurForm.
func ManifestOf(work map[string]any) (map[string]any, error) {
	manifests, _, err := unstructured.NestedFieldNoCopy(work, "spec", "workload", "manifests")
	if err != nil {
		return nil, ErrNotOurForm
	}
	list, _ := manifests.([]any)
	if len(list) != 1 {
		return nil, ErrNotOurForm
	}
	manifest, ok := list[0].(map[string]any)
	if !ok {
		return nil, ErrNotOurForm
	}
	return manifest, nil
}

// meaningOf returns the digest of what a manifest means, whatever the Options of its Work.
func meaningOf(manifest map[string]any, namespace, name string) (Digest, error) {
	manifest, own := normalize(manifest, namespace, name)
	encoded, err := json.Marshal([]any{manifest, own})
	if err != nil {
		return Digest{}, fmt.Errorf("cannot encode a manifest: %w", err)
	}
	sum := sha256.Sum256(encoded)
	return Digest(sum[:16]), nil
}

// normalize returns a copy of the manifest reduced to what it means, and whether it names
// the Work's own namespace and name, which the copy lacks.
func normalize(manifest map[string]any, namespace, name string) (meaning map[string]any, own bool) {
	meaning = cloneMaps(manifest, prunedDepth)
	pruneKind(meaning)
	metadata, _ := meaning["metadata"].(map[string]any)
	labels, _ := metadata["labels"].(map[string]any)
	delete(labels, workIDLabel)
	if labels[retainReplicasLabel] == retainReplicas {
		delete(labels, retainReplicasLabel)
	}
	annotations, _ := metadata["annotations"].(map[string]any)
	delete(annotations, managedAnnotationsAnnotation)
	delete(annotations, managedLabelsAnnotation)
	if annotations[conflictResolutionAnnotation] == conflictOverwrite {
		delete(annotations, conflictResolutionAnnotation)
	}
	// Only the presence of a generation means something, not its value: changes of
	// stripped fields increment it too, and are not written.
	if generation, _ := annotations[templateGenerationAnnotation].(string); isGeneration(generation) {
		annotations[templateGenerationAnnotation] = ""
	}
	if own = annotations[workNamespaceAnnotation] == namespace && annotations[workNameAnnotation] == name; own {
		delete(annotations, workNamespaceAnnotation)
		delete(annotations, workNameAnnotation)
	}
	return meaning, own
}

func isGeneration(s string) bool { return parseGeneration(s) > 0 }

// parseGeneration returns a generation in an annotation; 0 if it is not one.
func parseGeneration(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0
	}
	return max(0, n)
}

// GenerationOf returns the generation of the source from which a manifest was made; 0 if the
// manifest does not say.
func GenerationOf(manifest map[string]any) int64 {
	u := unstructured.Unstructured{Object: manifest}
	return parseGeneration(u.GetAnnotations()[templateGenerationAnnotation])
}

// UIDOf returns the UID of the source from which a manifest was made.
func UIDOf(manifest map[string]any) types.UID {
	return types.UID((&unstructured.Unstructured{Object: manifest}).GetAnnotations()[templateUIDAnnotation])
}

// prunedDepth is how deep normalize deletes: a Job's
// spec.template.metadata.labels are the fifth map.
const prunedDepth = 5

// cloneMaps copies only the maps of the uppermost levels.
func cloneMaps(m map[string]any, levels int) map[string]any {
	c := maps.Clone(m)
	if levels == 1 {
		return c
	}
	for key, value := range c {
		if inner, ok := value.(map[string]any); ok {
			c[key] = cloneMaps(inner, levels-1)
		}
	}
	return c
}
