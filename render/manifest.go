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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
)

// ErrCannotRender is returned for a source that no valid Work can be made from.
var ErrCannotRender = errors.New("cannot make a Work from it")

// Manifest is what a source becomes in a member, except for the cluster and the Options
// of its Works: it is encoded once, and only its beginning is assembled for each Work.
type Manifest struct {
	id Identity
	// apiVersion is the version in which the source was read.
	apiVersion string
	uid        types.UID
	created    time.Time
	// meaning is the digest of what does not depend on Options and cluster.
	meaning Digest
	// immutable is what no one can change in it.
	immutable Immutable
	// Most objects have none of their own, and share them.
	annotationKeys, labelKeys keyLists
	// retains reports that the source itself has the label by which members keep their
	// replicas.
	retains bool
	// expires is the field by which it is deleted once it has finished; empty for none.
	expires string
	// runsOnce: one that was deleted and created again is to run again.
	runsOnce bool
	// needs are the objects without which its Pods do not start; nil if it has no Pods.
	needs []Identity
	// variables are the names of those in its string values; nil if it has none, and none is
	// escaped.
	variables *[]string
	// annotations is what follows the annotations that begin the encoded manifest, and
	// rest what follows the labels.
	annotations, rest []byte
}

// NewManifest strips obj, of which it takes ownership, and adds the labels and
// annotations that Karmada expects. Errors wrap ErrCannotRender: only a change of the
// object fixes them.
func NewManifest(obj *unstructured.Unstructured, id Identity, uid types.UID) (*Manifest, error) {
	if err := validate(obj, id); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCannotRender, err)
	}
	m := &Manifest{id: id, apiVersion: unique.Make(obj.GetAPIVersion()).Value(), uid: uid, created: obj.GetCreationTimestamp().Time}
	generation := ""
	if n := obj.GetGeneration(); n > 0 {
		generation = strconv.FormatInt(n, 10)
	}
	Strip(obj.Object)
	mark(obj, uid, generation)
	if err := m.read(obj); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCannotRender, err)
	}
	m.needs, m.expires, m.runsOnce = NeedsOf(obj.Object, id), expiresBy(obj), runsOnce(id.GroupKind(), obj.Object)
	if hasVariables(m.rest) || hasVariables(m.annotations) {
		names := variablesIn(obj.Object)
		m.variables = new(slices.Clone(names[:min(len(names), maxVariables)])) // more are an error
	}
	return m, nil
}

// read takes over a stripped and marked object.
func (m *Manifest) read(obj *unstructured.Unstructured) (err error) {
	if m.meaning, err = meaningOf(obj.Object, "", ""); err != nil {
		return err
	}
	m.immutable = ImmutableOf(obj.Object)
	m.annotationKeys = keyListsOf(obj.GetAnnotations(), conflictResolutionAnnotation)
	m.labelKeys = keyListsOf(obj.GetLabels(), retainReplicasLabel)
	m.retains = obj.GetLabels()[retainReplicasLabel] == retainReplicas
	m.annotations, m.rest, err = encode(obj.Object)
	return err
}

// Template returns the Template of the source's Works with these options.
func (m *Manifest) Template(o Options) *Template { return m.template(m.id.WorkName(), o) }

func (m *Manifest) template(name string, o Options) *Template {
	o = o.retaining(m.retains)
	return &Template{m, name, o, o.digest(m.meaning), Notes{}}
}

// Source names the source that the manifest was made from.
func (m *Manifest) Source() Identity { return m.id }

// GroupVersionKind returns the version of its kind, too.
func (m *Manifest) GroupVersionKind() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(m.apiVersion, m.id.Kind)
}

// UID is the UID of the source that the manifest was made from.
func (m *Manifest) UID() types.UID { return m.uid }

// Needs are the ConfigMaps, Secrets, ServiceAccounts and PersistentVolumeClaims without which the
// Pods of the source do not start.
func (m *Manifest) Needs() []Identity { return m.needs }

// Expires is the field by which the object, which is to run once, is deleted once it has finished; empty for none.
func (m *Manifest) Expires() string { return m.expires }

// RunsOnce reports whether the object runs once: one that was deleted and created again is to run again.
func (m *Manifest) RunsOnce() bool { return m.runsOnce }

// Variables are the names of the variables in its string values, sorted.
func (m *Manifest) Variables() []string {
	if m.variables == nil {
		return nil
	}
	return *m.variables
}

// Immutable is what no one can change in the object.
func (m *Manifest) Immutable() Immutable { return m.immutable }

// Size is about how many bytes each Work with the manifest takes.
func (m *Manifest) Size() int {
	return len(m.annotations) + len(m.rest) + len(m.annotationKeys.plain) + len(m.labelKeys.plain)
}

// Template is what a Work is made from, except for the cluster.
type Template struct {
	*Manifest
	name    string
	options Options
	digest  Digest
	notes   Notes
}

// Name is the name of the Works.
func (t *Template) Name() string { return t.name }

// Long returns a Template of Works with the longer name; see LongWorkName.
func (t *Template) Long() *Template {
	long := *t
	long.name = t.id.LongWorkName()
	return &long
}

// Notes are what the Works say of how they were edited.
func (t *Template) Notes() Notes { return t.notes }

// Digest is the digest of every Work made from the template.
func (t *Template) Digest() Digest { return t.digest }

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
		return fmt.Errorf("the name of its Work would be %s, which is invalid: %s", quote(name), strings.Join(problems, "; "))
	}
	return nil
}

// mark sets the labels and annotations that Karmada looks for in a manifest, except for
// those that depend on the Work and on Options.
//
// Without the generation Karmada reports no status of workloads
// (pkg/resourceinterpreter/default/native/reflectstatus.go, v1.18.2).
func mark(obj *unstructured.Unstructured, uid types.UID, generation string) {
	labels := obj.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[managedLabel] = managedLabelValue
	annotations := obj.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[workNameAnnotation] = ""
	annotations[workNamespaceAnnotation] = ""
	annotations[templateUIDAnnotation] = string(uid)
	if generation != "" {
		annotations[templateGenerationAnnotation] = generation
	}
	annotations[managedAnnotationsAnnotation] = ""
	annotations[managedLabelsAnnotation] = ""
	obj.SetLabels(labels)
	obj.SetAnnotations(annotations)
}

// keyLists are the keys of a manifest's annotations or labels, encoded as Karmada's
// bookkeeping lists them (SetLabelsAndAnnotationsForWorkload in pkg/util/work.go, v1.18.2):
// as they are, and with the key that Options add.
type keyLists struct{ plain, with string }

func keyListsOf(m map[string]string, added string) keyLists {
	keys := slices.Sorted(maps.Keys(m))
	lists := keyLists{plain: encodeKeys(keys)}
	if at, found := slices.BinarySearch(keys, added); !found {
		keys = slices.Insert(keys, at, added)
	}
	lists.with = encodeKeys(keys)
	return unique.Make(lists).Value()
}

// list returns one of the two.
func (k keyLists) list(isAdded bool) string {
	if isAdded {
		return k.with
	}
	return k.plain
}

func encodeKeys(keys []string) string { return string(mustEncode(strings.Join(keys, ","))) }

// headAnnotations are the annotations that begin every encoded manifest: they differ by
// Work, or are the same for so many sources that none keeps a copy. They come first, so
// that their place is known and need not be searched for: a user's text may contain
// anything. The one that differs by cluster is the first.
var headAnnotations = []string{
	workNamespaceAnnotation, workNameAnnotation, templateUIDAnnotation,
	managedAnnotationsAnnotation, managedLabelsAnnotation,
}

// headLabels are the labels that come first in every encoded manifest.
var headLabels = []string{managedLabel, retainReplicasLabel}

// encode returns what follows headAnnotations, and what follows headLabels.
func encode(obj map[string]any) (afterAnnotations, afterLabels []byte, err error) {
	rest := maps.Clone(obj)
	metadata, _ := rest["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	annotations := withoutKeys(fieldsOf(metadata["annotations"]), headAnnotations...)
	labels := withoutKeys(fieldsOf(metadata["labels"]), headLabels...)
	delete(metadata, "annotations")
	delete(metadata, "labels")
	delete(rest, "metadata")
	if afterAnnotations, err = continued(annotations); err != nil {
		return nil, nil, err
	}
	for _, part := range []map[string]any{labels, metadata, rest} {
		fields, err := continued(part)
		if err != nil {
			return nil, nil, err
		}
		afterLabels = append(afterLabels, fields...)
	}
	return afterAnnotations, slices.Clip(afterLabels), nil
}

// continued encodes the rest of an object whose beginning, with some fields, is already
// written.
func continued(fields map[string]any) ([]byte, error) {
	encoded, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	if len(fields) == 0 {
		return []byte("}"), nil
	}
	encoded[0] = ','
	return encoded, nil
}
