package render

import (
	"maps"
	"slices"
)

// Adjust returns a JSON merge patch of a Work, at exactly this resource version, that makes it what
// Patch would make it, except for its content and what it says of that: the Work of a source in waves
// whose turn it is not yet.
func (t *Template) Adjust(resourceVersion string, finalizers []string) []byte {
	m := t.patched(resourceVersion, finalizers)
	m.Annotations = map[string]*string{HeldKey: nil}
	return mustEncode(map[string]any{"metadata": m, "spec": map[string]any{
		"suspendDispatching": isOn(t.options.Suspend), "preserveResourcesOnDeletion": isOn(t.options.PreserveOnDeletion),
	}})
}

// isOn is the value of an option; nil is off, and removes it.
func isOn(option bool) *bool {
	if option {
		return &option
	}
	return nil
}

// Resemble returns the JSON of a Work for a cluster that is like one that the same source has on
// another, whole and decoded. With a resource version it is a merge patch of the Work that is there,
// which has these finalizers; without, it is to be created.
func Resemble(like map[string]any, cluster, resourceVersion string, finalizers []string) ([]byte, error) {
	manifest, err := ManifestOf(like)
	if err != nil {
		return nil, err
	}
	work := fieldsOf(like["metadata"])
	annotations := maps.Clone(fieldsOf(work["annotations"]))
	maps.DeleteFunc(annotations, func(key string, _ any) bool { return !slices.Contains(ownAnnotations, key) })
	metadata := map[string]any{
		"namespace": ExecutionNamespace(cluster), "name": work["name"], "annotations": annotations,
		"labels":     map[string]any{ManagedByLabel: ManagedByValue, SourceIDLabel: fieldsOf(work["labels"])[SourceIDLabel]},
		"finalizers": withExecution(finalizers),
	}
	if resourceVersion != "" {
		metadata["resourceVersion"] = resourceVersion
		for _, key := range ownAnnotations {
			if _, has := annotations[key]; !has {
				annotations[key] = nil
			}
		}
	}
	manifest = cloneMaps(manifest, manifestMetadata)
	fieldsOf(fieldsOf(manifest["metadata"])["annotations"])[workNamespaceAnnotation] = ExecutionNamespace(cluster)
	spec := maps.Clone(fieldsOf(like["spec"]))
	spec["workload"] = map[string]any{"manifests": []any{manifest}}
	for _, option := range []string{"suspendDispatching", "preserveResourcesOnDeletion"} {
		if _, has := spec[option]; !has && resourceVersion != "" {
			spec[option] = nil
		}
	}
	return mustEncode(map[string]any{"apiVersion": workGroup + "/" + workVersion, "kind": workKind, "metadata": metadata, "spec": spec}), nil
}

// manifestMetadata is how deep the annotations of a manifest are.
const manifestMetadata = 3

// ownAnnotations are those that say what a Work was made from.
var ownAnnotations = []string{
	SourceAnnotation, SourceUIDAnnotation, SourceCreatedAnnotation,
	OverriddenByAnnotation, ShareAnnotation, RenderedAnnotation, WrittenAnnotation,
}
