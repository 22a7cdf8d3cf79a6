package state

import (
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
}

// The resources whose objects show whether a resource is served.
var (
	DefinitionsResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	APIServicesResource = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
)

// NewDefinition reduces a CustomResourceDefinition or an APIService to what the cache keeps
// of it.
func NewDefinition(u *unstructured.Unstructured) *Definition {
	return &Definition{keepMeta(u), u.GetCreationTimestamp().Time}
}
