package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unique"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
)

// ErrCannotRender is returned for a source of which no valid Work can be made.
var ErrCannotRender = errors.New("no Work can be made of it")

// Template is what a source becomes, but for the cluster: the manifest is
// encoded once, and per cluster only its beginning is put together.
type Template struct {
	id      Identity
	uid     types.UID
	created time.Time
	options Options
	digest  Digest
	// managedAnnotations and managedLabels are the lists of the manifest's keys,
	// encoded. Most objects have none of their own, and share them.
	managedAnnotations, managedLabels string
	// manifest is the encoded manifest without its beginning.
	manifest []byte
}

// NewTemplate strips obj, of which it takes ownership, and marks it as Karmada
// wants it. Errors wrap ErrCannotRender: only a change of the object mends them.
func NewTemplate(obj *unstructured.Unstructured, id Identity, uid types.UID, o Options) (*Template, error) {
	if err := validate(obj, id); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCannotRender, err)
	}
	t := &Template{id: id, uid: uid, created: obj.GetCreationTimestamp().Time, options: o}
	generation := obj.GetGeneration()
	Strip(obj.Object)
	mark(obj, id.WorkName(), uid, generation, o)
	var err error
	if t.digest, err = digest(obj.Object, "", o.Suspend, o.PreserveOnDeletion); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCannotRender, err)
	}
	annotations := obj.GetAnnotations()
	t.managedAnnotations = sharedEncoding(annotations[managedAnnotationsAnnotation])
	t.managedLabels = sharedEncoding(annotations[managedLabelsAnnotation])
	if t.manifest, err = encode(obj.Object); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCannotRender, err)
	}
	return t, nil
}

func validate(obj *unstructured.Unstructured, id Identity) error {
	if id.Kind == "" || id.Name == "" || obj.GetAPIVersion() == "" {
		return errors.New("it lacks apiVersion, kind or metadata.name")
	}
	if id.GroupKind() != obj.GroupVersionKind().GroupKind() || id.Namespace != obj.GetNamespace() || id.Name != obj.GetName() {
		return fmt.Errorf("it is not the object %s", quote(id.String()))
	}
	name := id.WorkName()
	if len(name) > validation.DNS1123SubdomainMaxLength {
		return fmt.Errorf("the name of its Work would have %d characters, more than %d", len(name), validation.DNS1123SubdomainMaxLength)
	}
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return fmt.Errorf("%s, the name of its Work, would be invalid: %s", quote(name), strings.Join(problems, "; "))
	}
	return nil
}

// mark sets the labels and annotations that Karmada looks for in a manifest.
// The two lists of managed keys are as its webhook writes them
// (SetLabelsAndAnnotationsForWorkload in pkg/util/work.go, v1.18.2).
//
// Without the generation Karmada reports no status of workloads
// (pkg/resourceinterpreter/default/native/reflectstatus.go, v1.18.2).
func mark(obj *unstructured.Unstructured, workName string, uid types.UID, generation int64, o Options) {
	labels := obj.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[managedLabel] = managedLabelValue
	annotations := obj.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[workNameAnnotation] = workName
	annotations[workNamespaceAnnotation] = ""
	annotations[templateUIDAnnotation] = string(uid)
	if generation > 0 {
		annotations[templateGenerationAnnotation] = strconv.FormatInt(generation, 10)
	}
	annotations[managedAnnotationsAnnotation] = ""
	annotations[managedLabelsAnnotation] = joinKeys(labels)
	if o.Overwrite {
		annotations[conflictResolutionAnnotation] = conflictOverwrite
	}
	annotations[managedAnnotationsAnnotation] = joinKeys(annotations)
	obj.SetLabels(labels)
	obj.SetAnnotations(annotations)
}

// joinKeys lists keys as Karmada's bookkeeping does.
func joinKeys(m map[string]string) string {
	return strings.Join(slices.Sorted(maps.Keys(m)), ",")
}

// headAnnotations are those with which every encoded manifest begins: they differ
// by cluster, or are the same for so many sources that none keeps a copy. They come
// first, so that their place is known and need not be looked for: a user's text may
// say anything. The one that differs by cluster is the first.
var headAnnotations = []string{
	workNamespaceAnnotation, workNameAnnotation, templateUIDAnnotation,
	managedAnnotationsAnnotation, managedLabelsAnnotation,
}

func sharedEncoding(s string) string { return unique.Make(string(mustEncode(s))).Value() }

// encode returns what follows headAnnotations.
func encode(obj map[string]any) ([]byte, error) {
	rest := maps.Clone(obj)
	metadata, _ := rest["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	annotations, _ := metadata["annotations"].(map[string]any)
	annotations = maps.Clone(annotations)
	for _, key := range headAnnotations {
		delete(annotations, key)
	}
	delete(metadata, "annotations")
	delete(rest, "metadata")
	var parts [][]byte
	for _, part := range []map[string]any{annotations, metadata, rest} {
		fields, err := json.Marshal(part)
		if err != nil {
			return nil, err
		}
		if len(part) > 0 { // there are others before these
			parts = append(parts, []byte(","))
		}
		parts = append(parts, fields[len("{"):])
	}
	return slices.Concat(parts...), nil
}

// Source names the source that the template was made from.
func (t *Template) Source() Identity { return t.id }

// UID is the UID of the source that the template was made from.
func (t *Template) UID() types.UID { return t.uid }

// Digest is the digest of every Work made from the template.
func (t *Template) Digest() Digest { return t.digest }

// Size is about how many bytes each Work made from the template takes.
func (t *Template) Size() int {
	return len(t.manifest) + len(t.managedAnnotations) + len(t.managedLabels)
}
