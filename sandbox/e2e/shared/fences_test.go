package shared

import (
	"context"
	"strconv"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/karmada-target/karmada-mirror/render"
	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

// account is a user with the rights of a ClusterRole's rules.
func account(t *testing.T, name, rules string) dynamic.Interface {
	t.Helper()
	Must(t, karmada.Apply(t.Context(), Env.Config(), []byte(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: `+name+`}
rules: `+rules+`
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: `+name+`}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: `+name+`}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: `+name+`}]
`)))
	as := rest.CopyConfig(Env.Config())
	as.Impersonate.UserName = name
	client, err := dynamic.NewForConfig(as)
	Must(t, err)
	return client
}

// TestFences: what users and agents may write without it, the admission policies keep from them.
func TestFences(t *testing.T) {
	t.Parallel()
	ns, dry := admitted(t, nil, nil), []string{metav1.DryRunAll}
	inForce(t, ns)
	wants := func(reason string, err error, is func(error) bool, part string) {
		t.Helper()
		if err == nil || !is(err) || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v", reason, err)
		}
	}

	// Who may patch Namespaces is not yet one who may read what is in them.
	nsm := account(t, "fences-nsm", `[{apiGroups: [""], resources: [namespaces], verbs: [get, create, patch]}, {apiGroups: [cluster.karmada.io], resources: [clusters], verbs: [mirror]}]`)
	patch := func(as dynamic.Interface, key, value string) error {
		body := `{"metadata":{"annotations":{"` + key + `":"` + value + `"}}}`
		_, err := as.Resource(Namespaces).Patch(t.Context(), ns, "application/merge-patch+json", []byte(body), metav1.PatchOptions{DryRun: dry})
		return err
	}
	for key, value := range map[string]string{render.ClustersAnnotation: "c1", render.SuspendAnnotation: "true", render.DeletionAnnotation: "foreground"} {
		wants(key, patch(nsm, key, value), apierrors.IsForbidden, "the verb mirror on namespaces/"+ns)
	}
	Must(t, patch(nsm, "example.com/owner", "nsm"))
	fresh := Object("v1", "Namespace", "", NewName(t, "fences"), nil)
	_, err := nsm.Resource(Namespaces).Create(t.Context(), Asking(fresh, "c1"), metav1.CreateOptions{DryRun: dry})
	Must(t, err)
	Must(t, karmada.Apply(t.Context(), Env.Config(), []byte(`
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: mirrors, namespace: `+ns+`}
rules: [{apiGroups: [""], resources: [namespaces], verbs: [mirror]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: mirrors, namespace: `+ns+`}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: mirrors}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: fences-nsm}]
`)))
	Eventually(t, "a Role in the Namespace to allow its default", func(context.Context) error { return patch(nsm, render.ClustersAnnotation, "c1") })

	// A Binding's annotations become the Pod's.
	pods := Env.Admin.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Namespace(ns)
	binding := Object("v1", "Binding", ns, "web", map[string]any{"target": map[string]any{"kind": "Node", "name": "n"}})
	SetAnnotation(render.SuspendAnnotation, "false")(binding)
	_, err = pods.Create(t.Context(), binding, metav1.CreateOptions{DryRun: dry}, "binding")
	wants("pods/binding", err, apierrors.IsInvalid, "annotate the Pod")

	// Capitals, and more keys than are gone through.
	for _, key := range []string{"KARMADA.target/preserve-on-deletion", "Karmada.Target/clusters"} {
		wants(key, dryRun(Env.Admin, ns, annotations{key: "true"}), apierrors.IsInvalid, "is not an annotation of karmada-mirror, did you mean karmada.target/")
	}
	many := annotations{render.ClustersAnnotation: "c1"}
	for i := range 5000 {
		many["example.com/a"+strconv.Itoa(i)] = ""
	}
	wants("many keys", dryRun(tenant(t, "fences-none", "nowhere"), ns, many), apierrors.IsForbidden, "the verb mirror")

	// Karmada's agents may write all Leases (pkg/karmadactl/register/register.go, v1.18.2).
	agent := account(t, "fences-agent", `[{apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, create, update]}]`)
	leases := func(as dynamic.Interface) dynamic.ResourceInterface {
		return as.Resource(schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}).Namespace(System)
	}
	lease := func(name string) *unstructured.Unstructured {
		return Object("coordination.k8s.io/v1", "Lease", System, name, map[string]any{"spec": map[string]any{"holderIdentity": "x"}})
	}
	_, err = leases(agent).Create(t.Context(), lease("karmada-mirror-fences"), metav1.CreateOptions{DryRun: dry})
	wants("a Lease of the daemon", err, apierrors.IsForbidden, "the verb lead on leases.coordination.k8s.io/karmada-mirror-fences")
	for who, name := range map[dynamic.Interface]string{agent: "fences", Env.Admin: "karmada-mirror-fences"} {
		_, err = leases(who).Create(t.Context(), lease(name), metav1.CreateOptions{DryRun: dry})
		Must(t, err)
	}
}
