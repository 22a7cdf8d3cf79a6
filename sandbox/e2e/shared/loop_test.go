package shared

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/render"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

func TestCreateAndUpdate(t *testing.T) {
	ns := Isolate(t)
	StartDaemon(t)
	source := ConfigMap(ns, "page", Both, "one")
	annotations := source.GetAnnotations()
	annotations["example.com/note"] = "kept"
	annotations["example.com/old"] = "to be removed"
	source.SetAnnotations(annotations)
	Create(t, ConfigMaps, source)
	WantInMembers(t, ns, "page", "one", Push, Pull)

	Change(t, ConfigMaps, ns, "page", func(u *unstructured.Unstructured) {
		SetField("two", "data", "key")(u)
		annotations := u.GetAnnotations()
		delete(annotations, "example.com/old")
		annotations["example.com/new"] = "added"
		u.SetAnnotations(annotations)
	})
	WantInMembers(t, ns, "page", "two", Push, Pull)
	for _, member := range []string{Push, Pull} {
		Eventually(t, "the annotations in "+member, func(ctx context.Context) error {
			u, err := Env.Member(member).Resource(ConfigMaps).Namespace(ns).Get(ctx, "page", metav1.GetOptions{})
			if err != nil {
				return err
			}
			got := u.GetAnnotations()
			_, old := got["example.com/old"]
			_, own := got[render.ClustersAnnotation]
			if old || own || got["example.com/note"] != "kept" || got["example.com/new"] != "added" {
				return fmt.Errorf("they are %v", got)
			}
			return nil
		})
	}
	WantGone(t, ConfigMaps, ns, "page", Push2)
}

func TestMemberRemovedFromList(t *testing.T) {
	ns := Isolate(t)
	StartDaemon(t)
	Create(t, ConfigMaps, ConfigMap(ns, "page", Both+","+Push2, "one"))
	WantInMembers(t, ns, "page", "one", Push, Push2, Pull)
	Change(t, ConfigMaps, ns, "page", SetAnnotation(render.ClustersAnnotation, Push2))
	WantGone(t, ConfigMaps, ns, "page", Push, Pull)
	WantInMembers(t, ns, "page", "one", Push2)
}

func TestAnnotationRemoved(t *testing.T) {
	ns := Isolate(t)
	StartDaemon(t)
	Create(t, ConfigMaps, ConfigMap(ns, "page", Both, "one"))
	WantInMembers(t, ns, "page", "one", Push, Pull)
	Change(t, ConfigMaps, ns, "page", func(u *unstructured.Unstructured) { u.SetAnnotations(nil) })
	WantGone(t, ConfigMaps, ns, "page", Push, Pull)
}

func TestSourceDeleted(t *testing.T) {
	ns := Isolate(t)
	StartDaemon(t)
	Create(t, ConfigMaps, ConfigMap(ns, "page", Both, "one"))
	WantInMembers(t, ns, "page", "one", Push, Pull)
	Remove(t, ConfigMaps, ns, "page")
	WantGone(t, ConfigMaps, ns, "page", Push, Pull)
}

func TestSourceDeletedWhileDown(t *testing.T) {
	ns := Isolate(t)
	d := StartDaemon(t)
	Create(t, ConfigMaps, ConfigMap(ns, "deleted", Both, "one"))
	Create(t, ConfigMaps, ConfigMap(ns, "released", Both, "one"))
	Create(t, ConfigMaps, ConfigMap(ns, "kept", Both, "one"))
	for _, name := range []string{"deleted", "released", "kept"} {
		WantInMembers(t, ns, name, "one", Push, Pull)
	}
	d.MustStop(t)
	Remove(t, ConfigMaps, ns, "deleted")
	Change(t, ConfigMaps, ns, "released", func(u *unstructured.Unstructured) { u.SetAnnotations(nil) })
	Change(t, ConfigMaps, ns, "kept", SetField("two", "data", "key"))
	StartDaemon(t)
	WantGone(t, ConfigMaps, ns, "deleted", Push, Pull)
	WantGone(t, ConfigMaps, ns, "released", Push, Pull)
	WantInMembers(t, ns, "kept", "two", Push, Pull)
}

func TestWorkEditedByHand(t *testing.T) {
	ns := Isolate(t)
	StartDaemon(t)
	Create(t, ConfigMaps, ConfigMap(ns, "page", Both, "one"))
	WantInMembers(t, ns, "page", "one", Push, Pull)
	edits := map[string]func(*unstructured.Unstructured){
		// Suspended, so that Karmada carries out only the repair: it compares with a cache of
		// the member, and takes a member whose edit has not got there yet for repaired.
		"Content": func(u *unstructured.Unstructured) {
			SetField(true, "spec", "suspendDispatching")(u)
			manifests, _, _ := unstructured.NestedSlice(u.Object, "spec", "workload", "manifests")
			manifest := manifests[0].(map[string]any)
			SetField("edited", "data", "key")(&unstructured.Unstructured{Object: manifest})
			SetField(manifests, "spec", "workload", "manifests")(u)
		},
		"Label": func(u *unstructured.Unstructured) {
			unstructured.RemoveNestedField(u.Object, "metadata", "labels", render.ManagedByLabel)
		},
		"SourceID":   func(u *unstructured.Unstructured) { SetField("forged", "metadata", "labels", render.SourceIDLabel)(u) },
		"SourceUID":  SetAnnotation(render.SourceUIDAnnotation, "another"),
		"Finalizer":  func(u *unstructured.Unstructured) { u.SetFinalizers(nil) },
		"Suspension": SetField(true, "spec", "suspendDispatching"),
	}
	before := map[string]*unstructured.Unstructured{}
	for _, cluster := range []string{Push, Pull} {
		before[cluster] = MustWork(t, ConfigMapWork(ns, "page", cluster))
	}
	for name, edit := range edits {
		t.Run(name, func(t *testing.T) {
			for cluster, before := range before {
				work := ConfigMapWork(ns, "page", cluster)
				Change(t, Works, work.Namespace, work.Name, edit)
				Eventually(t, "the Work to be repaired", func(ctx context.Context) error {
					now, err := GetWork(ctx, work)
					if err != nil {
						return err
					}
					return sameWork(before, now)
				})
			}
			WantInMembers(t, ns, "page", "one", Push, Pull)
		})
	}
}

// sameWork compares the parts that the daemon is responsible for.
func sameWork(want, got *unstructured.Unstructured) error {
	if want.GetUID() != got.GetUID() {
		return errors.New("it is another Work")
	}
	if diff := cmp.Diff(want.Object["spec"], got.Object["spec"]); diff != "" {
		return fmt.Errorf("its spec, -before +after:\n%s", diff)
	}
	for _, key := range []string{render.ManagedByLabel, render.SourceIDLabel} {
		if want.GetLabels()[key] != got.GetLabels()[key] {
			return fmt.Errorf("its label %s is %q", key, got.GetLabels()[key])
		}
	}
	for _, key := range []string{render.SourceAnnotation, render.SourceUIDAnnotation, render.SourceCreatedAnnotation} {
		if want.GetAnnotations()[key] != got.GetAnnotations()[key] {
			return fmt.Errorf("its annotation %s is %q", key, got.GetAnnotations()[key])
		}
	}
	if !slices.Equal(want.GetFinalizers(), got.GetFinalizers()) {
		return fmt.Errorf("its finalizers are %v", got.GetFinalizers())
	}
	return nil
}

func TestWorkDeletedByHand(t *testing.T) {
	ns := Isolate(t)
	StartDaemon(t)
	Create(t, ConfigMaps, ConfigMap(ns, "page", Both, "one"))
	WantInMembers(t, ns, "page", "one", Push, Pull)
	for _, cluster := range []string{Push, Pull} {
		work := ConfigMapWork(ns, "page", cluster)
		before := MustWork(t, work)
		Remove(t, Works, work.Namespace, work.Name)
		Eventually(t, "another Work", func(ctx context.Context) error {
			now, err := GetWork(ctx, work)
			if err == nil && now.GetUID() == before.GetUID() {
				err = fmt.Errorf("it is still the old one")
			}
			return err
		})
	}
	WantInMembers(t, ns, "page", "one", Push, Pull)
}

func TestMemberObjectDeletedByHand(t *testing.T) {
	ns := Isolate(t)
	StartDaemon(t)
	Create(t, ConfigMaps, ConfigMap(ns, "page", Both, "one"))
	WantInMembers(t, ns, "page", "one", Push, Pull)
	for _, member := range []string{Push, Pull} {
		objects := Env.Member(member).Resource(ConfigMaps).Namespace(ns)
		before, err := objects.Get(t.Context(), "page", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := objects.Delete(t.Context(), "page", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		Eventually(t, "Karmada to repair the object in "+member, func(ctx context.Context) error {
			now, err := objects.Get(ctx, "page", metav1.GetOptions{})
			if err == nil && now.GetUID() == before.GetUID() {
				err = fmt.Errorf("it is still the old one")
			}
			return err
		})
	}
}

func TestRecreatedUnderTheSameName(t *testing.T) {
	ns := Isolate(t)
	d := StartDaemon(t)
	Create(t, ConfigMaps, ConfigMap(ns, "page", Both, "one"))
	WantInMembers(t, ns, "page", "one", Push, Pull)
	d.MustStop(t)
	Remove(t, ConfigMaps, ns, "page")
	second := Create(t, ConfigMaps, ConfigMap(ns, "page", Pull, "two"))
	StartDaemon(t)
	WantGone(t, ConfigMaps, ns, "page", Push)
	WantInMembers(t, ns, "page", "two", Pull)
	Eventually(t, "the new UID on the Work", func(ctx context.Context) error {
		work, err := GetWork(ctx, ConfigMapWork(ns, "page", Pull))
		if err == nil && work.GetAnnotations()[render.SourceUIDAnnotation] != string(second.GetUID()) {
			err = fmt.Errorf("it has the UID %q", work.GetAnnotations()[render.SourceUIDAnnotation])
		}
		return err
	})
	Eventually(t, "the unwanted Work to be deleted", func(ctx context.Context) error {
		_, err := GetWork(ctx, ConfigMapWork(ns, "page", Push))
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it still exists: %v", err)
	})
}

// TestContested has another controller undo every write of a Work at once.
func TestContested(t *testing.T) {
	ns := Isolate(t)
	const told, watched = "another writer keeps undoing writes to the Work: writing it less often", 10 * time.Second
	d := StartDaemon(t)
	CreatePages(t, ns, Push, 5)
	WantSources(t, ns)
	f := NewFault(t, "Another controller undoes every write of a Work", ns)
	name := ConfigMapWork(ns, "page-0", Push)
	undone := 0
	undo := func() {
		written := false
		Change(t, Works, name.Namespace, name.Name, func(w *unstructured.Unstructured) {
			manifests, _, _ := unstructured.NestedSlice(w.Object, "spec", "workload", "manifests")
			data := manifests[0].(map[string]any)["data"].(map[string]any)
			written, data["key"] = data["key"] != "mine", "mine"
			SetField(manifests, "spec", "workload", "manifests")(w)
		})
		if written {
			undone++
			f.Heal()
		}
		Pass(t, 50*time.Millisecond)
	}
	for limit := time.Now().Add(2 * Patience); d.Logged(told) == 0; undo() {
		if time.Now().After(limit) {
			t.Fatalf("%d writes were undone, and nothing was logged", undone)
		}
	}
	freely := undone
	for end := time.Now().Add(watched); time.Now().Before(end); {
		undo()
	}
	// The pauses are 1, 2, 4 and 8 s.
	if freely < 10 || undone-freely > 4 {
		t.Errorf("%d writes were undone freely, and then %d in %s", freely, undone-freely, watched)
	}
	f.Note = fmt.Sprintf("undone %d times at once, then %d times in %s; from the last time on", freely, undone-freely, watched)
	f.Converge(Patience)
}

// TestMassRecreation deletes all objects and recreates them at once.
func TestMassRecreation(t *testing.T) {
	ns := Isolate(t)
	const sources = massRecreated
	StartDaemon(t)
	makeAll := func(value string) {
		t.Helper()
		InParallel(t, sources, func(ctx context.Context, i int) error {
			_, err := Env.Admin.Resource(ConfigMaps).Namespace(ns).Create(ctx, ConfigMap(ns, fmt.Sprintf("page-%d", i), Push, value), metav1.CreateOptions{})
			return err
		})
	}
	makeAll("one")
	Within(t, 4*Patience, "the Works", func(ctx context.Context) error { return Disagreement(ctx, ns, ConfigMaps) })
	f := NewFault(t, fmt.Sprintf("%d objects deleted and recreated at once", sources), ns)
	for i := range sources { // in between, Works of missing objects may be deleted: once
		f.Allow(render.Identity{Kind: "ConfigMap", Namespace: ns, Name: fmt.Sprintf("page-%d", i)}, Push)
	}
	RemoveAll(t, ConfigMaps, ns, AllPages)
	makeAll("two")
	f.Heal()
	f.Converge(4 * Patience)
	deletions := map[string]int{}
	for _, name := range f.Audit.Deleted(t) {
		if deletions[name]++; deletions[name] > 1 {
			t.Errorf("%s was deleted %d times", name, deletions[name])
		}
	}
	f.Remark(fmt.Sprintf("every Work has the new UID; %d were deleted in between", len(deletions)))
	f.End()
	RemoveAll(t, ConfigMaps, ns, AllPages)
	Within(t, 4*Patience, "the Works to be deleted", func(ctx context.Context) error { return Disagreement(ctx, ns, ConfigMaps) })
}
