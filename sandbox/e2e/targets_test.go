package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/karmada-target/karmada-mirror/render"
)

// label puts a label on a cluster for the length of a test; an empty value takes it
// off.
func label(t *testing.T, cluster, key, value string) {
	t.Helper()
	change(t, clusters, "", cluster, func(u *unstructured.Unstructured) {
		labels := u.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels[key] = value
		if value == "" {
			delete(labels, key)
		}
		u.SetLabels(labels)
	})
}

// plain is a ConfigMap that does not say where to mirror it to.
func plain(namespace, name, value string) *unstructured.Unstructured {
	u := configMap(namespace, name, "", value)
	u.SetAnnotations(nil)
	return u
}

// TestClusterSelector has clusters chosen by their labels, and labels change.
func TestClusterSelector(t *testing.T) {
	const key = "example.com/tier"
	startDaemon(t)
	quiesce(t)
	ns := newNamespace(t)
	t.Cleanup(func() {
		for _, cluster := range []string{push, push2, pull} {
			label(t, cluster, key, "")
		}
	})
	label(t, push, key, "edge")
	label(t, pull, key, "edge")
	selected := plain(ns, "selected", "one")
	selected.SetAnnotations(map[string]string{render.ClusterSelectorAnnotation: key + " in (edge)"})
	create(t, configMaps, selected)
	both := plain(ns, "both", "one")
	both.SetAnnotations(map[string]string{render.ClusterSelectorAnnotation: key + "=edge", render.ClustersAnnotation: push2 + ",!" + pull})
	create(t, configMaps, both)
	create(t, configMaps, configMap(ns, "named", push, "one"))
	wantInMembers(t, ns, "selected", "one", push, pull)
	wantInMembers(t, ns, "both", "one", push, push2)
	wantGone(t, configMaps, ns, "both", pull)
	wantGone(t, configMaps, ns, "selected", push2)

	audit := auditFromNow(t)
	label(t, push2, key, "edge")
	wantInMembers(t, ns, "selected", "one", push2)
	label(t, push, key, "core")
	wantGone(t, configMaps, ns, "selected", push)
	wantGone(t, configMaps, ns, "both", push)
	wantInMembers(t, ns, "both", "one", push2)
	if diff := cmp.Diff(map[string]int{"create works": 1, "delete works": 2}, audit.writes(t)); diff != "" {
		t.Errorf("writes after two changes of labels, -want +got:\n%s", diff)
	}

	change(t, configMaps, ns, "selected", setAnnotation(render.ClusterSelectorAnnotation, key+" in (core)"))
	wantInMembers(t, ns, "selected", "one", push)
	wantGone(t, configMaps, ns, "selected", push2, pull)
	change(t, configMaps, ns, "selected", setAnnotation(render.ClusterSelectorAnnotation, ""))
	wantEvent(t, ns, "selected", "InvalidAnnotation", "selects every cluster")
	wantInMembers(t, ns, "selected", "one", push)
}

// TestNamespaceDefault has a Namespace ask for a thousand objects in it, that did not
// ask themselves.
func TestNamespaceDefault(t *testing.T) {
	const objects = 1000
	d := startDaemon(t)
	quiesce(t)
	ns := newNamespace(t)
	for i := range objects {
		create(t, configMaps, plain(ns, fmt.Sprintf("page-%04d", i), "one"))
	}
	create(t, configMaps, configMap(ns, "own", push2, "one"))
	create(t, configMaps, configMap(ns, "out", "", "one"))
	wantInMembers(t, ns, "own", "one", push2)

	others := countWorks(t, push)
	began := time.Now()
	change(t, namespaces, "", ns, setAnnotation(render.ClustersAnnotation, push))
	within(t, time.Minute, "the Works of all objects", worksAre(push, others+objects))
	t.Logf("%d Works %s after the Namespace got its default", objects, time.Since(began).Round(10*time.Millisecond))
	wantInMembers(t, ns, "page-0007", "one", push)
	wantLine(t, mustKarmadaMirror(t, "explain", "cm", "page-0007", "-n", ns), `it asks for karmada.target/clusters="`+push+`" \(the Namespace's\)$`)
	wantGone(t, configMaps, ns, "own", push)
	wantGone(t, configMaps, ns, "out", push, push2)

	t.Run("Options", func(t *testing.T) {
		change(t, namespaces, "", ns, setAnnotation(render.PreserveOnDeletionAnnotation, "true"))
		eventually(t, "the option in a Work", func(ctx context.Context) error {
			work, err := getWork(ctx, configMapWork(ns, "own", push2))
			if err != nil {
				return err
			}
			if preserve, _, _ := unstructured.NestedBool(work.Object, "spec", "preserveResourcesOnDeletion"); !preserve {
				return fmt.Errorf("the spec is %v", work.Object["spec"])
			}
			return nil
		})
		change(t, namespaces, "", ns, func(u *unstructured.Unstructured) {
			unstructured.RemoveNestedField(u.Object, "metadata", "annotations", render.PreserveOnDeletionAnnotation)
		})
		within(t, time.Minute, "the option to go from all Works", func(ctx context.Context) error {
			list, err := env.admin.Resource(works).List(ctx, metav1.ListOptions{LabelSelector: render.ManagedByLabel})
			if err != nil {
				return err
			}
			for _, work := range list.Items {
				if preserve, _, _ := unstructured.NestedBool(work.Object, "spec", "preserveResourcesOnDeletion"); preserve && sourceNamespace(&work) == ns {
					return fmt.Errorf("%s has it", work.GetName())
				}
			}
			return nil
		})
	})

	t.Run("Edited", func(t *testing.T) {
		change(t, configMaps, ns, "page-0007", setField("two", "data", "key"))
		wantInMembers(t, ns, "page-0007", "two", push)
		create(t, configMaps, plain(ns, "late", "one"))
		wantInMembers(t, ns, "late", "one", push)
		remove(t, configMaps, ns, "late")
		wantGone(t, configMaps, ns, "late", push)
	})

	audit := auditFromNow(t)
	if err := d.stop(); err != nil {
		t.Fatal(err)
	}
	d = startDaemon(t)
	eventually(t, "the syncs after a restart", atLeastSyncs(d, objects))
	eventually(t, "the queue to be empty", d.wantMetric(`workqueue_depth{name="mirror"}`, "0"))
	if writes := audit.writes(t); len(writes) > 0 {
		t.Errorf("a restart wrote %v", writes)
	}
	if reads := audit.reads(t, "configmaps"); reads > 0 {
		t.Errorf("a restart read %d objects one by one", reads)
	}

	t.Run("InvalidDefault", func(t *testing.T) {
		change(t, namespaces, "", ns, setAnnotation(render.ClustersAnnotation, "Not A Name"))
		wantEvent(t, "", ns, "InvalidAnnotation", "cluster name")
		wantLine(t, mustKarmadaMirror(t, "explain", "cm", "page-0007", "-n", ns), "the Namespace's karmada.target/clusters")
		wantInMembers(t, ns, "page-0007", "two", push)
		change(t, namespaces, "", ns, setAnnotation(render.ClustersAnnotation, push))
	})

	audit = auditFromNow(t)
	change(t, namespaces, "", ns, func(u *unstructured.Unstructured) { u.SetAnnotations(nil) })
	within(t, time.Minute, "the Works of all objects to go", worksAre(push, others))
	wantInMembers(t, ns, "own", "one", push2)
	if got := audit.writes(t)["delete works"]; got != objects {
		t.Errorf("%d deletions of %d Works", got, objects)
	}
	reads := audit.reads(t, "namespaces")
	if reads == 0 || reads > objects/10 {
		t.Errorf("the Namespace was read %d times for %d deletions", reads, objects)
	}
	t.Logf("the Namespace was read %d times for %d deletions", reads, objects)
}

// countWorks counts all Works for a cluster. It leaves the counting to the API server:
// a list of them all, again and again, would cost more than what makes them.
func countWorks(t *testing.T, cluster string) int {
	t.Helper()
	n, err := worksFor(t.Context(), cluster)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// worksAre waits for so many Works for a cluster.
func worksAre(cluster string, want int) func(context.Context) error {
	return func(ctx context.Context) error {
		if n, err := worksFor(ctx, cluster); err != nil || n != want {
			return fmt.Errorf("there are %d: %w", n, err)
		}
		return nil
	}
}

func worksFor(ctx context.Context, cluster string) (int, error) {
	list, err := env.admin.Resource(works).Namespace(render.ExecutionNamespace(cluster)).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return 0, err
	}
	return len(list.Items) + int(ptr.Deref(list.GetRemainingItemCount(), 0)), nil
}
