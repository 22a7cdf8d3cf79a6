package shared

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	clusterv1alpha1 "github.com/karmada-io/api/cluster/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/karmada-target/karmada-mirror/render"
	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

// TestCluster follows a cluster that joins, is away for a while, and leaves.
func TestCluster(t *testing.T) {
	t.Parallel()
	const guest = "guest"
	ns := NewNamespace(t)
	for _, name := range []string{"named", "edited", "deleted", "held"} {
		page := ConfigMap(ns, name, Push+","+guest, "one")
		if name == "held" {
			SetAnnotation(render.DeletionAnnotation, "foreground")(page)
		}
		Create(t, ConfigMaps, page)
		WantInMembers(t, ns, name, "one", Push)
	}
	WantEvent(t, ns, "named", "UnknownCluster", guest)
	Must(t, Env.Join(t.Context(), karmada.Member{Name: guest, Mode: clusterv1alpha1.Push}))
	for _, name := range []string{"named", "edited", "deleted", "held"} {
		WantInMembers(t, ns, name, "one", guest)
	}
	t.Run("Away", func(t *testing.T) { returns(t, ns, guest) })

	audit := AuditFromNow(t)
	Must(t, Env.Unjoin(t.Context(), guest))
	Eventually(t, "Karmada to delete the Works of the cluster", func(ctx context.Context) error {
		list, err := Env.Admin.Resource(Works).Namespace(render.ExecutionNamespace(guest)).List(ctx, metav1.ListOptions{})
		if err == nil && len(list.Items) > 0 {
			err = fmt.Errorf("there are %d", len(list.Items))
		}
		return err
	})
	Eventually(t, "the series of the cluster to be removed", func(ctx context.Context) error {
		all, err := Env.Mirror.Series(ctx)
		for series := range all {
			if strings.Contains(series, fmt.Sprintf("member_cluster=%q", guest)) {
				err = errors.New(series)
			}
		}
		return err
	})
	for _, r := range audit.Requests(t) {
		if r.ObjectRef.Namespace == render.ExecutionNamespace(guest) && r.Verb == "delete" {
			t.Errorf("the daemon deletes %s of a cluster that leaves", r.ObjectRef.Name)
		}
	}
}

// returns has a member away for a while, and changes the sources mirrored there meanwhile. An
// object that is to be deleted in the foreground waits for it.
func returns(t *testing.T, ns, guest string) {
	server := Env.Component(karmada.MemberAPIServer(guest))
	Must(t, server.Stop())
	isBack := false
	t.Cleanup(func() {
		if !isBack {
			_ = server.Restart(context.Background())
		}
	})
	Eventually(t, "the cluster not to be ready", isReady(guest, metav1.ConditionFalse))
	Change(t, ConfigMaps, ns, "edited", SetField("two", "data", "key"))
	Remove(t, ConfigMaps, ns, "deleted")
	Must(t, Env.Admin.Resource(ConfigMaps).Namespace(ns).Delete(t.Context(), "held", metav1.DeleteOptions{}))
	WantGone(t, ConfigMaps, ns, "held", Push)
	WantEvent(t, ns, "held", "DeletionPending", "its Works remain for "+guest+" (the cluster is not ready)")
	if output, err := KarmadaMirror(t, "wait", "configmap/edited", "-n", ns, "--for=applied", "--timeout=10s"); err == nil || !strings.Contains(output, "not ready") {
		t.Errorf("waiting for what a member lacks that is away: %v: %s", err, output)
	}
	Must(t, server.Restart(t.Context()))
	isBack = true
	Eventually(t, "the cluster to be ready", isReady(guest, metav1.ConditionTrue))
	WantInMembers(t, ns, "edited", "two", guest)
	WantGone(t, ConfigMaps, ns, "deleted", guest)
	WantGone(t, ConfigMaps, ns, "held", guest)
	WantNone(t, ConfigMaps, ns, "held")
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
