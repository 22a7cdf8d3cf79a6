package e2e

import (
	"context"
	"fmt"
	"testing"

	workv1alpha2 "github.com/karmada-io/api/work/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/render"
)

// These are Karmada's policies and what it makes of them.
var (
	Policies = schema.GroupVersionResource{Group: "policy.karmada.io", Version: "v1alpha1", Resource: "propagationpolicies"}
	Bindings = schema.GroupVersionResource{Group: "work.karmada.io", Version: "v1alpha2", Resource: "resourcebindings"}
)

// MemberUIDs reads the UIDs of a ConfigMap in members.
func MemberUIDs(t *testing.T, namespace, name string, members ...string) map[string]types.UID {
	t.Helper()
	uids := map[string]types.UID{}
	for _, member := range members {
		u, err := Env.Member(member).Resource(ConfigMaps).Namespace(namespace).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		uids[member] = u.GetUID()
	}
	return uids
}

// Holder says who owns a Work: "mirror", "binding", both, or "" for no one.
func Holder(w *unstructured.Unstructured) string {
	held := ""
	if w.GetLabels()[render.ManagedByLabel] == render.ManagedByValue && w.GetAnnotations()[render.SourceAnnotation] != "" {
		held += "mirror"
	}
	if w.GetLabels()[workv1alpha2.ResourceBindingPermanentIDLabel] != "" {
		held += "binding"
	}
	return held
}

// WantHolder waits until a Work has this [Holder].
func WantHolder(t *testing.T, namespace, name, cluster, want string) {
	t.Helper()
	Eventually(t, fmt.Sprintf("the Work of %s on %s to be held by %q", name, cluster, want), func(ctx context.Context) error {
		w, err := GetWork(ctx, ConfigMapWork(namespace, name, cluster))
		if err == nil && Holder(w) != want {
			err = fmt.Errorf("it is held by %q", Holder(w))
		}
		return err
	})
}
