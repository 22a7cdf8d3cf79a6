package apiserver

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// cleanupFinalizer keeps a definition until its objects are deleted
// (CustomResourceCleanupFinalizer of apiextensions).
const cleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io"

func definitionsResource() schema.GroupResource {
	return schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}
}

// definition is what is read of a CustomResourceDefinition.
type definition struct {
	Spec struct {
		Group, Scope string
		Names        struct {
			Plural, Singular, Kind, ListKind string
			ShortNames, Categories           []string
		}
		Versions []definedVersion
	}
}

type definedVersion struct {
	Name            string
	Served, Storage bool
	Schema          struct{ OpenAPIV3Schema map[string]any }
	Subresources    struct {
		Status *struct{}
		Scale  *struct{ SpecReplicasPath, StatusReplicasPath, LabelSelectorPath string }
	}
}

// define serves what a definition says, or no longer.
func (s *Store) define(r Ref) {
	o := s.Get(r)
	plural, group, _ := strings.Cut(r.Name, ".")
	defined := schema.GroupResource{Group: group, Resource: plural}
	switch {
	case o == nil:
		s.Withdraw(defined)
		return
	case terminating(o):
		s.undefine(r, defined)
		return
	}
	resource, err := Defined(o)
	if err != nil {
		return // the API server would have refused it
	}
	if before, ok := s.Served(defined); !ok || !reflect.DeepEqual(before.definition, resource.definition) {
		s.Serve(resource)
	}
	_, _ = s.Modify(r, "status", resource.establish) // gone is as good
}

// undefine deletes the objects, then the definition.
func (s *Store) undefine(r Ref, defined schema.GroupResource) {
	for _, o := range s.List(defined, "") {
		m := metadata(o)
		_ = s.Delete(Ref{defined, text(m, "namespace"), text(m, "name")}, metav1.DeleteOptions{}) // what is left is counted
	}
	if len(s.List(defined, "")) > 0 {
		return // the deletion of the last one continues
	}
	s.Withdraw(defined)
	_, _ = s.Modify(r, "", func(o Object) { // gone is as good
		u := unstructured.Unstructured{Object: o}
		u.SetFinalizers(slices.DeleteFunc(u.GetFinalizers(), func(f string) bool { return f == cleanupFinalizer }))
	})
}

// Defined returns the resource that a CustomResourceDefinition defines.
func Defined(o Object) (Resource, error) {
	d := definition{}
	if err := json.Unmarshal(encode(o), &d); err != nil {
		return Resource{}, fmt.Errorf("cannot read a definition: %w", err)
	}
	names := d.Spec.Names
	r := Resource{
		Group: d.Spec.Group, Resource: names.Plural, Kind: names.Kind, ListKind: names.ListKind, Singular: names.Singular,
		ShortNames: names.ShortNames, Categories: names.Categories, Namespaced: d.Spec.Scope == "Namespaced", Generation: true, Custom: true,
		definition: o["spec"],
	}
	if r.ListKind == "" {
		r.ListKind = r.Kind + "List"
	}
	if r.Singular == "" {
		r.Singular = strings.ToLower(r.Kind)
	}
	for _, v := range d.Spec.Versions {
		if v.Served {
			r.Versions = append(r.Versions, v.Name)
		}
		if !v.Storage {
			continue
		}
		r.Storage, r.Status = v.Name, v.Subresources.Status != nil
		if scale := v.Subresources.Scale; scale != nil {
			r.Scale = true
			r.SpecReplicas, r.StatusReplicas = strings.TrimPrefix(scale.SpecReplicasPath, "."), strings.TrimPrefix(scale.StatusReplicasPath, ".")
			r.LabelSelector = strings.TrimPrefix(scale.LabelSelectorPath, ".")
		}
		r.Prune = func(o Object) { prune(o, v.Schema.OpenAPIV3Schema, true) }
	}
	slices.SortFunc(r.Versions, newestFirst)
	return r, nil
}

// establish writes the status of a definition that is served.
func (r Resource) establish(o Object) {
	status, _ := o["status"].(map[string]any)
	if status == nil {
		status = map[string]any{}
		o["status"] = status
	}
	spec, _ := o["spec"].(map[string]any)
	status["acceptedNames"] = spec["names"]
	stored, _ := status["storedVersions"].([]any)
	if !slices.Contains(stored, any(r.Storage)) {
		stored = append(stored, r.Storage)
	}
	status["storedVersions"] = stored
	if status["conditions"] != nil {
		return
	}
	now := time.Now().UTC().Format(time.RFC3339)
	status["conditions"] = []any{
		map[string]any{"type": "NamesAccepted", "status": "True", "reason": "NoConflicts", "message": "no conflicts found", "lastTransitionTime": now},
		map[string]any{"type": "Established", "status": "True", "reason": "InitialNamesAccepted", "message": "the initial names have been accepted", "lastTransitionTime": now},
	}
}

// prune removes the fields that a structural schema does not name.
func prune(value any, s map[string]any, root bool) {
	switch value := value.(type) {
	case []any:
		items, _ := s["items"].(map[string]any)
		for _, item := range value {
			prune(item, items, false)
		}
	case map[string]any:
		properties, _ := s["properties"].(map[string]any)
		additional, _ := s["additionalProperties"].(map[string]any)
		embedded := root || s["x-kubernetes-embedded-resource"] == true
		for key, field := range value {
			known, ok := properties[key].(map[string]any)
			switch {
			case embedded && (key == "apiVersion" || key == "kind" || key == "metadata"):
			case ok:
				prune(field, known, false)
			case additional != nil:
				prune(field, additional, false)
			case s["x-kubernetes-preserve-unknown-fields"] == true || s["additionalProperties"] == true:
			default:
				delete(value, key)
			}
		}
	}
}
