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
	// Created is when it was made.
	Created time.Time
}

// What tells that a resource is served, or not served any more.
var (
	DefinitionsResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	APIServicesResource = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
)

// NewDefinition reduces a CustomResourceDefinition or an APIService to what is kept of it.
func NewDefinition(u *unstructured.Unstructured) *Definition {
	return &Definition{keepMeta(u), u.GetCreationTimestamp().Time}
}
