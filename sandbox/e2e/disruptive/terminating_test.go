package disruptive

import (
	"context"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/render"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// TestExecutionNamespaceTerminating deletes the namespace of a cluster's Works while the
// daemon writes to it.
func TestExecutionNamespaceTerminating(t *testing.T) {
	StartDaemon(t)
	Quiesce(t)
	ns := NewNamespace(t)
	CreatePages(t, ns, Both, 5)
	Create(t, ConfigMaps, ConfigMap(ns, "other", Push2, "one"))
	WantSources(t, ns)
	f := NewFault(t, "The execution namespace of a cluster terminating, then recreated", ns)
	execution := render.ExecutionNamespace(Push2)
	keeper := Object("v1", "ConfigMap", execution, "keeper", nil)
	keeper.SetFinalizers([]string{"test.example/keep"})
	Create(t, ConfigMaps, keeper)
	t.Cleanup(func() { // the namespace must not stay terminating forever
		_, _ = Env.Admin.Resource(ConfigMaps).Namespace(execution).Patch(context.Background(), "keeper", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	})
	Remove(t, Namespaces, "", execution)
	Eventually(t, "the Works in it to be deleted", func(ctx context.Context) error {
		_, err := GetWork(ctx, ConfigMapWork(ns, "other", Push2))
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it still exists: %v", err)
	})
	f.Allow(render.Identity{Kind: "ConfigMap", Namespace: ns, Name: "page-0"}, Pull)
	Change(t, ConfigMaps, ns, "page-0", SetAnnotation(render.ClustersAnnotation, Push+","+Push2))
	Create(t, ConfigMaps, ConfigMap(ns, "late", Both+","+Push2, "one"))
	WantInMembers(t, ns, "late", "one", Push, Pull)
	f.WantNoDeletes()
	Change(t, ConfigMaps, execution, "keeper", func(u *unstructured.Unstructured) { u.SetFinalizers(nil) })
	Eventually(t, "the namespace to be deleted", func(ctx context.Context) error {
		_, err := Env.Admin.Resource(Namespaces).Get(ctx, execution, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it still exists: %v", err)
	})
	// Karmada recreates it when it next syncs the cluster.
	Change(t, Clusters, "", Push2, SetAnnotation("looked", "at"))
	Eventually(t, "the namespace to exist", func(ctx context.Context) error {
		_, err := Env.Admin.Resource(Namespaces).Get(ctx, execution, metav1.GetOptions{})
		return err
	})
	f.Heal()
	f.Converge(2 * Patience)
}
