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

// TestDefaultComesAndGoes: what a Namespace says is carried out each time, also when it
// says again what it has said before.
func TestDefaultComesAndGoes(t *testing.T) {
	const objects = 5
	const all = objects + 1 // the daemon's own ConfigMap is in the Namespace too
	ns := Isolate(t)
	StartDaemon(t)
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
			Eventually(t, "the Works to go on", areSuspended(false))
		}
		says(render.ClustersAnnotation, "")
		Eventually(t, "the Works to go", CountWorks(ns, Push, 0))
		WantGone(t, ConfigMaps, ns, "page-0", Push)
	}
}

// TestDefaultWhileStandby: a default that was set while the leader could not act on it is
// the business of the next one.
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

// TestEmptyThenRemoved: an empty list where there is no default is a mistake that keeps what
// is there, until the annotation goes, or the object.
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
			t.Errorf("kubectl describe does not show the Event on %s: it names no UID", name)
		}
	}
}

// TestPreserveInOneEdit takes a cluster away and says in the same edit that what is there
// shall stay, as GitOps does.
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
		Eventually(t, "the Work to go", CountWorks(ns, cluster, 0))
		Settle(t)
		if now := MemberUIDs(t, ns, name, cluster); now[cluster] != uids[cluster] {
			t.Errorf("the object in %s is gone, or another", cluster)
		}
	}
}

// TestNamespaceProtected: what deletes a Namespace deletes it in the members, and that cannot
// be held back; Karmada can refuse it.
func TestNamespaceProtected(t *testing.T) {
	ns := Isolate(t) + "-protected" // the daemon's own has its Lease and its rights
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
		t.Errorf("a Namespace that is protected can be deleted: %v", err)
	}
	Settle(t)
	WantInMembers(t, ns, "page", "one", Push)
	label("")
	Must(t, Env.Admin.Resource(Namespaces).Delete(t.Context(), ns, metav1.DeleteOptions{}))
	WantGone(t, ConfigMaps, ns, "page", Push)
}
