package shared

import (
	"context"
	"strconv"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/karmada-target/karmada-mirror/render"
	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

// account is a user with the rights of a ClusterRole's rules, all of which are in force.
func account(t *testing.T, name, rules string) dynamic.Interface {
	t.Helper()
	Must(t, karmada.Apply(t.Context(), Env.Config(), []byte(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: `+name+`}
rules:
- {apiGroups: [""], resources: [namespaces], resourceNames: [`+System+`], verbs: [get]}
`+rules+`
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
	Eventually(t, "the rights of "+name, func(ctx context.Context) error {
		_, err := client.Resource(Namespaces).Get(ctx, System, metav1.GetOptions{})
		return err
	})
	return client
}

// refusals returns a function that checks that an error is a certain refusal.
func refusals(t *testing.T) func(reason string, err error, is func(error) bool, part string) {
	return func(reason string, err error, is func(error) bool, part string) {
		t.Helper()
		if err == nil || !is(err) || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v", reason, err)
		}
	}
}

// TestFences: what users may write without it, the admission policies keep from them.
func TestFences(t *testing.T) {
	t.Parallel()
	ns, dry := admitted(t, nil, nil), []string{metav1.DryRunAll}
	inForce(t, ns)
	wants := refusals(t)

	// Who may patch Namespaces is not yet one who may read what is in them.
	nsm := account(t, "fences-nsm", `
- {apiGroups: [""], resources: [namespaces], verbs: [get, create, patch]}
- {apiGroups: [cluster.karmada.io], resources: [clusters], verbs: [mirror]}`)
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
	_, err = pods.Create(t.Context(), Object("v1", "Pod", ns, "web", map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "web", "image": "web"}}}}), metav1.CreateOptions{})
	Must(t, err)
	binding := Object("v1", "Binding", ns, "web", map[string]any{"target": map[string]any{"kind": "Node", "name": "n"}})
	_, err = pods.Create(t.Context(), binding, metav1.CreateOptions{DryRun: dry}, "binding")
	Must(t, err)
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
}
