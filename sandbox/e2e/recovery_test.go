package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	clusterv1alpha1 "github.com/karmada-io/api/cluster/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/karmada-target/karmada-mirror/mirror"
	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

// testClusterReturns has a member away for a while, and changes what is mirrored there
// meanwhile. Beside it stands a Work of nobody, to see what Karmada does by itself.
func testClusterReturns(t *testing.T) {
	const (
		guest = "returner"
		// Karmada tries again after 5 ms, and then twice as long each time: 82 s and 164 s
		// after the first.
		away = 100 * time.Second
	)
	ns := newNamespace(t)
	startDaemon(t, slice(t, ns)...)
	ctx := t.Context()
	if err := join(ctx, guest); err != nil {
		t.Fatal(err)
	}
	leaveAfterFailure(t, guest)
	client, err := dynamic.NewForConfig(env.MemberConfig(guest))
	if err != nil {
		t.Fatal(err)
	}
	member := client.Resource(configMaps).Namespace(ns)
	ids := createPages(t, ns, guest, 10)
	control := createControl(t, ns, guest)
	wantSources(t, ns)
	says := func(name, value string) func(context.Context) error {
		return func(ctx context.Context) error {
			u, err := member.Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if got, _, _ := unstructured.NestedString(u.Object, "data", "key"); got != value {
				return fmt.Errorf("%s says %q", name, got)
			}
			return nil
		}
	}
	within(t, time.Minute, "the control to be there", says("control", "one"))

	f := newFault(t, "A member away for 100 s, and edits meanwhile", ns)
	f.only(ids, guest)
	server := env.Component(karmada.MemberAPIServer(guest))
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	within(t, time.Minute, "the cluster not to be ready", isReady(guest, metav1.ConditionFalse))
	for _, id := range ids[:8] {
		change(t, configMaps, ns, id.Name, setField("away", "data", "key"))
	}
	remove(t, configMaps, ns, ids[9].Name)
	f.allow(ids[9], guest)
	create(t, configMaps, configMap(ns, "new", guest, "away"))
	patch := []byte(`[{"op":"replace","path":"/spec/workload/manifests/0/data/key","value":"away"}]`)
	if _, err := env.admin.Resource(works).Namespace(control.Namespace).Patch(ctx, control.Name, types.JSONPatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	pass(t, away)
	if err := server.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	within(t, time.Minute, "the cluster to be ready", isReady(guest, metav1.ConditionTrue))
	ready := time.Now()
	f.heal()
	within(t, 10*time.Second, "the member to be served", func(ctx context.Context) error {
		for _, id := range ids[:8] {
			if err := says(id.Name, "away")(ctx); err != nil {
				return err
			}
		}
		if _, err := member.Get(ctx, ids[9].Name, metav1.GetOptions{}); err == nil {
			return errors.New("what was deleted is there")
		}
		return says("new", "away")(ctx)
	})
	served := time.Since(ready)
	f.converge(patience)
	within(t, 5*time.Minute, "the control to be served", says("control", "away"))
	unaided := time.Since(ready)
	f.note = fmt.Sprintf("the member is served %s after it is ready again; a Work that nobody wakes, after %s", served.Round(100*time.Millisecond), unaided.Round(time.Second))
	if unaided < served {
		t.Errorf("the Works were served %s after the cluster was ready, and one that nobody wakes after %s", served, unaided)
	}
	env.rows.note(f.name, f.note)
	t.Log(f.note)
	if err := unjoin(ctx, guest); err != nil {
		t.Fatal(err)
	}
}

// createControl makes a Work that is not karmada-mirror's.
func createControl(t *testing.T, namespace, cluster string) types.NamespacedName {
	t.Helper()
	u := configMap(namespace, "control", cluster, "one")
	u.SetUID("4f6c0d3e-0f1c-4a53-9d52-7a4f0d7b0f11")
	work := &unstructured.Unstructured{}
	if err := work.UnmarshalJSON(mirror.NewSource(u, render.Wishes{}).Template.Work(cluster)); err != nil {
		t.Fatal(err)
	}
	work.SetLabels(nil)
	work.SetAnnotations(nil)
	create(t, works, work)
	return types.NamespacedName{Namespace: work.GetNamespace(), Name: work.GetName()}
}

func isReady(cluster string, want metav1.ConditionStatus) func(context.Context) error {
	return func(ctx context.Context) error {
		u, err := env.admin.Resource(clusters).Get(ctx, cluster, metav1.GetOptions{})
		if err != nil {
			return err
		}
		var c clusterv1alpha1.Cluster
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &c); err != nil {
			return err
		}
		if !meta.IsStatusConditionPresentAndEqual(c.Status.Conditions, clusterv1alpha1.ClusterConditionReady, want) {
			return fmt.Errorf("its conditions are %v", c.Status.Conditions)
		}
		return nil
	}
}
