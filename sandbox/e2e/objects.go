package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/util/retry"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

// These are the resources that tests use most.
var (
	ConfigMaps  = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	Namespaces  = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	Autoscalers = schema.GroupVersionResource{Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"}
	Deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	Secrets     = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	Works       = schema.GroupVersionResource{Group: "work.karmada.io", Version: "v1alpha1", Resource: "works"}
	Clusters    = schema.GroupVersionResource{Group: "cluster.karmada.io", Version: "v1alpha1", Resource: "clusters"}
	Definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	Policies    = schema.GroupVersionResource{Group: "policy.karmada.io", Version: "v1alpha1", Resource: "propagationpolicies"}
)

// ConfigurationHead begins a configuration.
const ConfigurationHead = "apiVersion: mirror.karmada.target/v1alpha1\nkind: MirrorConfiguration\n"

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
	return Asking(Plain(namespace, name, value), clusters)
}

// Plain makes a ConfigMap that does not ask for clusters.
func Plain(namespace, name, value string) *unstructured.Unstructured {
	return Object("v1", "ConfigMap", namespace, name, map[string]any{"data": map[string]any{"key": value}})
}

// Deployment makes a Deployment that does not ask for clusters.
func Deployment(namespace, name, image string, replicas int64) *unstructured.Unstructured {
	labels := map[string]any{"app": name}
	return Object("apps/v1", "Deployment", namespace, name, map[string]any{"spec": map[string]any{
		"replicas": replicas, "selector": map[string]any{"matchLabels": labels},
		"template": map[string]any{
			"metadata": map[string]any{"labels": labels},
			"spec":     map[string]any{"containers": []any{map[string]any{"name": "web", "image": image}}},
		},
	}})
}

// Asking lets an object ask for clusters.
func Asking(u *unstructured.Unstructured, clusters string) *unstructured.Unstructured {
	SetAnnotation(render.ClustersAnnotation, clusters)(u)
	return u
}

// NewNamespace makes a Namespace that the shared daemon watches; Karmada creates it in the members.
func NewNamespace(t *testing.T) string {
	t.Helper()
	return MakeNamespace(t, NewName(t, "shared"), nil, nil)
}

// NewName returns a name for something that belongs to a test.
func NewName(t *testing.T, prefix string) string {
	test, _, _ := strings.Cut(strings.TrimPrefix(t.Name(), "Test"), "/")
	return strings.ToLower(prefix+"-"+test[:min(len(test), 20)]) + "-" + utilrand.String(4)
}

// MakeNamespace makes a Namespace with a given name until the test ends.
func MakeNamespace(t *testing.T, name string, labels, annotations map[string]string) string {
	t.Helper()
	u := Object("v1", "Namespace", "", name, nil)
	u.SetLabels(labels)
	u.SetAnnotations(annotations)
	Create(t, Namespaces, u)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("Karmada's last lines about %s: %s", name, Env.Component(karmada.ControllerManager).LastLines(name))
		}
		_ = Env.Admin.Resource(Namespaces).Delete(context.Background(), name, metav1.DeleteOptions{})
	})
	return name
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
	if err := Env.Admin.Resource(gvr).Namespace(namespace).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
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

// DropAnnotations returns a change that removes all annotations.
func DropAnnotations(u *unstructured.Unstructured) { u.SetAnnotations(nil) }

// SetField returns a change that sets a field.
func SetField(value any, path ...string) func(*unstructured.Unstructured) {
	return func(u *unstructured.Unstructured) {
		if err := unstructured.SetNestedField(u.Object, value, path...); err != nil {
			panic(err) // the test's own object
		}
	}
}

// WorkOf is the namespace and name of an object's Work on a cluster.
func WorkOf(id render.Identity, cluster string) types.NamespacedName {
	return types.NamespacedName{Namespace: render.ExecutionNamespace(cluster), Name: id.WorkName()}
}

// ConfigMapWork is that of a ConfigMap.
func ConfigMapWork(namespace, name, cluster string) types.NamespacedName {
	return WorkOf(render.Identity{Kind: "ConfigMap", Namespace: namespace, Name: name}, cluster)
}

// GetWork reads a Work.
func GetWork(ctx context.Context, name types.NamespacedName) (*unstructured.Unstructured, error) {
	return Env.Admin.Resource(Works).Namespace(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
}

// MustWork waits for a Work.
func MustWork(t *testing.T, name types.NamespacedName) (found *unstructured.Unstructured) {
	t.Helper()
	Eventually(t, "Work "+name.String(), func(ctx context.Context) (err error) {
		found, err = GetWork(ctx, name)
		return err
	})
	return found
}

// HasFinalizer returns an error unless an object has the daemon's finalizer.
func HasFinalizer(gvr schema.GroupVersionResource, namespace, name string) func(context.Context) error {
	return func(ctx context.Context) error {
		u, err := Env.Admin.Resource(gvr).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
		if err == nil && !slices.Contains(u.GetFinalizers(), render.WorksFinalizer) {
			err = fmt.Errorf("it has only %q", u.GetFinalizers())
		}
		return err
	}
}
