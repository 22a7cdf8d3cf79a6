package apiserver

import (
	"slices"
	"strconv"
	"testing"
	"testing/synctest"

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
