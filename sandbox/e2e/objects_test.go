package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/util/retry"

	"github.com/karmada-target/karmada-mirror/mirror"
	"github.com/karmada-target/karmada-mirror/render"
)

// patience is how long an end state may take on a busy machine.
const patience = time.Minute

var (
	configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	events     = schema.GroupVersionResource{Version: "v1", Resource: "events"}
	works      = mirror.WorksResource
	clusters   = schema.GroupVersionResource{Group: "cluster.karmada.io", Version: "v1alpha1", Resource: "clusters"}
	crds       = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

func eventually(t *testing.T, what string, condition func(context.Context) error) {
	t.Helper()
	within(t, patience, what, condition)
}

func within(t *testing.T, limit time.Duration, what string, condition func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if err := env.Wait(ctx, what, condition); err != nil {
		t.Fatal(err)
	}
}

// newNamespace makes a namespace for one test; Karmada makes it in the members.
func newNamespace(t *testing.T) string {
	t.Helper()
	name := strings.ToLower(strings.ReplaceAll(t.Name(), "/", "-")) + "-" + utilrand.String(4)
	create(t, namespaces, object("v1", "Namespace", "", name, nil))
	t.Cleanup(func() {
		_ = env.admin.Resource(namespaces).Delete(context.Background(), name, metav1.DeleteOptions{})
	})
	return name
}

// sweep deletes the ConfigMaps of a namespace and then their Works, as far as it can,
// when no daemon looks after them: every other would have them in its cache.
func sweep(namespace string) {
	err := env.admin.Resource(configMaps).Namespace(namespace).DeleteCollection(context.Background(), metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: allPages})
	if err != nil {
		return // the API server may be away; the daemon of a later test sweeps up
	}
	list, err := env.admin.Resource(works).List(context.Background(), metav1.ListOptions{LabelSelector: render.ManagedByLabel})
	if err != nil {
		return
	}
	var inFlight errgroup.Group
	inFlight.SetLimit(8)
	for _, w := range list.Items {
		if sourceNamespace(&w) != namespace {
			continue
		}
		inFlight.Go(func() error {
			return env.admin.Resource(works).Namespace(w.GetNamespace()).Delete(context.Background(), w.GetName(), metav1.DeleteOptions{})
		})
	}
	_ = inFlight.Wait() // what is left is for the daemon of a later test
}

// quiesce waits until the daemon has taken away the ConfigMaps of earlier tests:
// the audit log then tells of this test alone. Works of resources that have left
// the configuration stay, as they should.
func quiesce(t *testing.T) {
	t.Helper()
	eventually(t, "the Works of earlier tests to go", func(ctx context.Context) error {
		list, err := env.admin.Resource(works).List(ctx, metav1.ListOptions{LabelSelector: render.ManagedByLabel})
		if err != nil {
			return err
		}
		for _, w := range list.Items {
			if source := w.GetAnnotations()[render.SourceAnnotation]; strings.HasPrefix(source, "ConfigMap/") {
				return fmt.Errorf("there is the Work of %s", source)
			}
		}
		return nil
	})
}

func object(apiVersion, kind, namespace, name string, fields map[string]any) *unstructured.Unstructured {
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

// configMap makes a ConfigMap that asks for clusters.
func configMap(namespace, name, clusters, value string) *unstructured.Unstructured {
	u := object("v1", "ConfigMap", namespace, name, map[string]any{"data": map[string]any{"key": value}})
	u.SetAnnotations(map[string]string{render.ClustersAnnotation: clusters})
	return u
}

func create(t *testing.T, gvr schema.GroupVersionResource, u *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	created, err := env.admin.Resource(gvr).Namespace(u.GetNamespace()).Create(t.Context(), u, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("cannot create %s %s: %v", u.GetKind(), u.GetName(), err)
	}
	return created
}

func change(t *testing.T, gvr schema.GroupVersionResource, namespace, name string, mutate func(*unstructured.Unstructured)) {
	t.Helper()
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		u, err := env.admin.Resource(gvr).Namespace(namespace).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		mutate(u)
		_, err = env.admin.Resource(gvr).Namespace(namespace).Update(t.Context(), u, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		t.Fatalf("cannot change %s %s/%s: %v", gvr.Resource, namespace, name, err)
	}
}

func remove(t *testing.T, gvr schema.GroupVersionResource, namespace, name string) {
	t.Helper()
	if err := env.admin.Resource(gvr).Namespace(namespace).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatalf("cannot delete %s %s/%s: %v", gvr.Resource, namespace, name, err)
	}
}

func setAnnotation(key, value string) func(*unstructured.Unstructured) {
	return func(u *unstructured.Unstructured) {
		annotations := u.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[key] = value
		u.SetAnnotations(annotations)
	}
}

func setField(value any, path ...string) func(*unstructured.Unstructured) {
	return func(u *unstructured.Unstructured) {
		if err := unstructured.SetNestedField(u.Object, value, path...); err != nil {
			panic(err) // the test's own object
		}
	}
}

// wantInMembers waits until each member has the ConfigMap with a value.
func wantInMembers(t *testing.T, namespace, name, value string, members ...string) {
	t.Helper()
	for _, member := range members {
		eventually(t, fmt.Sprintf("ConfigMap %s with %q in %s", name, value, member), func(ctx context.Context) error {
			u, err := env.members[member].Resource(configMaps).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if got, _, _ := unstructured.NestedString(u.Object, "data", "key"); got != value {
				return fmt.Errorf("its value is %q", got)
			}
			return nil
		})
	}
}

func wantGone(t *testing.T, gvr schema.GroupVersionResource, namespace, name string, members ...string) {
	t.Helper()
	for _, member := range members {
		eventually(t, fmt.Sprintf("%s %s to leave %s", gvr.Resource, name, member), func(ctx context.Context) error {
			_, err := env.members[member].Resource(gvr).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
			if err == nil {
				return errors.New("it is still there")
			}
			if apierrors.IsNotFound(err) {
				return nil
			}
			return err
		})
	}
}

func configMapWork(namespace, name, cluster string) types.NamespacedName {
	id := render.Identity{Kind: "ConfigMap", Namespace: namespace, Name: name}
	return types.NamespacedName{Namespace: render.ExecutionNamespace(cluster), Name: id.WorkName()}
}

func getWork(ctx context.Context, name types.NamespacedName) (*unstructured.Unstructured, error) {
	return env.admin.Resource(works).Namespace(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
}

func mustWork(t *testing.T, name types.NamespacedName) *unstructured.Unstructured {
	t.Helper()
	var found *unstructured.Unstructured
	eventually(t, "Work "+name.String(), func(ctx context.Context) (err error) {
		found, err = getWork(ctx, name)
		return err
	})
	return found
}

// wantEvent waits for a Warning of the daemon about an object, with these words in
// its message.
func wantEvent(t *testing.T, namespace, name, reason string, words ...string) {
	t.Helper()
	eventually(t, fmt.Sprintf("Event %s on %s/%s", reason, namespace, name), func(ctx context.Context) error {
		list, err := env.admin.Resource(events).Namespace(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		var seen []string
		for _, e := range list.Items {
			about, _, _ := unstructured.NestedString(e.Object, "involvedObject", "name")
			component, _, _ := unstructured.NestedString(e.Object, "source", "component")
			got, _, _ := unstructured.NestedString(e.Object, "reason")
			if about != name || component != "karmada-mirror" {
				continue
			}
			message, _, _ := unstructured.NestedString(e.Object, "message")
			lacks := func(word string) bool { return !strings.Contains(message, word) }
			if got == reason && !slices.ContainsFunc(words, lacks) {
				return nil
			}
			seen = append(seen, got+": "+message)
		}
		return fmt.Errorf("there are only %q", seen)
	})
}
