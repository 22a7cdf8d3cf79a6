package disruptive

import (
	"context"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/render"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// TestNamespaceDefault has a Namespace ask for clusters for all objects in it that do not
// ask themselves. It runs alone because it counts all requests.
func TestNamespaceDefault(t *testing.T) {
	const objects = defaulted
	d := StartDaemon(t)
	Quiesce(t)
	ns := NewNamespace(t)
	for i := range objects {
		Create(t, ConfigMaps, Plain(ns, fmt.Sprintf("page-%04d", i), "one"))
	}
	Create(t, ConfigMaps, ConfigMap(ns, "own", Push2, "one"))
	Create(t, ConfigMaps, ConfigMap(ns, "out", "", "one"))
	WantInMembers(t, ns, "own", "one", Push2)

	began := time.Now()
	Change(t, Namespaces, "", ns, SetAnnotation(render.ClustersAnnotation, Push))
	Within(t, 4*Patience, "the Works of all objects", CountWorks(ns, Push, objects))
	t.Logf("%d Works %s after the Namespace got its default", objects, time.Since(began).Round(10*time.Millisecond))
	WantInMembers(t, ns, "page-0007", "one", Push)
	WantLine(t, MustKarmadaMirror(t, "explain", "cm", "page-0007", "-n", ns), `it asks for karmada.target/clusters="`+Push+`" \(the Namespace's\)$`)
	WantGone(t, ConfigMaps, ns, "own", Push)
	WantGone(t, ConfigMaps, ns, "out", Push, Push2)

	t.Run("Options", func(t *testing.T) {
		Change(t, Namespaces, "", ns, SetAnnotation(render.PreserveOnDeletionAnnotation, "true"))
		Eventually(t, "the option in a Work", func(ctx context.Context) error {
			work, err := GetWork(ctx, ConfigMapWork(ns, "own", Push2))
			if err != nil {
				return err
			}
			if preserve, _, _ := unstructured.NestedBool(work.Object, "spec", "preserveResourcesOnDeletion"); !preserve {
				return fmt.Errorf("the spec is %v", work.Object["spec"])
			}
			return nil
		})
		Change(t, Namespaces, "", ns, func(u *unstructured.Unstructured) {
			unstructured.RemoveNestedField(u.Object, "metadata", "annotations", render.PreserveOnDeletionAnnotation)
		})
		Within(t, 4*Patience, "the option to be removed from all Works", func(ctx context.Context) error {
			list, err := Env.Admin.Resource(Works).List(ctx, metav1.ListOptions{LabelSelector: render.ManagedByLabel})
			if err != nil {
				return err
			}
			for _, work := range list.Items {
				if preserve, _, _ := unstructured.NestedBool(work.Object, "spec", "preserveResourcesOnDeletion"); preserve && SourceNamespace(&work) == ns {
					return fmt.Errorf("%s has it", work.GetName())
				}
			}
			return nil
		})
	})

	t.Run("Edited", func(t *testing.T) {
		Change(t, ConfigMaps, ns, "page-0007", SetField("two", "data", "key"))
		WantInMembers(t, ns, "page-0007", "two", Push)
		Create(t, ConfigMaps, Plain(ns, "late", "one"))
		WantInMembers(t, ns, "late", "one", Push)
		Remove(t, ConfigMaps, ns, "late")
		WantGone(t, ConfigMaps, ns, "late", Push)
	})

	audit := AuditFromNow(t)
	d.MustStop(t)
	d = StartDaemon(t)
	Eventually(t, "the syncs after a restart", AtLeastSyncs(d, objects))
	Eventually(t, "the queue to be empty", d.WantMetric(QueueEmpty, 0))
	if writes := audit.Writes(t); len(writes) > 0 {
		t.Errorf("a restart wrote %v", writes)
	}
	if reads := audit.Reads(t, "configmaps"); reads > 0 {
		t.Errorf("a restart read %d objects one by one", reads)
	}

	t.Run("InvalidDefault", func(t *testing.T) {
		audit := AuditFromNow(t)
		Change(t, Namespaces, "", ns, SetAnnotation(render.ClustersAnnotation, "Not A Name"))
		WantEvent(t, "", ns, "InvalidAnnotation", "cluster name")
		WantLine(t, MustKarmadaMirror(t, "explain", "cm", "page-0007", "-n", ns), "the Namespace's karmada.target/clusters")
		Settle(t)
		if writes := audit.Writes(t); len(writes) > 0 {
			t.Errorf("after an invalid default the daemon wrote %v", writes)
		}
		WantInMembers(t, ns, "page-0007", "two", Push)
		Change(t, Namespaces, "", ns, SetAnnotation(render.ClustersAnnotation, Push))
	})

	audit = AuditFromNow(t)
	Change(t, Namespaces, "", ns, func(u *unstructured.Unstructured) { u.SetAnnotations(nil) })
	Within(t, 4*Patience, "the Works of all objects to be deleted", CountWorks(ns, Push, 0))
	WantInMembers(t, ns, "own", "one", Push2)
	if got := audit.Writes(t)["delete works"]; got != objects {
		t.Errorf("%d deletions for %d Works", got, objects)
	}
	reads := audit.Reads(t, "namespaces")
	if reads == 0 || reads > objects/10 {
		t.Errorf("the Namespace was read %d times for %d deletions", reads, objects)
	}
	t.Logf("the Namespace was read %d times for %d deletions", reads, objects)
}
