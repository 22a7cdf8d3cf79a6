package render

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// metadata is the metadata of a Work; a nil value removes a label or annotation.
type metadata struct {
	Name            string             `json:"name,omitempty"`
	ResourceVersion string             `json:"resourceVersion,omitempty"`
	Finalizers      []string           `json:"finalizers,omitempty"`
	Labels          map[string]*string `json:"labels,omitempty"`
	Annotations     map[string]*string `json:"annotations,omitempty"`
	// OwnerReferences replace the existing ones.
	OwnerReferences []metav1.OwnerReference `json:"ownerReferences,omitempty"`
}

func (t *Template) metadata() metadata {
	return metadata{
		Name:       t.name,
		Finalizers: []string{ExecutionFinalizer},
		Labels:     map[string]*string{ManagedByLabel: new(ManagedByValue), SourceIDLabel: new(t.id.ID())},
		Annotations: map[string]*string{
			SourceAnnotation:        new(t.id.String()),
			SourceUIDAnnotation:     new(string(t.uid)),
			SourceCreatedAnnotation: new(t.created.UTC().Format(time.RFC3339)),
		},
	}
}

// Works are the JSON of the Works of one source for all clusters. They differ only in their
// namespace, which occurs in two places, so everything else is encoded once.
type Works struct{ beforeMetadataNamespace, beforeManifestNamespace, rest []byte }

// Works encodes what the Works of all clusters have in common.
func (t *Template) Works() Works {
	m := t.metadata()
	for key, value := range t.notes.At(1).annotations() {
		if value != nil {
			m.Annotations[key] = value
		}
	}
	return t.assemble(m, "")
}

// Work returns the JSON of the whole Work for a cluster. Use Works for several clusters.
func (t *Template) Work(cluster string) []byte { return t.Works().For(cluster) }

// For returns the JSON of the whole Work for a cluster.
func (w Works) For(cluster string) []byte {
	namespace := mustEncode(ExecutionNamespace(cluster))
	return slices.Concat(w.beforeMetadataNamespace, namespace, w.beforeManifestNamespace, namespace, w.rest)
}

// Patch returns a JSON merge patch that makes a Work what its creation would make it, and
// leaves alone what is not ours. It applies only to resourceVersion, so that a write
// from a stale cache is rejected. finalizers are those that the Work has: a merge patch
// replaces lists. generation is the one that the Work gets. adopt takes the Work from the binding
// that a policy has left behind.
func (t *Template) Patch(cluster, resourceVersion string, finalizers []string, generation int64, adopt bool) []byte {
	m := t.patched(resourceVersion, finalizers)
	maps.Copy(m.Annotations, t.notes.At(generation).annotations())
	if adopt {
		m.unbind()
	}
	return t.assemble(m, "null").For(cluster)
}

// patched is the metadata of a Patch.
func (t *Template) patched(resourceVersion string, finalizers []string) metadata {
	m := t.metadata()
	m.ResourceVersion, m.Finalizers = resourceVersion, withExecution(finalizers)
	m.Labels[HeldKey], m.Annotations[HeldKey] = nil, nil
	return m
}

// withExecution returns finalizers with Karmada's.
func withExecution(finalizers []string) []string {
	if slices.Contains(finalizers, ExecutionFinalizer) {
		return finalizers
	}
	return append(slices.Clone(finalizers), ExecutionFinalizer)
}

// assemble writes the JSON by hand around the encoded manifest, because
// json.Marshal would scan it again. unset is the value of an option that is off;
// if it is empty, the option is omitted.
func (t *Template) assemble(m metadata, unset string) Works {
	const beginning = `{"apiVersion":"` + workGroup + `/` + workVersion + `","kind":"` + workKind + `","metadata":{"namespace":`
	between := append([]byte{','}, mustEncode(m)[len("{"):]...)
	between = append(between, `,"spec":{`...)
	between = appendOption(between, "suspendDispatching", t.options.Suspend, unset)
	between = appendOption(between, "preserveResourcesOnDeletion", t.options.PreserveOnDeletion, unset)
	between = append(between, `"workload":{"manifests":[{"metadata":{"annotations":{"`+headAnnotations[0]+`":`...)

	rest := make([]byte, 0, t.Size()+frameSize)
	annotationKeys, labelKeys := t.annotationKeys.list(t.options.Overwrite), t.labelKeys.list(t.options.RetainReplicas)
	for i, value := range []string{string(mustEncode(t.name)), string(mustEncode(string(t.uid))), annotationKeys, labelKeys} {
		rest = appendField(rest, headAnnotations[1+i], value)
	}
	if t.options.Overwrite {
		rest = appendField(rest, conflictResolutionAnnotation, `"`+conflictOverwrite+`"`)
	}
	rest = append(append(rest, t.annotations...), `,"labels":{"`+managedLabel+`":"`+managedLabelValue+`"`...)
	if t.options.RetainReplicas {
		rest = appendField(rest, retainReplicasLabel, `"`+retainReplicas+`"`)
	}
	rest = append(append(rest, t.rest...), `]}}}`...)
	return Works{[]byte(beginning), between, rest}
}

// appendField adds a field, with an encoded value, to an object that has others.
func appendField(b []byte, key, value string) []byte {
	return append(append(append(append(b, `,"`...), key...), `":`...), value...)
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

// frameSize is the room for the annotations that begin a manifest.
const frameSize = 640

// mustEncode is for strings, and for maps and slices of strings: those always
// encode.
func mustEncode(v any) []byte {
	encoded, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return encoded
}
