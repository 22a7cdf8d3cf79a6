package state

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Definition is what the cache keeps of a CustomResourceDefinition or an
// APIService.
type Definition struct {
	Meta
	// Created is when it was created.
	Created time.Time
	// replicasPaths are the paths of the scale subresource by version; nil for most.
	replicasPaths map[string]string
}

// The resources whose objects show whether a resource is served.
var (
	DefinitionsResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	APIServicesResource = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
)

// DefinitionKind is that of CustomResourceDefinitions.
var DefinitionKind = DefinitionsResource.GroupVersion().WithKind("CustomResourceDefinition").GroupKind()

// NewDefinition reduces a CustomResourceDefinition or an APIService to what the cache keeps
// of it.
func NewDefinition(u *unstructured.Unstructured) *Definition {
	return &Definition{keepMeta(u), u.GetCreationTimestamp().Time, replicasPathsOf(u)}
}

// ReplicasPath returns the specReplicasPath of the scale subresource that a
// CustomResourceDefinition has in a version; empty if it has none, or does not serve that
// version.
func (d *Definition) ReplicasPath(version string) string { return d.replicasPaths[version] }

// Scales reports whether objects have replicas in some version.
func (d *Definition) Scales() bool { return len(d.replicasPaths) > 0 }

// ScalesLike reports whether objects of both have their replicas in the same place.
func (d *Definition) ScalesLike(other *Definition) bool {
	return maps.Equal(d.replicasPaths, other.replicasPaths)
}

// replicasPathsOf reads in place: the schemas beside the paths are too large to copy.
func replicasPathsOf(u *unstructured.Unstructured) (paths map[string]string) {
	versions, _, _ := unstructured.NestedFieldNoCopy(u.Object, "spec", "versions")
	list, _ := versions.([]any)
	for _, item := range list {
		version, _ := item.(map[string]any)
		name, _ := version["name"].(string)
		served, _ := version["served"].(bool)
		path, _, _ := unstructured.NestedString(version, "subresources", "scale", "specReplicasPath")
		if !served || path == "" {
			continue
		}
		if paths == nil {
			paths = map[string]string{}
		}
		paths[name] = shared(path)
	}
	return paths
}
