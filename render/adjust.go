package render

import (
	"maps"
	"slices"
)

// Adjust returns a JSON merge patch of a Work, at exactly this resource version, that makes it what
// Patch would make it, except for its content and what it says of that: the Work of a source in waves
// whose turn it is not yet.
// renoted are annotations that it gets all the same, and isSuspended says that it stays suspended. adopt is that of Patch: what
// the Work notes is not of the binding's content.
func (t *Template) Adjust(resourceVersion string, finalizers []string, renoted map[string]*string, isSuspended, adopt bool) []byte {
	m := t.patched(resourceVersion, finalizers)
	if adopt {
		m.Annotations[ShareAnnotation], m.Annotations[WrittenAnnotation] = nil, nil
		m.unbind()
	} else {
		m.Annotations = map[string]*string{HeldKey: nil}
		maps.Copy(m.Annotations, renoted)
	}
	return mustEncode(map[string]any{"metadata": m, "spec": map[string]any{
		"suspendDispatching": isOn(t.options.Suspend || isSuspended), "preserveResourcesOnDeletion": isOn(t.options.PreserveOnDeletion),
	}})
}

// isOn is the value of an option; nil is off, and removes it.
func isOn(option bool) *bool {
	if option {
		return &option
	}
	return nil
}

// Amend returns a JSON merge patch of a Work, at exactly this resource version, that makes its
// object stay in the member when the Work is deleted, and changes nothing else. renoted are
// annotations that it gets all the same.
func Amend(resourceVersion string, renoted map[string]*string) []byte {
	return mustEncode(map[string]any{
		"metadata": metadata{ResourceVersion: resourceVersion, Annotations: renoted},
		"spec":     map[string]any{"preserveResourcesOnDeletion": true},
	})
}

// Wake returns a JSON merge patch of a Work, at exactly this resource version, that
// increments its generation without changing its meaning: it sets spec.suspendDispatching
// to its default, or removes it if it is given. It is for Works that are not suspended. renoted are
// annotations that it gets all the same.
func Wake(resourceVersion string, given bool, renoted map[string]*string) []byte {
	value := any(false)
	if given {
		value = nil
	}
	return mustEncode(map[string]any{
		"metadata": metadata{ResourceVersion: resourceVersion, Annotations: renoted},
		"spec":     map[string]any{"suspendDispatching": value},
	})
}

// Likeness is a Work to be written with the content of another one.
type Likeness struct {
	Cluster, Name string
	// ResourceVersion and Finalizers are those of the Work that is there; empty to create it.
	ResourceVersion string
	Finalizers      []string
	// Generation is the one that it gets.
	Generation int64
	// Options are its own: of these, suspension and preservation count.
	Options Options
}

// Resemble returns the JSON of a Work with the content of one that the same source has on another
// cluster, whole and decoded. It is a merge patch if the Work is there.
func Resemble(like map[string]any, as Likeness) ([]byte, error) {
	manifest, err := ManifestOf(like)
	if err != nil {
		return nil, err
	}
	work, exists := fieldsOf(like["metadata"]), as.ResourceVersion != ""
	annotations := maps.Clone(fieldsOf(work["annotations"]))
	maps.DeleteFunc(annotations, func(key string, _ any) bool { return !slices.Contains(ownAnnotations, key) })
	if note, _ := annotations[WrittenAnnotation].(string); note != "" {
		annotations[WrittenAnnotation] = NotesOf(map[string]string{WrittenAnnotation: note}).At(as.Generation).written()
	}
	metadata := map[string]any{
		"namespace": ExecutionNamespace(as.Cluster), "name": as.Name, "annotations": annotations,
		"labels":     map[string]any{ManagedByLabel: ManagedByValue, SourceIDLabel: fieldsOf(work["labels"])[SourceIDLabel]},
		"finalizers": withExecution(as.Finalizers),
	}
	manifest = cloneMaps(manifest, manifestMetadata)
	marks := fieldsOf(fieldsOf(manifest["metadata"])["annotations"])
	if marks == nil || annotations == nil {
		return nil, ErrNotOurForm
	}
	marks[workNamespaceAnnotation], marks[workNameAnnotation] = ExecutionNamespace(as.Cluster), as.Name
	spec := map[string]any{"workload": map[string]any{"manifests": []any{manifest}}}
	for option, isOn := range map[string]bool{"suspendDispatching": as.Options.Suspend, "preserveResourcesOnDeletion": as.Options.PreserveOnDeletion} {
		switch {
		case isOn:
			spec[option] = true
		case exists:
			spec[option] = nil
		}
	}
	if exists {
		metadata["resourceVersion"] = as.ResourceVersion
		for _, key := range ownAnnotations {
			if _, has := annotations[key]; !has {
				annotations[key] = nil
			}
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
