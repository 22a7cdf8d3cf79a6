package shared

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/render"
	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// TestSquatted has a tenant's object take the name of the Work that Karmada itself gives to
// something else: it hands that Work over to a policy that does not exist, so that a binding
// that wants its name takes it, and then asks for it back. Neither object is lost.
func TestSquatted(t *testing.T) {
	t.Parallel()
	victim := render.Identity{Kind: "ConfigMap", Namespace: MakeNamespace(t, "shared-victims", nil, nil), Name: "page"}
	squatter := squat(t, victim, "shared-squatter-bpmwmlia")
	Change(t, ConfigMaps, squatter.Namespace, squatter.Name, func(u *unstructured.Unstructured) {
		DropAnnotations(u)
		u.SetLabels(map[string]string{claimLabel: "x"})
	})
	WantEvent(t, squatter.Namespace, squatter.Name, "ClaimedByPolicy")
	Create(t, ConfigMaps, Plain(victim.Namespace, victim.Name, "one"))
	propagate(t, victim, Push)
	WantInMembers(t, victim.Namespace, victim.Name, "one", Push)
	wantWork(t, victim, Push, false)
	uid := MemberUID(t, victim.Namespace, victim.Name, Push)
	Change(t, ConfigMaps, squatter.Namespace, squatter.Name, func(u *unstructured.Unstructured) {
		u.SetLabels(nil)
		u.SetAnnotations(map[string]string{render.ClustersAnnotation: Push})
		SetField("again", "data", "key")(u)
	})
	WantInMembers(t, squatter.Namespace, squatter.Name, "again", Push)
	wantWork(t, squatter, Push, true)
	wantHolder(t, victim, Push, "binding")
	Remove(t, ConfigMaps, squatter.Namespace, squatter.Name)
	WantGone(t, ConfigMaps, squatter.Namespace, squatter.Name, Push)
	Change(t, ConfigMaps, victim.Namespace, victim.Name, SetField("two", "data", "key"))
	WantInMembers(t, victim.Namespace, victim.Name, "two", Push)
	if now := MemberUID(t, victim.Namespace, victim.Name, Push); now != uid {
		t.Errorf("the victim's object in %s was deleted and recreated", Push)
	}
}

// squat mirrors an object of another Namespace that has the Work name of a victim, which has
// no Work yet. Karmada's names end in a hash of 32 bits: finding such a Namespace takes a
// second.
func squat(t *testing.T, victim render.Identity, ns string) (squatter render.Identity) {
	t.Helper()
	squatter = render.Identity{Kind: "ConfigMap", Namespace: MakeNamespace(t, ns, nil, nil), Name: victim.Name}
	if squatter.WorkName() != victim.WorkName() {
		t.Fatalf("%s and %s have the Work names %s and %s", squatter, victim, squatter.WorkName(), victim.WorkName())
	}
	Create(t, ConfigMaps, ConfigMap(ns, squatter.Name, Push, "theirs"))
	WantInMembers(t, ns, squatter.Name, "theirs", Push)
	return squatter
}

// wantWork waits until a Work carries an object: the one with Karmada's own name for it, or
// ours with the longer name.
func wantWork(t *testing.T, id render.Identity, cluster string, isLong bool) {
	t.Helper()
	Eventually(t, fmt.Sprintf("the Work of %s on %s", id, cluster), func(ctx context.Context) error {
		list, err := Env.Admin.Resource(Works).Namespace(render.ExecutionNamespace(cluster)).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range list.Items {
			m, err := ManifestOf(&list.Items[i])
			if err != nil || m.GetKind() != id.Kind || m.GetNamespace() != id.Namespace || m.GetName() != id.Name {
				continue
			}
			if (list.Items[i].GetName() != id.WorkName()) != isLong {
				return fmt.Errorf("it has the name %s", list.Items[i].GetName())
			}
			return nil
		}
		return fmt.Errorf("there is none")
	})
}
