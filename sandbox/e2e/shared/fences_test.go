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
	"k8s.io/client-go/util/retry"

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

	// Karmada's agents may write all Leases, and the Works of their cluster (pkg/karmadactl/register/register.go, v1.18.2).
	agent := account(t, "fences-agent", `
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, create, update]}
- {apiGroups: [work.karmada.io], resources: [works], verbs: [get, create, list, watch, update, delete]}
- {apiGroups: [work.karmada.io], resources: [works/status], verbs: [patch, update]}
- {apiGroups: ["", events.k8s.io], resources: [events], verbs: [patch, create, update]}`)
	page := Create(t, ConfigMaps, ConfigMap(NewNamespace(t), "page", Push, "one"))
	id := render.Identity{Kind: "ConfigMap", Namespace: page.GetNamespace(), Name: "page"}
	works := agent.Resource(Works).Namespace(render.ExecutionNamespace(Push))
	work := func() (u *unstructured.Unstructured) {
		Eventually(t, "the agent to see the Work", func(ctx context.Context) (err error) {
			u, err = works.Get(ctx, id.WorkName(), metav1.GetOptions{})
			return err
		})
		return u
	}
	for reason, change := range map[string]func(*unstructured.Unstructured){
		"a hold of all": SetAnnotation(render.HeldKey, "2099-01-01T00:00:00.000Z configmaps* the source does not exist"),
		"its age":       SetAnnotation(render.SourceCreatedAnnotation, "2000-01-01T00:00:00Z"),
		"its label":     func(u *unstructured.Unstructured) { u.SetLabels(nil) },
		"its content":   SetField(true, "spec", "preserveResourcesOnDeletion"),
	} {
		err := retry.RetryOnConflict(retry.DefaultBackoff, func() error { // Karmada writes it, too
			u := work()
			change(u)
			_, err := works.Update(t.Context(), u, metav1.UpdateOptions{DryRun: dry})
			return err
		})
		wants(reason, err, apierrors.IsForbidden, "the verb mirror on works.work.karmada.io")
	}
	forged := work()
	forged.SetName("ghost")
	forged.SetUID("")
	forged.SetResourceVersion("")
	_, err = works.Create(t.Context(), forged, metav1.CreateOptions{DryRun: dry})
	wants("a forged Work", err, apierrors.IsForbidden, "the verb mirror on works.work.karmada.io")
	Eventually(t, "the agent to write what it needs to", func(ctx context.Context) error {
		u := work()
		u.SetFinalizers(append(u.GetFinalizers(), "example.com/agent"))
		_, err := works.Update(ctx, u, metav1.UpdateOptions{DryRun: dry})
		if err == nil {
			SetField([]any{}, "status", "manifestStatuses")(u)
			_, err = works.UpdateStatus(ctx, u, metav1.UpdateOptions{DryRun: dry})
		}
		return err
	})

	// Nor, by an Event, say of another cluster that it has applied a Work, nor take such an Event back.
	applied := func(as dynamic.Interface, version, reason string) error {
		event := Object(version, "Event", render.ExecutionNamespace(Push), NewName(t, "event"), map[string]any{
			"reason": reason, "type": "Normal", "action": "x", "reportingController": "x", "reportingComponent": "x", "reportingInstance": "x", "eventTime": "2000-01-01T00:00:00.000000Z",
		})
		about, events := "involvedObject", schema.FromAPIVersionAndKind(version, "Event").GroupVersion().WithResource("events")
		if events.Group != "" {
			about = "regarding"
		}
		SetField(map[string]any{"kind": "Work", "namespace": event.GetNamespace(), "name": id.WorkName()}, about)(event)
		_, err := as.Resource(events).Namespace(event.GetNamespace()).Create(t.Context(), event, metav1.CreateOptions{DryRun: dry})
		return err
	}
	other := account(t, "fences-other", `- {apiGroups: ["", events.k8s.io], resources: [events], verbs: [patch, create, update]}`)
	for _, version := range []string{"v1", "events.k8s.io/v1"} {
		wants(version, applied(other, version, "SyncSucceed"), apierrors.IsForbidden, "the verb update on works.work.karmada.io/status")
		Must(t, applied(other, version, "SyncFailed"))
		Must(t, applied(agent, version, "SyncSucceed"))
	}
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
