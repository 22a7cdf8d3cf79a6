package shared

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	policyv1alpha1 "github.com/karmada-io/api/policy/v1alpha1"
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

// TestAutoscaler: replicas that an autoscaler has set in a member stay, even when the source
// changes; without an autoscaler, Karmada restores the source's replicas.
func TestAutoscaler(t *testing.T) {
	t.Parallel()
	ns := NewNamespace(t)
	Create(t, Deployments, Asking(Deployment(ns, "web", "nginx:1", 2), Push))
	keda := Asking(Deployment(ns, "keda", "nginx:1", 2), Push)
	SetAnnotation(render.ReplicasAnnotation, "retain")(keda)
	Create(t, Deployments, keda)
	Create(t, Deployments, Asking(Deployment(ns, "plain", "nginx:1", 2), Push))
	Create(t, Autoscalers, Asking(autoscaler(ns), Push))
	for _, name := range []string{"web", "keda"} {
		Eventually(t, "Karmada to be told to retain replicas", InMember(Push, Deployments, ns, name, "true", "metadata", "labels", "resourcetemplate.karmada.io/retain-replicas"))
	}
	Eventually(t, "the Deployment without an autoscaler", InMember(Push, Deployments, ns, "plain", int64(2), "spec", "replicas"))
	scale := func(name string) {
		_, err := Env.Member(Push).Resource(Deployments).Namespace(ns).Patch(t.Context(), name, types.MergePatchType, []byte(`{"spec":{"replicas":3}}`), metav1.PatchOptions{}, "scale")
		Must(t, err)
	}
	for _, name := range []string{"web", "keda", "plain"} {
		scale(name)
		Change(t, Deployments, ns, name, SetField("two", "metadata", "labels", "edited"))
	}
	for name, replicas := range map[string]int64{"web": 3, "keda": 3, "plain": 2} {
		Eventually(t, "the edit", InMember(Push, Deployments, ns, name, "two", "metadata", "labels", "edited"))
		Eventually(t, "the replicas", InMember(Push, Deployments, ns, name, replicas, "spec", "replicas"))
	}
	Settle(t)
	for _, name := range []string{"web", "keda"} {
		Must(t, InMember(Push, Deployments, ns, name, int64(3), "spec", "replicas")(t.Context()))
	}
	for range 30 { // an autoscaler in the member, and Karmada
		scale("plain")
		Eventually(t, "Karmada to take that back", InMember(Push, Deployments, ns, "plain", int64(2), "spec", "replicas"))
	}
	WantEvent(t, ns, "plain", "MemberContested", Push)
	// Without the autoscaler the source decides again.
	Remove(t, Autoscalers, ns, "web")
	Eventually(t, "the source's replicas", InMember(Push, Deployments, ns, "web", int64(2), "spec", "replicas"))
}

// TestNamespace has a Namespace ask for the objects in it. Deleting it deletes it in the
// members, which cannot be held; but Karmada can refuse it.
func TestNamespace(t *testing.T) {
	t.Parallel()
	ns := MakeNamespace(t, NewName(t, "shared"), nil, map[string]string{render.ClustersAnnotation: Push})
	Create(t, ConfigMaps, Plain(ns, "page", "one"))
	Create(t, ConfigMaps, ConfigMap(ns, "own", Pull, "one"))
	Create(t, ConfigMaps, ConfigMap(ns, "out", "", "one"))
	WantInMembers(t, ns, "page", "one", Push)
	WantInMembers(t, ns, "own", "one", Pull)
	WantGone(t, ConfigMaps, ns, "own", Push)
	WantGone(t, ConfigMaps, ns, "out", Push, Pull)
	WantLine(t, MustKarmadaMirror(t, "explain", "cm", "page", "-n", ns), `it asks for karmada.target/clusters="`+Push+`" \(the Namespace's\)$`)
	WantEvent(t, "", ns, "NamespaceUnprotected", "deletion-protected=Always")
	protect := func(value string) {
		Change(t, Namespaces, "", ns, SetField(value, "metadata", "labels", "resourcetemplate.karmada.io/deletion-protected"))
	}
	protect("Always")
	if err := Env.Admin.Resource(Namespaces).Delete(t.Context(), ns, metav1.DeleteOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a protected Namespace can be deleted: %v", err)
	}
	Settle(t)
	WantInMembers(t, ns, "page", "one", Push)
	protect("")
	Remove(t, Namespaces, "", ns)
	WantGone(t, ConfigMaps, ns, "page", Push)

	alone := MakeNamespace(t, NewName(t, "shared"), map[string]string{policyv1alpha1.NamespaceSkipAutoPropagationLabel: "true"}, nil)
	Create(t, ConfigMaps, ConfigMap(alone, "page", Push, "one"))
	WantEvent(t, alone, "page", "NamespaceNotPropagated", alone)
	WantLine(t, MustKarmadaMirror(t, "status", "cm", "page", "-n", alone), `^ConfigMap/`+alone+`/page +`+Push+` .*NamespaceNotPropagated: `)
	Change(t, Namespaces, "", alone, func(u *unstructured.Unstructured) { u.SetLabels(nil) })
	WantInMembers(t, alone, "page", "one", Push)
}
