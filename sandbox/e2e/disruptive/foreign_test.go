package disruptive

import (
	"context"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/sandbox/karmada"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// TestHandover has a policy take over a mirrored source on one of its two clusters, and
// release it again. Nothing is deleted in a member at any time.
func TestHandover(t *testing.T) {
	StartDaemon(t)
	Quiesce(t)
	ns := NewNamespace(t)
	Create(t, ConfigMaps, ConfigMap(ns, "page", Push+","+Push2, "one"))
	WantInMembers(t, ns, "page", "one", Push, Push2)
	uids := MemberUIDs(t, ns, "page", Push, Push2)
	works := map[string]types.UID{}
	for _, cluster := range []string{Push, Push2} {
		works[cluster] = MustWork(t, ConfigMapWork(ns, "page", cluster)).GetUID()
	}
	f := NewFault(t, "A policy claims a mirrored source and is deleted; its binding stays, then is deleted too", ns)
	f.Note = "the objects in the members keep their UIDs"

	policy := Object("policy.karmada.io/v1alpha1", "PropagationPolicy", ns, "pages", map[string]any{"spec": map[string]any{
		"resourceSelectors": []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "page"}},
		"placement":         map[string]any{"clusterAffinity": map[string]any{"clusterNames": []any{Push}}},
	}})
	Create(t, Policies, policy)
	WantHolder(t, ns, "page", Push, "binding")
	WantHolder(t, ns, "page", Push2, "mirror") // the policy does not select this cluster
	WantEvent(t, ns, "page", "ClaimedByPolicy")
	Change(t, ConfigMaps, ns, "page", SetField("two", "data", "key"))
	WantInMembers(t, ns, "page", "two", Push)
	WantInMembers(t, ns, "page", "one", Push2)

	Remove(t, Policies, ns, "pages")
	WantHolder(t, ns, "page", Push, "mirror")
	WantHolder(t, ns, "page", Push2, "mirror")
	Change(t, ConfigMaps, ns, "page", SetField("three", "data", "key"))
	WantInMembers(t, ns, "page", "three", Push, Push2)

	// A binding that its policy left behind takes the Work again at every restart.
	audit := AuditFromNow(t)
	MustRestart(t, karmada.ControllerManager)
	Eventually(t, "the binding to take the Work and lose it again", func(context.Context) error {
		return audit.TookBack(t, karmada.ControllerManager, ConfigMapWork(ns, "page", Push))
	})
	Change(t, ConfigMaps, ns, "page", SetField("four", "data", "key"))
	WantInMembers(t, ns, "page", "four", Push, Push2)
	WantHolder(t, ns, "page", Push, "mirror")

	Remove(t, Bindings, ns, "page-configmap")
	Eventually(t, "the binding to be deleted", func(ctx context.Context) error {
		_, err := Env.Admin.Resource(Bindings).Namespace(ns).Get(ctx, "page-configmap", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it still exists: %v", err)
	})
	Change(t, ConfigMaps, ns, "page", SetField("five", "data", "key"))
	f.Heal()
	WantInMembers(t, ns, "page", "five", Push, Push2)
	f.Converge(Patience)
	for cluster, uid := range MemberUIDs(t, ns, "page", Push, Push2) {
		if uid != uids[cluster] {
			t.Errorf("the object in %s was deleted and recreated", cluster)
		}
		if got := MustWork(t, ConfigMapWork(ns, "page", cluster)).GetUID(); got != works[cluster] {
			t.Errorf("the Work on %s was deleted and recreated", cluster)
		}
	}
}
