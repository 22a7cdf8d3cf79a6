package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unique"

	workv1alpha1 "github.com/karmada-io/api/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/api/work/v1alpha2"
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
	Strip(obj.Object)
	mark(obj, id.WorkName(), uid, o)
	var err error
	if t.digest, err = digest(obj.Object, "", o.Suspend, o.PreserveOnDeletion); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCannotRender, err)
	}
	annotations := obj.GetAnnotations()
	t.managedAnnotations = sharedEncoding(annotations[workv1alpha2.ManagedAnnotation])
	t.managedLabels = sharedEncoding(annotations[workv1alpha2.ManagedLabels])
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
func mark(obj *unstructured.Unstructured, workName string, uid types.UID, o Options) {
	labels := obj.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[managedLabel] = managedLabelValue
	annotations := obj.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[workv1alpha2.WorkNameAnnotation] = workName
	annotations[workv1alpha2.WorkNamespaceAnnotation] = ""
	annotations[workv1alpha2.ResourceTemplateUIDAnnotation] = string(uid)
	annotations[workv1alpha2.ManagedAnnotation] = ""
	annotations[workv1alpha2.ManagedLabels] = joinKeys(labels)
	if o.Overwrite {
		annotations[workv1alpha2.ResourceConflictResolutionAnnotation] = workv1alpha2.ResourceConflictResolutionOverwrite
	}
	annotations[workv1alpha2.ManagedAnnotation] = joinKeys(annotations)
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
// say anything.
var headAnnotations = []string{
	workv1alpha2.WorkNamespaceAnnotation, workv1alpha2.WorkNameAnnotation, workv1alpha2.ResourceTemplateUIDAnnotation,
	workv1alpha2.ManagedAnnotation, workv1alpha2.ManagedLabels,
}

// appendHead begins a manifest. values are those of headAnnotations, encoded.
func appendHead(b []byte, values ...string) []byte {
	b = append(b, `{"metadata":{"annotations":`...)
	separator := byte('{')
	for i, key := range headAnnotations {
		b = append(append(b, separator, '"'), key...)
		b = append(append(b, `":`...), values[i]...)
		separator = ','
	}
	return b
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

// metadata is that of a Work; a nil value of a label or annotation removes it.
type metadata struct {
	Namespace       string             `json:"namespace,omitempty"`
	Name            string             `json:"name,omitempty"`
	ResourceVersion string             `json:"resourceVersion,omitempty"`
	Finalizers      []string           `json:"finalizers,omitempty"`
	Labels          map[string]*string `json:"labels,omitempty"`
	Annotations     map[string]*string `json:"annotations,omitempty"`
}

func (t *Template) metadata() metadata {
	return metadata{
		Finalizers: []string{ExecutionFinalizer},
		Labels:     map[string]*string{ManagedByLabel: new(ManagedByValue), SourceIDLabel: new(t.id.ID())},
		Annotations: map[string]*string{
			SourceAnnotation:        new(t.id.String()),
			SourceUIDAnnotation:     new(string(t.uid)),
			SourceCreatedAnnotation: new(t.created.UTC().Format(time.RFC3339)),
		},
	}
}

// Work is the JSON of the whole Work for a cluster.
func (t *Template) Work(cluster string) []byte {
	m := t.metadata()
	m.Namespace, m.Name = ExecutionNamespace(cluster), t.id.WorkName()
	return t.assemble(m, cluster, "")
}

// Patch is a JSON merge patch that makes a Work what Work would create, and
// leaves alone what is not ours. It applies only to resourceVersion, so that a
// stale cache is refused instead of overwriting. finalizers are those that the
// Work has: a merge patch replaces lists. adopt takes the Work from the binding
// that a policy has left behind.
func (t *Template) Patch(cluster, resourceVersion string, finalizers []string, adopt bool) []byte {
	m := t.metadata()
	m.ResourceVersion = resourceVersion
	if !slices.Contains(finalizers, ExecutionFinalizer) {
		finalizers = append(slices.Clone(finalizers), ExecutionFinalizer)
	}
	m.Finalizers = finalizers
	m.Labels[HeldKey], m.Annotations[HeldKey] = nil, nil
	if adopt {
		m.unbind()
	}
	return t.assemble(m, cluster, "null")
}

// assemble writes the JSON by hand around the encoded manifest, which
// json.Marshal would scan again. unset is the value of an option that is off;
// empty leaves the option out.
func (t *Template) assemble(m metadata, cluster, unset string) []byte {
	meta := mustEncode(m)
	namespace, name := string(mustEncode(ExecutionNamespace(cluster))), string(mustEncode(t.id.WorkName()))
	b := make([]byte, 0, t.Size()+len(meta)+len(namespace)+len(name)+frameSize)
	b = append(b, `{"apiVersion":"`+workv1alpha1.GroupVersion.String()+`","kind":"`+workv1alpha1.ResourceKindWork+`","metadata":`...)
	b = append(b, meta...)
	b = append(b, `,"spec":{`...)
	b = appendOption(b, "suspendDispatching", t.options.Suspend, unset)
	b = appendOption(b, "preserveResourcesOnDeletion", t.options.PreserveOnDeletion, unset)
	b = append(b, `"workload":{"manifests":[`...)
	b = appendHead(b, namespace, name, string(mustEncode(string(t.uid))), t.managedAnnotations, t.managedLabels)
	b = append(b, t.manifest...)
	return append(b, `]}}}`...)
}

// frameSize is room for what assemble writes itself.
const frameSize = 576

// mustEncode is for strings, and for maps and slices of strings: those always
// encode.
func mustEncode(v any) []byte {
	encoded, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return encoded
}

func appendOption(b []byte, name string, on bool, unset string) []byte {
	if on {
		unset = "true"
	}
	if unset == "" {
		return b
	}
	return append(b, `"`+name+`":`+unset+`,`...)
}
