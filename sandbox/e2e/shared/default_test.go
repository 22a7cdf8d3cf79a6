package shared

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/render"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// TestDefaultComesAndGoes: a Namespace's defaults are applied each time, even if they
// return to an earlier value.
func TestDefaultComesAndGoes(t *testing.T) {
	const objects = 5
	const all = objects + 1 // the daemon's own ConfigMap is in the Namespace too
	ns := Isolate(t)
	d := StartDaemon(t)
	for i := range objects {
		Create(t, ConfigMaps, Plain(ns, fmt.Sprintf("page-%d", i), "one"))
	}
	says := func(key, value string) {
		t.Helper()
		Change(t, Namespaces, "", ns, func(u *unstructured.Unstructured) {
			annotations := u.GetAnnotations()
			if annotations == nil {
				annotations = map[string]string{}
			}
			annotations[key] = value
			if value == "" {
				delete(annotations, key)
			}
			u.SetAnnotations(annotations)
		})
	}
	areSuspended := func(want bool) func(context.Context) error {
		return func(ctx context.Context) error {
			for i := range objects {
				work, err := GetWork(ctx, ConfigMapWork(ns, fmt.Sprintf("page-%d", i), Push))
				if err != nil {
					return err
				}
				if suspended, _, _ := unstructured.NestedBool(work.Object, "spec", "suspendDispatching"); suspended != want {
					return fmt.Errorf("%s is suspended: %v", work.GetName(), suspended)
				}
			}
			return nil
		}
	}
	for range 3 {
		says(render.ClustersAnnotation, Push)
		Eventually(t, "the Works", CountWorks(ns, Push, all))
		WantInMembers(t, ns, "page-0", "one", Push)
		for range 2 {
			says(render.SuspendAnnotation, "true")
			Eventually(t, "the Works to be suspended", areSuspended(true))
			says(render.SuspendAnnotation, "")
			Eventually(t, "the Works to be resumed", areSuspended(false))
		}
		says(render.ClustersAnnotation, "")
		Eventually(t, "the Works to be deleted", CountWorks(ns, Push, 0))
		WantGone(t, ConfigMaps, ns, "page-0", Push)
	}
	says(render.ClustersAnnotation, "No Cluster")
	Eventually(t, "all to be refused", d.WantMetric(`karmada_mirror_refused_sources{reason="InvalidAnnotation"}`, all))
	says(render.ClustersAnnotation, "")
	Eventually(t, "none to be refused", d.WantNoSeries(`karmada_mirror_refused_sources{reason="InvalidAnnotation"}`))
}

// TestDefaultWhileStandby: if the leader could not act on a default, the next leader does.
func TestDefaultWhileStandby(t *testing.T) {
	ns := Isolate(t)
	first := LaunchLeader(t, shortLease()...)
	Create(t, ConfigMaps, Plain(ns, "page", "one"))
	Create(t, ConfigMaps, ConfigMap(ns, "own", Push, "one"))
	WantInMembers(t, ns, "own", "one", Push)
	standby := StartDaemon(t, shortLease()...)
	Must(t, first.Signal(syscall.SIGSTOP))
	Change(t, Namespaces, "", ns, SetAnnotation(render.ClustersAnnotation, Push))
	Pass(t, time.Second) // for the standby to see it
	first.KillNow(t)
	Eventually(t, "the standby to lead", Leads(standby))
	WantInMembers(t, ns, "page", "one", Push)
}

// TestEmptyThenRemoved: an empty list where there is no default is a mistake that keeps
// the Works until the annotation or the object is deleted.
func TestEmptyThenRemoved(t *testing.T) {
	ns := Isolate(t)
	StartDaemon(t)
	for name, remove := range map[string]func(){
		"annotation": func() {
			Change(t, ConfigMaps, ns, "annotation", func(u *unstructured.Unstructured) { u.SetAnnotations(nil) })
		},
		"object": func() { Remove(t, ConfigMaps, ns, "object") },
	} {
		Create(t, ConfigMaps, ConfigMap(ns, name, Push, "one"))
		WantInMembers(t, ns, name, "one", Push)
		Change(t, ConfigMaps, ns, name, SetAnnotation(render.ClustersAnnotation, ""))
		WantEvent(t, ns, name, "InvalidAnnotation", "remove the annotation")
		Settle(t)
		WantInMembers(t, ns, name, "one", Push)
		remove()
		WantGone(t, ConfigMaps, ns, name, Push)
	}
	events, err := eventsIn(t.Context(), ns)
	Must(t, err)
	for name, about := range events {
		if about[0].InvolvedObject.UID == "" {
			t.Errorf("kubectl describe does not show the Event on %s: it has no UID", name)
		}
	}
}

// TestPreserveInOneEdit removes a cluster and, in the same edit, asks for the object there
// to be preserved, as GitOps does.
func TestPreserveInOneEdit(t *testing.T) {
	ns := Isolate(t)
	StartDaemon(t)
	for _, cluster := range []string{Push2, Pull} {
		name := "page-" + cluster
		Create(t, ConfigMaps, ConfigMap(ns, name, Push+","+cluster, "one"))
		WantInMembers(t, ns, name, "one", Push, cluster)
		uids := MemberUIDs(t, ns, name, cluster)
		Change(t, ConfigMaps, ns, name, func(u *unstructured.Unstructured) {
			SetAnnotation(render.ClustersAnnotation, Push)(u)
			SetAnnotation(render.PreserveOnDeletionAnnotation, "true")(u)
		})
		Eventually(t, "the Work to be deleted", CountWorks(ns, cluster, 0))
		Settle(t)
		if now := MemberUIDs(t, ns, name, cluster); now[cluster] != uids[cluster] {
			t.Errorf("the object in %s was deleted or recreated", cluster)
		}
	}
}

// TestNamespaceProtected: deleting a Namespace deletes it in the members, which cannot be
// held; but Karmada can refuse it.
func TestNamespaceProtected(t *testing.T) {
	ns := Isolate(t) + "-protected" // the daemon's own namespace has its Lease and permissions
	makeTestNamespace(t, ns)
	StartDaemon(t)
	Create(t, ConfigMaps, Plain(ns, "page", "one"))
	Change(t, Namespaces, "", ns, SetAnnotation(render.ClustersAnnotation, Push))
	WantInMembers(t, ns, "page", "one", Push)
	WantEvent(t, "", ns, "NamespaceUnprotected", "deletion-protected=Always")
	label := func(value string) {
		Change(t, Namespaces, "", ns, func(u *unstructured.Unstructured) {
			labels := u.GetLabels()
			labels["resourcetemplate.karmada.io/deletion-protected"] = value
			u.SetLabels(labels)
		})
	}
	label("Always")
	err := Env.Admin.Resource(Namespaces).Delete(t.Context(), ns, metav1.DeleteOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("a protected Namespace can be deleted: %v", err)
	}
	Settle(t)
	WantInMembers(t, ns, "page", "one", Push)
	label("")
	Must(t, Env.Admin.Resource(Namespaces).Delete(t.Context(), ns, metav1.DeleteOptions{}))
	WantGone(t, ConfigMaps, ns, "page", Push)
}
