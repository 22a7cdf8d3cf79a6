package apiserver

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// The resource of Namespaces.
const namespacesResource = "namespaces"

func namespaceRef(name string) Ref {
	return Ref{Resource: schema.GroupResource{Resource: namespacesResource}, Name: name}
}

func isNamespaces(c *collection) bool {
	return c.Group == "" && c.Resource.Resource == namespacesResource
}

// checkNamespace is the admission plugin NamespaceLifecycle. A store without Namespaces has
// them all.
func (s *Store) checkNamespace(c *collection, m *metav1.ObjectMeta, op string) error {
	if !c.Namespaced || s.collection(namespaceRef("").Resource) == nil {
		return nil
	}
	namespace := s.Get(namespaceRef(m.Namespace))
	if namespace == nil {
		return apierrors.NewNotFound(namespaceRef("").Resource, m.Namespace)
	}
	if phase, _, _ := unstructured.NestedString(namespace, "status", "phase"); op != opCreate || phase != string(corev1.NamespaceTerminating) {
		return nil
	}
	err := apierrors.NewForbidden(c.GroupResource(), cmp.Or(m.Name, m.GenerateName, "Unknown"), fmt.Errorf("unable to create new content in namespace %s because it is being terminated", m.Namespace))
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
		Type: corev1.NamespaceTerminatingCause, Message: fmt.Sprintf("namespace %s is being terminated", m.Namespace), Field: "metadata.namespace",
	})
	return err
}

// completeNamespace is what the strategy and the defaults of Namespaces do.
func completeNamespace(o, old Object, w write) {
	m := metadata(o)
	set := map[string]any{corev1.LabelMetadataName: m["name"]}
	if labels, ok := m["labels"].(map[string]any); ok {
		labels[corev1.LabelMetadataName] = m["name"]
	} else {
		m["labels"] = set
	}
	spec, _ := o["spec"].(map[string]any)
	switch {
	case old == nil:
		finalizers := namespaceFinalizers(o)
		if !slices.Contains(finalizers, any(string(corev1.FinalizerKubernetes))) {
			finalizers = append(finalizers, string(corev1.FinalizerKubernetes))
		}
		o["spec"] = map[string]any{"finalizers": finalizers}
		o["status"] = map[string]any{"phase": string(corev1.NamespaceActive)}
	case w.subresource == "finalize":
		o["status"] = old["status"]
	case spec != nil:
		o["spec"] = old["spec"]
	}
}

func namespaceFinalizers(o Object) []any {
	spec, _ := o["spec"].(map[string]any)
	finalizers, _ := spec["finalizers"].([]any)
	return finalizers
}

// immortal refuses to delete the Namespaces that NamespaceLifecycle protects.
func immortal(c *collection, old *revision) error {
	if isNamespaces(c) && slices.Contains([]string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic}, old.name) {
		return apierrors.NewForbidden(c.GroupResource(), old.name, errors.New("this namespace may not be deleted"))
	}
	return nil
}

func setPhase(o Object, phase corev1.NamespacePhase) {
	before, _ := o["status"].(map[string]any)
	status := map[string]any{}
	maps.Copy(status, before)
	status["phase"] = string(phase)
	o["status"] = status
}

// control starts the controllers of the store after what concerns them.
func (s *Store) control(e Event) {
	m := metadata(e.Object)
	namespace := text(m, "namespace")
	if e.Resource == namespaceRef("").Resource {
		namespace = text(m, "name")
	} else if e.Type != watch.Deleted {
		namespace = ""
	}
	if namespace != "" && terminating(s.Get(namespaceRef(namespace))) {
		s.later(func() { s.empty(namespace) })
	}
	if m["deletionTimestamp"] != nil && e.Type != watch.Deleted {
		s.later(func() { s.collect(e.Ref()) })
	}
	definition := Ref{Resource: definitionsResource(), Name: e.Resource.String()}
	switch {
	case e.Resource == definition.Resource:
		s.later(func() { s.define(e.Ref()) })
	case e.Type == watch.Deleted && terminating(s.Get(definition)):
		s.later(func() { s.define(definition) })
	}
}

func (s *Store) later(f func()) {
	if s.ControllerDelay >= 0 {
		time.AfterFunc(s.ControllerDelay, f)
	}
}

func terminating(o Object) bool { return metadata(o)["deletionTimestamp"] != nil }

// empty is the namespace controller: it deletes what a terminating Namespace contains, then
// takes its finalizer away.
func (s *Store) empty(namespace string) {
	ref := namespaceRef(namespace)
	if !terminating(s.Get(ref)) {
		return
	}
	left, denied := false, false
	for _, gr := range s.namespaced() {
		for _, o := range s.List(gr, namespace) {
			r := Ref{gr, namespace, text(metadata(o), "name")}
			if !terminating(o) {
				denied = s.Delete(r, metav1.DeleteOptions{}) != nil || denied
			}
			left = left || s.get(r) != nil
		}
	}
	switch {
	case denied:
		time.AfterFunc(5*time.Second, func() { s.empty(namespace) })
	case !left:
		_, _ = s.Modify(ref, "finalize", func(o Object) { // gone is as good
			unstructured.RemoveNestedField(o, "spec", "finalizers")
		})
	}
}

func (s *Store) namespaced() []schema.GroupResource {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []schema.GroupResource
	for gr, c := range s.collections {
		if c.Namespaced {
			all = append(all, gr)
		}
	}
	slices.SortFunc(all, func(a, b schema.GroupResource) int {
		return slices.Compare([]string{a.Group, a.Resource}, []string{b.Group, b.Resource})
	})
	return all
}

// collect is the garbage collector, as far as an object waits for it. Dependents stay.
func (s *Store) collect(r Ref) {
	if finalizers, _, _ := unstructured.NestedStringSlice(s.Get(r), "metadata", "finalizers"); !slices.ContainsFunc(finalizers, isCollectors) {
		return
	}
	_, _ = s.Modify(r, "", func(o Object) { // gone is as good
		u := unstructured.Unstructured{Object: o}
		u.SetFinalizers(slices.DeleteFunc(u.GetFinalizers(), isCollectors))
	})
}
