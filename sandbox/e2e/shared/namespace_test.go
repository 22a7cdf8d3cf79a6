package shared

import (
	"testing"

	policyv1alpha1 "github.com/karmada-io/api/policy/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/render"
	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

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
