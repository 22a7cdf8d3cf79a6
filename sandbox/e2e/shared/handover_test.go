package shared

import (
	"context"
	"fmt"
	"testing"

	workv1alpha2 "github.com/karmada-io/api/work/v1alpha2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/render"
	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// TestHandover has a policy take over a mirrored source on one of its two clusters, release it
// again, and take it for good. Nothing is deleted in the member at any time.
func TestHandover(t *testing.T) {
	t.Parallel()
	ns := NewNamespace(t)
	page := render.Identity{Kind: "ConfigMap", Namespace: ns, Name: "page"}
	Create(t, ConfigMaps, ConfigMap(ns, "page", Both, "one"))
	WantInMembers(t, ns, "page", "one", Push, Pull)
	uid, work := MemberUID(t, ns, "page", Push), MustWork(t, WorkOf(page, Push)).GetUID()

	propagate(t, page, Push)
	wantHolder(t, page, Push, "binding")
	wantHolder(t, page, Pull, "mirror") // the policy does not select this cluster
	WantEvent(t, ns, "page", "ClaimedByPolicy", "propagates this object: remove the annotation, or move the object while its policy exists: karmada-mirror adopt")
	WantLine(t, MustKarmadaMirror(t, "explain", "cm/page", "-n", ns), `✗ ClaimedByPolicy: PropagationPolicy "`+ns+`/page" propagates this object`)
	Change(t, ConfigMaps, ns, "page", SetField("two", "data", "key"))
	WantInMembers(t, ns, "page", "two", Push)
	WantInMembers(t, ns, "page", "one", Pull)

	Remove(t, Policies, ns, "page")
	wantHolder(t, page, Push, "mirror")
	wantHolder(t, page, Pull, "mirror")
	Change(t, ConfigMaps, ns, "page", SetField("three", "data", "key"))
	WantInMembers(t, ns, "page", "three", Push, Pull)

	propagate(t, page, Push)
	wantHolder(t, page, Push, "binding")
	Change(t, ConfigMaps, ns, "page", func(u *unstructured.Unstructured) {
		DropAnnotations(u)
		SetField("four", "data", "key")(u)
	})
	WantInMembers(t, ns, "page", "four", Push)
	Settle(t)
	wantHolder(t, page, Push, "binding")
	if MemberUID(t, ns, "page", Push) != uid || MustWork(t, WorkOf(page, Push)).GetUID() != work {
		t.Error("the object in the member, or its Work, was deleted and recreated")
	}
}

// propagate has a policy of its name propagate a ConfigMap.
func propagate(t *testing.T, id render.Identity, cluster string) {
	t.Helper()
	Create(t, Policies, policyOf(id, cluster))
}

func policyOf(id render.Identity, cluster string) *unstructured.Unstructured {
	return Object("policy.karmada.io/v1alpha1", "PropagationPolicy", id.Namespace, id.Name, map[string]any{"spec": map[string]any{
		"resourceSelectors": []any{map[string]any{"apiVersion": "v1", "kind": id.Kind, "name": id.Name}},
		"placement":         map[string]any{"clusterAffinity": map[string]any{"clusterNames": []any{cluster}}},
	}})
}

// wantHolder waits until a Work is held by "mirror" or a "binding".
func wantHolder(t *testing.T, id render.Identity, cluster, want string) {
	t.Helper()
	Eventually(t, fmt.Sprintf("the Work of %s on %s to be held by a %s", id, cluster, want), func(ctx context.Context) error {
		w, err := GetWork(ctx, WorkOf(id, cluster))
		if err != nil {
			return err
		}
		holder := ""
		if w.GetLabels()[render.ManagedByLabel] == render.ManagedByValue && w.GetAnnotations()[render.SourceAnnotation] != "" {
			holder += "mirror"
		}
		if w.GetLabels()[workv1alpha2.ResourceBindingPermanentIDLabel] != "" {
			holder += "binding"
		}
		if holder != want {
			err = fmt.Errorf("it is held by %q", holder)
		}
		return err
	})
}
