package shared

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/retry"

	"github.com/karmada-target/karmada-mirror/render"
	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// hostileAgent attacks as the agent of the Pull cluster, with the kubeconfig with which that one works.
type hostileAgent struct {
	*testing.T
	client dynamic.Interface
	// id is an object that is mirrored to its cluster.
	id render.Identity
}

var dryRunAll = []string{metav1.DryRunAll}

// TestAgent: what the agent of a cluster may write, and what its own roles and the admission policies keep from it.
func TestAgent(t *testing.T) {
	t.Parallel()
	config, err := clientcmd.BuildConfigFromFlags("", Env.AgentKubeconfig(Pull))
	Must(t, err)
	client, err := dynamic.NewForConfig(config)
	Must(t, err)
	page := Create(t, ConfigMaps, ConfigMap(NewNamespace(t), "page", Pull, "one"))
	a := hostileAgent{t, client, render.Identity{Kind: "ConfigMap", Namespace: page.GetNamespace(), Name: "page"}}
	a.writesWorks()
	a.writesEvents()
	a.writesLeases()
	a.reachesFurther()
}

func (a hostileAgent) worksOf(cluster string) dynamic.ResourceInterface {
	return a.client.Resource(Works).Namespace(render.ExecutionNamespace(cluster))
}

func (a hostileAgent) work() (u *unstructured.Unstructured) {
	Eventually(a.T, "the agent to see the Work", func(ctx context.Context) (err error) {
		u, err = a.worksOf(Pull).Get(ctx, a.id.WorkName(), metav1.GetOptions{})
		return err
	})
	return u
}

// writesWorks: of its Works, it may write the finalizers and the status, and it may make none that is ours.
func (a hostileAgent) writesWorks() {
	wants := refusals(a.T)
	for reason, change := range map[string]func(*unstructured.Unstructured){
		"a hold of all": SetAnnotation(render.HeldKey, "2099-01-01T00:00:00.000Z configmaps* the source does not exist"),
		"its age":       SetAnnotation(render.SourceCreatedAnnotation, "2000-01-01T00:00:00Z"),
		"its owner": func(u *unstructured.Unstructured) {
			u.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "x"}})
		},
		"its label":   func(u *unstructured.Unstructured) { u.SetLabels(nil) },
		"its content": SetField(true, "spec", "preserveResourcesOnDeletion"),
	} {
		err := retry.RetryOnConflict(retry.DefaultBackoff, func() error { // the true agent writes it, too
			u := a.work()
			change(u)
			_, err := a.worksOf(Pull).Update(a.Context(), u, metav1.UpdateOptions{DryRun: dryRunAll})
			return err
		})
		wants(reason, err, apierrors.IsForbidden, "the verb mirror on works.work.karmada.io")
	}
	forged := a.work()
	forged.SetName("ghost")
	forged.SetUID("")
	forged.SetResourceVersion("")
	_, err := a.worksOf(Pull).Create(a.Context(), forged, metav1.CreateOptions{DryRun: dryRunAll})
	wants("a forged Work", err, apierrors.IsForbidden, "the verb mirror on works.work.karmada.io")
	Eventually(a.T, "the agent to write what it needs to", func(ctx context.Context) error {
		u := a.work()
		u.SetFinalizers(append(u.GetFinalizers(), "example.com/agent"))
		_, err := a.worksOf(Pull).Update(ctx, u, metav1.UpdateOptions{DryRun: dryRunAll})
		if err == nil {
			SetField([]any{}, "status", "manifestStatuses")(u)
			_, err = a.worksOf(Pull).UpdateStatus(ctx, u, metav1.UpdateOptions{DryRun: dryRunAll})
		}
		return err
	})
}

// writesEvents: it may report on the Works of its own cluster only.
func (a hostileAgent) writesEvents() {
	wants, other := refusals(a.T), account(a.T, "agent-events", `- {apiGroups: [events.k8s.io], resources: [events], verbs: [create]}`)
	says := func(as dynamic.Interface, version, cluster, reason string) error {
		about, by, events := "involvedObject", "reportingComponent", schema.FromAPIVersionAndKind(version, "Event").GroupVersion().WithResource("events")
		if events.Group != "" {
			about, by = "regarding", "reportingController"
		}
		namespace := render.ExecutionNamespace(cluster)
		event := Object(version, "Event", namespace, NewName(a.T, "event"), map[string]any{
			"reason": reason, "type": "Normal", "action": "x", by: "x", "reportingInstance": "x", "eventTime": "2000-01-01T00:00:00.000000Z",
			about: map[string]any{"kind": "Work", "namespace": namespace, "name": a.id.WorkName()},
		})
		_, err := as.Resource(events).Namespace(namespace).Create(a.Context(), event, metav1.CreateOptions{DryRun: dryRunAll})
		return err
	}
	for version, as := range map[string]dynamic.Interface{"v1": a.client, "events.k8s.io/v1": other} {
		wants(version, says(as, version, Push, "SyncSucceed"), apierrors.IsForbidden, "the verb update on works.work.karmada.io/status")
		Must(a.T, says(as, version, Push, "SyncFailed"))
	}
	Must(a.T, says(a.client, "v1", Pull, "SyncSucceed"))
}

// writesLeases: it may write those that are not the daemon's.
func (a hostileAgent) writesLeases() {
	writes := func(as dynamic.Interface, name string) error {
		leases := as.Resource(schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}).Namespace(System)
		lease := Object("coordination.k8s.io/v1", "Lease", System, name, map[string]any{"spec": map[string]any{"holderIdentity": "x"}})
		_, err := leases.Create(a.Context(), lease, metav1.CreateOptions{DryRun: dryRunAll})
		return err
	}
	refusals(a.T)("a Lease of the daemon", writes(a.client, "karmada-mirror-fences"), apierrors.IsForbidden, "the verb lead on leases.coordination.k8s.io/karmada-mirror-fences")
	for name, as := range map[string]dynamic.Interface{"fences": a.client, "karmada-mirror-fences": Env.Admin} {
		Must(a.T, writes(as, name))
	}
}

// reachesFurther: Karmada's own roles keep other clusters and tenants from it.
func (a hostileAgent) reachesFurther() {
	wants := refusals(a.T)
	_, err := a.worksOf(Push).List(a.Context(), metav1.ListOptions{})
	wants("Works of another cluster", err, apierrors.IsForbidden, "works.work.karmada.io")
	_, err = a.client.Resource(Clusters).Patch(a.Context(), Pull, "application/merge-patch+json", []byte(`{"metadata":{"labels":{"tier":"edge"}}}`), metav1.PatchOptions{DryRun: dryRunAll})
	wants("labels of its Cluster", err, apierrors.IsForbidden, "clusters.cluster.karmada.io")
	_, err = a.client.Resource(ConfigMaps).Namespace(a.id.Namespace).Get(a.Context(), a.id.Name, metav1.GetOptions{})
	wants("the source", err, apierrors.IsForbidden, "configmaps")
	_, err = a.client.Resource(ConfigMaps).Namespace(System).Patch(a.Context(), "karmada-mirror", "application/merge-patch+json", []byte(`{"metadata":{"annotations":{"karmada.target/approve-deletions":"x"}}}`), metav1.PatchOptions{DryRun: dryRunAll})
	wants("an approval", err, apierrors.IsForbidden, "configmaps")
}
