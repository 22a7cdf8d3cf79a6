package e2e

import (
	"context"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	"github.com/karmada-target/karmada-mirror/render"
)

// These are the resources that tests use most.
var (
	ConfigMaps  = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	Namespaces  = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	Events      = schema.GroupVersionResource{Version: "v1", Resource: "events"}
	Autoscalers = schema.GroupVersionResource{Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"}
	Deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	Roles       = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"}
	Secrets     = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	Works       = schema.GroupVersionResource{Group: "work.karmada.io", Version: "v1alpha1", Resource: "works"}
	Clusters    = schema.GroupVersionResource{Group: "cluster.karmada.io", Version: "v1alpha1", Resource: "clusters"}
	Definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

// Object makes an object.
func Object(apiVersion, kind, namespace, name string, fields map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	for field, value := range fields {
		u.Object[field] = value
	}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

// ConfigMap makes a ConfigMap that asks for clusters.
func ConfigMap(namespace, name, clusters, value string) *unstructured.Unstructured {
	u := Object("v1", "ConfigMap", namespace, name, map[string]any{"data": map[string]any{"key": value}})
	u.SetAnnotations(map[string]string{render.ClustersAnnotation: clusters})
	return u
}

// Plain makes a ConfigMap that does not ask for clusters.
func Plain(namespace, name, value string) *unstructured.Unstructured {
	u := ConfigMap(namespace, name, "", value)
	u.SetAnnotations(nil)
	return u
}

// Create creates an object.
func Create(t *testing.T, gvr schema.GroupVersionResource, u *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	created, err := Env.Admin.Resource(gvr).Namespace(u.GetNamespace()).Create(t.Context(), u, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("cannot create %s %s: %v", u.GetKind(), u.GetName(), err)
	}
	return created
}

// Change reads an object, changes it and writes it back.
func Change(t *testing.T, gvr schema.GroupVersionResource, namespace, name string, mutate func(*unstructured.Unstructured)) {
	t.Helper()
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		u, err := Env.Admin.Resource(gvr).Namespace(namespace).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		mutate(u)
		_, err = Env.Admin.Resource(gvr).Namespace(namespace).Update(t.Context(), u, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		t.Fatalf("cannot change %s %s/%s: %v", gvr.Resource, namespace, name, err)
	}
}

// Remove deletes an object.
func Remove(t *testing.T, gvr schema.GroupVersionResource, namespace, name string) {
	t.Helper()
	if err := Env.Admin.Resource(gvr).Namespace(namespace).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatalf("cannot delete %s %s/%s: %v", gvr.Resource, namespace, name, err)
	}
}

// SetAnnotation returns a change that sets an annotation.
func SetAnnotation(key, value string) func(*unstructured.Unstructured) {
	return func(u *unstructured.Unstructured) {
		annotations := u.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[key] = value
		u.SetAnnotations(annotations)
	}
}

// SetField returns a change that sets a field.
func SetField(value any, path ...string) func(*unstructured.Unstructured) {
	return func(u *unstructured.Unstructured) {
		if err := unstructured.SetNestedField(u.Object, value, path...); err != nil {
			panic(err) // the test's own object
		}
	}
}

// ConfigMapWork is the namespace and name of a ConfigMap's Work on a cluster.
func ConfigMapWork(namespace, name, cluster string) types.NamespacedName {
	id := render.Identity{Kind: "ConfigMap", Namespace: namespace, Name: name}
	return types.NamespacedName{Namespace: render.ExecutionNamespace(cluster), Name: id.WorkName()}
}

// GetWork reads a Work.
func GetWork(ctx context.Context, name types.NamespacedName) (*unstructured.Unstructured, error) {
	return Env.Admin.Resource(Works).Namespace(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
}

// MustWork waits for a Work.
func MustWork(t *testing.T, name types.NamespacedName) *unstructured.Unstructured {
	t.Helper()
	var found *unstructured.Unstructured
	Eventually(t, "Work "+name.String(), func(ctx context.Context) (err error) {
		found, err = GetWork(ctx, name)
		return err
	})
	return found
}

// WantNoWork fails the test if there is a Work with that name.
func WantNoWork(t *testing.T, name types.NamespacedName) {
	t.Helper()
	if work, err := GetWork(t.Context(), name); !apierrors.IsNotFound(err) {
		t.Errorf("there is a Work %s: %v, %v", name, work, err)
	}
}

// CreatePages creates ConfigMaps page-0, page-1 and so on.
func CreatePages(t *testing.T, namespace, clusters string, n int) (ids []render.Identity) {
	t.Helper()
	return createPages(t, namespace, clusters, n, "")
}

// CreateHeldPages is like CreatePages, but the pages are to be deleted in the foreground.
func CreateHeldPages(t *testing.T, namespace, clusters string, n int) (ids []render.Identity) {
	t.Helper()
	return createPages(t, namespace, clusters, n, "foreground")
}

func createPages(t *testing.T, namespace, clusters string, n int, deletion string) (ids []render.Identity) {
	t.Helper()
	for i := range n {
		name := fmt.Sprintf("page-%d", i)
		page := ConfigMap(namespace, name, clusters, "one")
		if deletion != "" {
			SetAnnotation(render.DeletionAnnotation, deletion)(page)
		}
		Create(t, ConfigMaps, page)
		ids = append(ids, render.Identity{Kind: "ConfigMap", Namespace: namespace, Name: name})
	}
	return ids
}

// RemoveAll deletes the objects in a namespace that a field selector matches, several at a time: the
// API server itself deletes a collection one by one, which takes minutes for a thousand on a busy machine.
func RemoveAll(t *testing.T, gvr schema.GroupVersionResource, namespace, selector string) {
	t.Helper()
	client := Env.Admin.Resource(gvr).Namespace(namespace)
	list, err := client.List(t.Context(), metav1.ListOptions{FieldSelector: selector})
	Must(t, err)
	InParallel(t, len(list.Items), func(ctx context.Context, i int) error {
		err := client.Delete(ctx, list.Items[i].GetName(), metav1.DeleteOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
}

// AllPages excludes the ConfigMap that Kubernetes creates in each namespace, and the
// daemons' own.
const AllPages = "metadata.name!=kube-root-ca.crt,metadata.name!=" + Account
