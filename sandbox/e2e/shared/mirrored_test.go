package shared

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/render"
	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// TestMirrored follows an object through its life, in a push and a pull member: Karmada
// applies its Works, repairs what is changed by hand, and deletes.
func TestMirrored(t *testing.T) {
	t.Parallel()
	ns := NewNamespace(t)
	source := ConfigMap(ns, "page", Both, "one")
	SetAnnotation("example.com/note", "kept")(source)
	SetAnnotation("example.com/old", "to be removed")(source)
	Create(t, ConfigMaps, source)
	WantInMembers(t, ns, "page", "one", Push, Pull)

	Change(t, ConfigMaps, ns, "page", func(u *unstructured.Unstructured) {
		SetField("two", "data", "key")(u)
		unstructured.RemoveNestedField(u.Object, "metadata", "annotations", "example.com/old")
		SetAnnotation("example.com/new", "added")(u)
	})
	WantInMembers(t, ns, "page", "two", Push, Pull)
	for _, member := range []string{Push, Pull} {
		for key, want := range map[string]any{"example.com/note": "kept", "example.com/new": "added", "example.com/old": nil, render.ClustersAnnotation: nil} {
			Eventually(t, "the annotations", InMember(member, ConfigMaps, ns, "page", want, "metadata", "annotations", key))
		}
		t.Run("By hand in "+member, func(t *testing.T) { repairsMember(t, ns, member) })
	}
	t.Run("The Work by hand", func(t *testing.T) { repairsWork(t, ns) })

	Change(t, ConfigMaps, ns, "page", SetAnnotation(render.ClustersAnnotation, Pull))
	WantGone(t, ConfigMaps, ns, "page", Push)
	Change(t, ConfigMaps, ns, "page", SetAnnotation(render.ClustersAnnotation, Both))
	WantInMembers(t, ns, "page", "two", Push, Pull)
	Change(t, ConfigMaps, ns, "page", DropAnnotations)
	WantGone(t, ConfigMaps, ns, "page", Push, Pull)
	t.Run("Foreground", func(t *testing.T) { deletesInForeground(t, ns) })
}

// repairsMember edits and deletes the object in a member.
func repairsMember(t *testing.T, ns, member string) {
	objects := Env.Member(member).Resource(ConfigMaps).Namespace(ns)
	_, err := objects.Patch(t.Context(), "page", types.MergePatchType, []byte(`{"data":{"key":"by hand"}}`), metav1.PatchOptions{})
	Must(t, err)
	WantInMembers(t, ns, "page", "two", member)
	before := MemberUID(t, ns, "page", member)
	Must(t, objects.Delete(t.Context(), "page", metav1.DeleteOptions{}))
	Eventually(t, "Karmada to recreate the object in "+member, func(ctx context.Context) error {
		now, err := objects.Get(ctx, "page", metav1.GetOptions{})
		if err == nil && now.GetUID() == before {
			err = errors.New("it is still the old one")
		}
		return err
	})
	WantInMembers(t, ns, "page", "two", member)
}

// repairsWork edits and deletes the Work.
func repairsWork(t *testing.T, ns string) {
	work := ConfigMapWork(ns, "page", Push)
	before := MustWork(t, work)
	Change(t, Works, work.Namespace, work.Name, func(u *unstructured.Unstructured) {
		// Suspended, so that Karmada carries out only the repair: it compares with a cache of
		// the member, and takes a member whose edit has not got there yet for repaired.
		SetField(true, "spec", "suspendDispatching")(u)
		manifests, _, _ := unstructured.NestedSlice(u.Object, "spec", "workload", "manifests")
		SetField("edited", "data", "key")(&unstructured.Unstructured{Object: manifests[0].(map[string]any)})
		SetField(manifests, "spec", "workload", "manifests")(u)
	})
	Eventually(t, "the Work to be repaired", func(ctx context.Context) error {
		now, err := GetWork(ctx, work)
		if err == nil && (now.GetUID() != before.GetUID() || !cmp.Equal(before.Object["spec"], now.Object["spec"])) {
			err = fmt.Errorf("-before +after:\n%s", cmp.Diff(before.Object["spec"], now.Object["spec"]))
		}
		return err
	})
	Remove(t, Works, work.Namespace, work.Name)
	Eventually(t, "another Work", func(ctx context.Context) error {
		now, err := GetWork(ctx, work)
		if err == nil && now.GetUID() == before.GetUID() {
			err = errors.New("it is still the old one")
		}
		return err
	})
	WantInMembers(t, ns, "page", "two", Push)
}

// deletesInForeground has kubectl return when no member has the object.
func deletesInForeground(t *testing.T, ns string) {
	page := ConfigMap(ns, "held", Both, "one")
	SetAnnotation(render.DeletionAnnotation, "foreground")(page)
	Create(t, ConfigMaps, page)
	WantInMembers(t, ns, "held", "one", Push, Pull)
	Must(t, HasFinalizer(ConfigMaps, ns, "held")(t.Context()))
	Kubectl(t, "-n", ns, "delete", "configmap", "held", "--timeout=180s")
	for _, member := range []string{Push, Pull} {
		if _, err := Env.Member(member).Resource(ConfigMaps).Namespace(ns).Get(t.Context(), "held", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("kubectl has returned, and %s still has it: %v", member, err)
		}
	}
}
