package apiserver

import (
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

func newWorld(t *testing.T) (*Store, *Server, *rest.Config) {
	t.Helper()
	s := NewStore(append(Builtin(), KarmadaResources()...)...)
	if _, err := s.Create(schema.GroupResource{Resource: "namespaces"}, Object{"metadata": map[string]any{"name": "a"}}); err != nil {
		t.Fatal(err)
	}
	srv := s.NewServer()
	return s, srv, &rest.Config{Host: "http://simulated", Transport: srv, QPS: -1}
}

func configMap(name, value string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: Object{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "namespace": "a"}, "data": map[string]any{"k": value},
	}}
}

// TestDefinition serves, changes and withdraws a custom resource, and empties a Namespace.
func TestDefinition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, config := newWorld(t)
		crd := func(served bool) Object {
			return Object{
				"metadata": map[string]any{"name": "things.example.org"},
				"spec": map[string]any{
					"group": "example.org", "scope": "Namespaced", "names": map[string]any{"plural": "things", "kind": "Thing"},
					"versions": []any{map[string]any{"name": "v1", "served": served, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{
						"properties": map[string]any{"spec": map[string]any{"properties": map[string]any{"size": map[string]any{}}}}}}}},
				},
			}
		}
		if _, err := s.Create(definitionsResource(), crd(true)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		things := schema.GroupVersionResource{Group: "example.org", Version: "v1", Resource: "things"}
		in := dynamic.NewForConfigOrDie(config).Resource(things).Namespace("a")
		thing := &unstructured.Unstructured{Object: Object{"apiVersion": "example.org/v1", "kind": "Thing",
			"metadata": map[string]any{"name": "x", "finalizers": []any{"example.org/f"}}, "spec": map[string]any{"size": int64(1), "colour": "red"}}}
		made, err := in.Create(t.Context(), thing, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, found, _ := unstructured.NestedString(made.Object, "spec", "colour"); found {
			t.Error("a field that the schema lacks was kept")
		}
		w, err := in.Watch(t.Context(), metav1.ListOptions{ResourceVersion: made.GetResourceVersion()})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Update(definitionsResource(), crd(false), ""); err != nil {
			t.Fatal(err)
		}
		if _, open := <-w.ResultChan(); open {
			t.Error("the watch went on")
		}
		if _, err := in.Get(t.Context(), "x", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Error(err)
		}
		if err := s.Delete(namespaceRef("a"), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Create(configMaps.GroupResource(), configMap("late", "1").Object); !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		if s.Get(namespaceRef("a")) == nil {
			t.Error("the Namespace did not wait for the finalizer of an object in it")
		}
		if _, err := s.Modify(Ref{things.GroupResource(), "a", "x"}, "", func(o Object) { delete(o["metadata"].(map[string]any), "finalizers") }); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if s.Get(namespaceRef("a")) != nil {
			t.Error("the Namespace did not end")
		}
		if err := s.Delete(Ref{Resource: definitionsResource(), Name: "things.example.org"}, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if _, ok := s.Served(things.GroupResource()); ok || s.Get(Ref{Resource: definitionsResource(), Name: "things.example.org"}) != nil {
			t.Error("the definition did not go")
		}
	})
}

// TestHistory forgets history, restores a backup, and refuses who may not.
func TestHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, srv, config := newWorld(t)
		in := dynamic.NewForConfigOrDie(config).Resource(configMaps).Namespace("a")
		for _, name := range []string{"one", "two"} {
			if _, err := s.Create(configMaps.GroupResource(), configMap(name, "1").Object); err != nil {
				t.Fatal(err)
			}
		}
		page, err := in.List(t.Context(), metav1.ListOptions{Limit: 1})
		if err != nil || len(page.Items) != 1 || page.GetContinue() == "" {
			t.Fatal(page, err)
		}
		backup := s.Snapshot()
		if err := s.Delete(Ref{configMaps.GroupResource(), "a", "two"}, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		rest, err := in.List(t.Context(), metav1.ListOptions{Limit: 1, Continue: page.GetContinue()})
		if err != nil || len(rest.Items) != 1 || rest.Items[0].GetName() != "two" {
			t.Error("the second page is not of the same state:", rest, err)
		}
		s.Compact()
		if _, err := in.List(t.Context(), metav1.ListOptions{Limit: 1, Continue: page.GetContinue()}); !apierrors.IsResourceExpired(err) {
			t.Error(err)
		}
		w, err := in.Watch(t.Context(), metav1.ListOptions{ResourceVersion: page.GetResourceVersion()})
		if err != nil {
			t.Fatal(err)
		}
		if e := <-w.ResultChan(); !apierrors.IsResourceExpired(apierrors.FromObject(e.Object)) {
			t.Error(e)
		}
		w, err = in.Watch(t.Context(), metav1.ListOptions{ResourceVersion: strconv.FormatInt(s.Revision(), 10)})
		if err != nil {
			t.Fatal(err)
		}
		s.Restore(backup)
		if e, open := <-w.ResultChan(); open {
			t.Error("a watch outlived the restoration:", e)
		}
		if s.Get(Ref{configMaps.GroupResource(), "a", "two"}) == nil {
			t.Error("what was deleted after the backup is not there")
		}

		var told []int
		srv.Audit(func(e AuditEvent) { told = append(told, e.Code) })
		srv.Authorize(func(verb string, _ Ref, _ string) bool { return verb != "delete" })
		if err := in.Delete(t.Context(), "one", metav1.DeleteOptions{}); !apierrors.IsForbidden(err) {
			t.Error(err)
		}
		if !slices.Equal(told, []int{0, 403}) {
			t.Error("audited", told)
		}
	})
}
