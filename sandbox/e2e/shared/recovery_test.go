package shared

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

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/render"
	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

// TestClusterReturns has a member away for a while, and changes the sources mirrored there
// meanwhile. An additional Work without an owner shows what Karmada does by itself.
func TestClusterReturns(t *testing.T) {
	const (
		guest = returner
		// Karmada retries after 5 ms, and then after twice as long each time: 20 s and
		// 41 s after the first attempt.
		away = 23 * time.Second
		// If the member takes longer than this to return, Karmada retries first.
		soon = 15 * time.Second
	)
	ns := Isolate(t)
	goesAway.Lock()
	defer goesAway.Unlock()
	StartDaemon(t)
	ctx := t.Context()
	member := Env.Member(guest).Resource(ConfigMaps).Namespace(ns)
	ids := CreatePages(t, ns, guest, 10)
	control := createControl(t, ns, guest)
	WantSources(t, ns)
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
	Within(t, time.Minute, "the control object in the member", says("control", "one"))

	f := NewFault(t, fmt.Sprintf("A member away, and edits %s before it returns", away), ns)
	server := Env.Component(karmada.MemberAPIServer(guest))
	Must(t, server.Stop())
	Within(t, time.Minute, "the cluster not to be ready", isReady(guest, metav1.ConditionFalse))
	for _, id := range ids[:8] {
		Change(t, ConfigMaps, ns, id.Name, SetField("away", "data", "key"))
	}
	f.Allow(ids[9], guest)
	Remove(t, ConfigMaps, ns, ids[9].Name)
	Create(t, ConfigMaps, ConfigMap(ns, "new", guest, "away"))
	patch := []byte(`[{"op":"replace","path":"/spec/workload/manifests/0/data/key","value":"away"}]`)
	if _, err := Env.Admin.Resource(Works).Namespace(control.Namespace).Patch(ctx, control.Name, types.JSONPatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	Pass(t, away)
	begun := time.Now()
	Must(t, server.Restart(ctx))
	Within(t, time.Minute, "the cluster to be ready", isReady(guest, metav1.ConditionTrue))
	ready := time.Now()
	f.Heal()
	Eventually(t, "the member to be up to date", func(ctx context.Context) error {
		for _, id := range ids[:8] {
			if err := says(id.Name, "away")(ctx); err != nil {
				return err
			}
		}
		if _, err := member.Get(ctx, ids[9].Name, metav1.GetOptions{}); err == nil {
			return errors.New("the deleted object still exists")
		}
		return says("new", "away")(ctx)
	})
	served := time.Since(ready)
	f.Converge(Patience)
	Within(t, 5*time.Minute, "the control object to be updated", says("control", "away"))
	unaided := time.Since(ready)
	f.Note = fmt.Sprintf("the member is up to date %s after it is ready again; a Work that is not woken, after %s", served.Round(100*time.Millisecond), unaided.Round(time.Second))
	woken := map[string]bool{}
	for _, r := range f.Audit.Requests(t) {
		if r.Verb == "patch" && r.ObjectRef.Resource == "works" && r.Succeeded() && r.RequestReceivedTimestamp.After(begun) {
			woken[r.ObjectRef.Name] = true
		}
	}
	for _, id := range ids[:8] {
		if name := ConfigMapWork(ns, id.Name, guest).Name; !woken[name] && ready.Sub(begun) < soon {
			t.Errorf("the Work %s was not woken: Karmada retried it by itself", name)
		}
	}
	f.Remark(f.Note)
	t.Log(f.Note)
}

// createControl makes a Work that is not karmada-mirror's.
func createControl(t *testing.T, namespace, cluster string) types.NamespacedName {
	t.Helper()
	u := ConfigMap(namespace, "control", cluster, "one")
	u.SetUID("4f6c0d3e-0f1c-4a53-9d52-7a4f0d7b0f11")
	work := &unstructured.Unstructured{}
	if err := work.UnmarshalJSON(judge.NewSource(u, render.Wishes{}).Template.Work(cluster)); err != nil {
		t.Fatal(err)
	}
	work.SetLabels(nil)
	work.SetAnnotations(nil)
	Create(t, Works, work)
	return types.NamespacedName{Namespace: work.GetNamespace(), Name: work.GetName()}
}

func isReady(cluster string, want metav1.ConditionStatus) func(context.Context) error {
	return func(ctx context.Context) error {
		u, err := Env.Admin.Resource(Clusters).Get(ctx, cluster, metav1.GetOptions{})
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
