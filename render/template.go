package render

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	workv1alpha1 "github.com/karmada-io/api/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/api/work/v1alpha2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
)

// ErrCannotRender is returned for a source of which no valid Work can be made.
var ErrCannotRender = errors.New("no Work can be made of it")

// Template is what a source becomes, but for the cluster: the manifest is
// encoded once, and only the namespace is put in per cluster.
type Template struct {
	id      Identity
	uid     types.UID
	options Options
	digest  Digest
	// head and tail are the encoded manifest around the namespace.
	head, tail []byte
}

// NewTemplate strips obj, which it takes ownership of, and marks it as Karmada
// wants it. Errors wrap ErrCannotRender.
func NewTemplate(obj *unstructured.Unstructured, id Identity, uid types.UID, o Options) (*Template, error) {
	name := id.WorkName()
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return nil, fmt.Errorf("%w: the name of its Work, %.60q, would be invalid: %s", ErrCannotRender, name, strings.Join(problems, "; "))
	}
	if id.Kind == "" || obj.GetAPIVersion() == "" || obj.GetName() == "" {
		return nil, fmt.Errorf("%w: it lacks apiVersion, kind or metadata.name", ErrCannotRender)
	}
	Strip(obj.Object)
	mark(obj, name, uid, o)
	t := &Template{id: id, uid: uid, options: o}
	if err := t.encode(obj); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCannotRender, err)
	}
	return t, nil
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

func joinKeys(m map[string]string) string {
	return strings.Join(slices.Sorted(maps.Keys(m)), ",")
}

// encode finds the place of the namespace by a marker that the manifest cannot
// contain: the hash of the manifest itself.
func (t *Template) encode(obj *unstructured.Unstructured) error {
	plain, err := json.Marshal(obj.Object)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(plain)
	marker := hex.EncodeToString(sum[:])
	err = unstructured.SetNestedField(obj.Object, marker, "metadata", "annotations", workv1alpha2.WorkNamespaceAnnotation)
	if err != nil {
		return err
	}
	if t.digest, err = digest(obj.Object, marker, t.options.Suspend, t.options.PreserveOnDeletion); err != nil {
		return err
	}
	encoded, err := json.Marshal(obj.Object)
	if err != nil {
		return err
	}
	head, tail, found := bytes.Cut(encoded, []byte(marker))
	if !found {
		return errors.New("the manifest's annotations cannot be set")
	}
	t.head, t.tail = head, tail
	return nil
}

// Source names the source that the template was made from.
func (t *Template) Source() Identity { return t.id }

// UID is the UID of the source that the template was made from.
func (t *Template) UID() types.UID { return t.uid }

// Digest is the digest of every Work made from the template.
func (t *Template) Digest() Digest { return t.digest }

type metadata struct {
	Namespace       string            `json:"namespace,omitempty"`
	Name            string            `json:"name,omitempty"`
	ResourceVersion string            `json:"resourceVersion,omitempty"`
	Finalizers      []string          `json:"finalizers"`
	Labels          map[string]string `json:"labels"`
	Annotations     map[string]string `json:"annotations"`
}

func (t *Template) metadata() metadata {
	return metadata{
		Finalizers:  []string{ExecutionFinalizer},
		Labels:      map[string]string{ManagedByLabel: ManagedByValue, SourceIDLabel: t.id.ID()},
		Annotations: map[string]string{SourceAnnotation: t.id.String(), SourceUIDAnnotation: string(t.uid)},
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
// Work has: a merge patch replaces lists.
func (t *Template) Patch(cluster, resourceVersion string, finalizers []string) []byte {
	m := t.metadata()
	m.ResourceVersion = resourceVersion
	if !slices.Contains(finalizers, ExecutionFinalizer) {
		finalizers = append(slices.Clone(finalizers), ExecutionFinalizer)
	}
	m.Finalizers = finalizers
	return t.assemble(m, cluster, "null")
}

// assemble writes the JSON by hand around the encoded manifest, which
// json.Marshal would scan again. unset is the value of an option that is off;
// empty leaves the option out.
func (t *Template) assemble(m metadata, cluster, unset string) []byte {
	meta, err := json.Marshal(m)
	if err != nil {
		panic(err) // strings, and maps and slices of strings, always encode
	}
	namespace := ExecutionNamespace(cluster)
	b := make([]byte, 0, len(t.head)+len(t.tail)+len(meta)+len(namespace)+256)
	b = append(b, `{"apiVersion":"`+workv1alpha1.GroupVersion.String()+`","kind":"`+workv1alpha1.ResourceKindWork+`","metadata":`...)
	b = append(b, meta...)
	b = append(b, `,"spec":{`...)
	b = appendOption(b, "suspendDispatching", t.options.Suspend, unset)
	b = appendOption(b, "preserveResourcesOnDeletion", t.options.PreserveOnDeletion, unset)
	b = append(b, `"workload":{"manifests":[`...)
	b = append(append(append(b, t.head...), namespace...), t.tail...)
	return append(b, `]}}}`...)
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
