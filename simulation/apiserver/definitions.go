package apiserver

import "k8s.io/apimachinery/pkg/runtime/schema"

func definitionsResource() schema.GroupResource {
	return schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}
}

func (s *Store) define(r Ref) {}
