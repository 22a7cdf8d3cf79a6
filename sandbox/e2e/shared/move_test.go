package shared

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/karmada-target/karmada-mirror/render"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

var pods = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// TestMove moves a Deployment from a policy to karmada-mirror and back, in a push and a
// pull member, as docs/how-to/move-from-propagationpolicy.md describes. Neither the
// Deployment nor its Pods are ever deleted in a member.
func TestMove(t *testing.T) {
	ns := Isolate(t)
	Configure(t, Resources(t, "deployments.apps"))
	StartDaemon(t)
	Create(t, Deployments, deployment(ns, 2))
	policy := Object("policy.karmada.io/v1alpha1", "PropagationPolicy", ns, "web", map[string]any{"spec": map[string]any{
		"resourceSelectors": []any{map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}},
		"placement":         map[string]any{"clusterAffinity": map[string]any{"clusterNames": []any{Push, Pull}}},
	}})
	Create(t, Policies, policy.DeepCopy())
	before := map[string]string{}
	Eventually(t, "the Pods in the members", func(ctx context.Context) (err error) {
		before, err = running(ctx, ns)
		return err
	})
	deleted := watchDeletions(t, ns)
	held := func(want string) {
		t.Helper()
		Eventually(t, "the Works to be held by "+want, func(ctx context.Context) error { return deploymentHeld(ctx, ns, want) })
	}

	t.Log("to karmada-mirror")
	Change(t, Policies, ns, "web", func(u *unstructured.Unstructured) {
		SetField(true, "spec", "preserveResourcesOnDeletion")(u)
		SetField("Overwrite", "spec", "conflictResolution")(u)
	})
	Eventually(t, "the Works to preserve it", func(ctx context.Context) error { return preserved(ctx, ns) })
	interrupt := interruptDeletions(t, ns)
	Remove(t, Policies, ns, "web")
	Eventually(t, "the policy's claim to be removed", func(ctx context.Context) error {
		u, err := Env.Admin.Resource(Deployments).Namespace(ns).Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if key, claimed := render.ClaimedBy(u.GetLabels(), u.GetAnnotations()); claimed {
			return fmt.Errorf("it has %s", key)
		}
		return nil
	})
	Remove(t, Bindings, ns, "web-deployment")
	interrupt()
	held("no one")
	Change(t, Deployments, ns, "web", func(u *unstructured.Unstructured) {
		u.SetAnnotations(map[string]string{render.ClustersAnnotation: Push + "," + Pull, render.ConflictResolutionAnnotation: "overwrite"})
	})
	held("mirror")
	Change(t, Deployments, ns, "web", SetField(map[string]any{"edited": "once"}, "metadata", "labels"))
	wantLabel(t, ns, "edited", "once")

	t.Log("and back")
	Create(t, Policies, policy)
	held("binding")
	Change(t, Deployments, ns, "web", func(u *unstructured.Unstructured) {
		annotations := u.GetAnnotations()
		delete(annotations, render.ClustersAnnotation)
		delete(annotations, render.ConflictResolutionAnnotation)
		u.SetAnnotations(annotations)
	})
	Change(t, Deployments, ns, "web", func(u *unstructured.Unstructured) {
		labels := u.GetLabels()
		labels["edited"] = "twice"
		u.SetLabels(labels)
	})
	wantLabel(t, ns, "edited", "twice")
	after, err := running(t.Context(), ns)
	if diff := cmp.Diff(before, after); diff != "" || err != nil {
		t.Errorf("UIDs: %v, -before +after:\n%s", err, diff)
	}
	if names := deleted(); len(names) > 0 {
		t.Errorf("deleted in the members: %v", names)
	}
	Remove(t, Policies, ns, "web")
}

// deployment makes a Deployment with the name web.
func deployment(ns string, replicas int64) *unstructured.Unstructured {
	return Object("apps/v1", "Deployment", ns, "web", map[string]any{"spec": map[string]any{
		"replicas": replicas,
		"selector": map[string]any{"matchLabels": map[string]any{"app": "web"}},
		"template": map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"app": "web"}},
			"spec":     map[string]any{"containers": []any{map[string]any{"name": "web", "image": "nginx"}}},
		},
	}})
}

// interruptDeletions prevents Karmada from finishing the deletion of the Works that carry
// a namespace's objects, and lifts this once Karmada has tried. Karmada then repeats what
// it had already done in the members. Without conflictResolution it cannot, because the
// objects are no longer its own, and retries forever.
func interruptDeletions(t *testing.T, ns string) (lift func()) {
	t.Helper()
	withdraw := denyWorks(t, "deny-end-"+ns, "UPDATE", fmt.Sprintf(
		`has(object.metadata.deletionTimestamp) && !has(object.metadata.finalizers) && object.spec.workload.manifests.exists(m, m.metadata.namespace == "%s")`, ns),
		`message: not now`)
	Settle(t) // the API server checks for new policies once a second
	audit := AuditFromNow(t)
	return func() {
		t.Helper()
		Eventually(t, "Karmada to be refused the end of a deletion", func(context.Context) error {
			return audit.Refused(t, deploymentIdentity(ns).WorkName())
		})
		Must(t, withdraw(t.Context()))
	}
}

// running are the UIDs of the Deployment and its two Pods in both members.
func running(ctx context.Context, ns string) (map[string]string, error) {
	uids := map[string]string{}
	for _, member := range []string{Push, Pull} {
		for _, resource := range []schema.GroupVersionResource{Deployments, pods} {
			list, err := Env.Member(member).Resource(resource).Namespace(ns).List(ctx, metav1.ListOptions{})
			if err != nil {
				return nil, err
			}
			for _, item := range list.Items {
				uids[member+"/"+resource.Resource+"/"+item.GetName()] = string(item.GetUID())
			}
		}
	}
	if len(uids) != 6 {
		return nil, fmt.Errorf("there are %d of 6 objects", len(uids))
	}
	return uids, nil
}

// watchDeletions watches Deployments and Pods in both members. The returned function ends
// the watches and returns what was deleted.
func watchDeletions(t *testing.T, ns string) (deleted func() []string) {
	t.Helper()
	var (
		watches []watch.Interface
		heard   sync.WaitGroup
		mu      sync.Mutex
		names   []string
	)
	for _, member := range []string{Push, Pull} {
		for _, resource := range []schema.GroupVersionResource{Deployments, pods} {
			w, err := Env.Member(member).Resource(resource).Namespace(ns).Watch(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(w.Stop)
			watches = append(watches, w)
			heard.Go(func() {
				for event := range w.ResultChan() {
					if u, ok := event.Object.(*unstructured.Unstructured); ok && event.Type == watch.Deleted {
						mu.Lock()
						names = append(names, member+"/"+u.GetKind()+"/"+u.GetName())
						mu.Unlock()
					}
				}
			})
		}
	}
	return func() []string {
		for _, w := range watches {
			w.Stop()
		}
		heard.Wait()
		return names
	}
}

func deploymentIdentity(ns string) render.Identity {
	return render.Identity{Group: "apps", Kind: "Deployment", Namespace: ns, Name: "web"}
}

// deploymentWorks are the existing Works of the Deployment.
func deploymentWorks(ctx context.Context, ns string) (found []*unstructured.Unstructured, err error) {
	for _, cluster := range []string{Push, Pull} {
		list, err := Env.Admin.Resource(Works).Namespace(render.ExecutionNamespace(cluster)).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + deploymentIdentity(ns).WorkName()})
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			found = append(found, &list.Items[i])
		}
	}
	return found, nil
}

func preserved(ctx context.Context, ns string) error {
	found, err := deploymentWorks(ctx, ns)
	if err != nil {
		return err
	}
	for _, work := range found {
		if preserve, _, _ := unstructured.NestedBool(work.Object, "spec", "preserveResourcesOnDeletion"); !preserve {
			return fmt.Errorf("%s does not", work.GetNamespace())
		}
	}
	return nil
}

// deploymentHeld checks whether both Works have this [Holder]; for "no one" there must be
// none.
func deploymentHeld(ctx context.Context, ns, want string) error {
	found, err := deploymentWorks(ctx, ns)
	if err != nil {
		return err
	}
	if want == "no one" {
		var errs []error
		for _, work := range found {
			errs = append(errs, fmt.Errorf("%s has one that is held by %q: %v, status %v", work.GetNamespace(), Holder(work), work.Object["metadata"], work.Object["status"]))
		}
		return errors.Join(errs...)
	}
	if len(found) != 2 {
		return fmt.Errorf("there are %d", len(found))
	}
	for _, work := range found {
		if got := Holder(work); got != want {
			return fmt.Errorf("%s is held by %q", work.GetNamespace(), got)
		}
	}
	return nil
}

func wantLabel(t *testing.T, ns, key, value string) {
	t.Helper()
	Eventually(t, "an edit in the members", func(ctx context.Context) error {
		for _, member := range []string{Push, Pull} {
			u, err := Env.Member(member).Resource(Deployments).Namespace(ns).Get(ctx, "web", metav1.GetOptions{})
			if err != nil {
				return err
			}
			if got := u.GetLabels()[key]; got != value {
				return fmt.Errorf("label %s is %q in %s", key, got, member)
			}
		}
		return nil
	})
}
