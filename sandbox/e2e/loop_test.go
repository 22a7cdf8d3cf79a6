package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/render"
)

const both = push + "," + pull

func TestCreateAndUpdate(t *testing.T) {
	startDaemon(t)
	ns := newNamespace(t)
	source := configMap(ns, "page", both, "one")
	annotations := source.GetAnnotations()
	annotations["example.com/note"] = "kept"
	annotations["example.com/old"] = "to be removed"
	source.SetAnnotations(annotations)
	create(t, configMaps, source)
	wantInMembers(t, ns, "page", "one", push, pull)

	change(t, configMaps, ns, "page", func(u *unstructured.Unstructured) {
		setField("two", "data", "key")(u)
		annotations := u.GetAnnotations()
		delete(annotations, "example.com/old")
		annotations["example.com/new"] = "added"
		u.SetAnnotations(annotations)
	})
	wantInMembers(t, ns, "page", "two", push, pull)
	for _, member := range []string{push, pull} {
		eventually(t, "the annotations in "+member, func(ctx context.Context) error {
			u, err := env.members[member].Resource(configMaps).Namespace(ns).Get(ctx, "page", metav1.GetOptions{})
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
	wantGone(t, configMaps, ns, "page", push2)
}

func TestMemberRemovedFromList(t *testing.T) {
	startDaemon(t)
	ns := newNamespace(t)
	create(t, configMaps, configMap(ns, "page", both+","+push2, "one"))
	wantInMembers(t, ns, "page", "one", push, push2, pull)
	change(t, configMaps, ns, "page", setAnnotation(render.ClustersAnnotation, push2))
	wantGone(t, configMaps, ns, "page", push, pull)
	wantInMembers(t, ns, "page", "one", push2)
}

func TestAnnotationRemoved(t *testing.T) {
	startDaemon(t)
	ns := newNamespace(t)
	create(t, configMaps, configMap(ns, "page", both, "one"))
	wantInMembers(t, ns, "page", "one", push, pull)
	change(t, configMaps, ns, "page", func(u *unstructured.Unstructured) { u.SetAnnotations(nil) })
	wantGone(t, configMaps, ns, "page", push, pull)
}

func TestSourceDeleted(t *testing.T) {
	startDaemon(t)
	ns := newNamespace(t)
	create(t, configMaps, configMap(ns, "page", both, "one"))
	wantInMembers(t, ns, "page", "one", push, pull)
	remove(t, configMaps, ns, "page")
	wantGone(t, configMaps, ns, "page", push, pull)
}

func TestSourceDeletedWhileDown(t *testing.T) {
	d := startDaemon(t)
	ns := newNamespace(t)
	create(t, configMaps, configMap(ns, "deleted", both, "one"))
	create(t, configMaps, configMap(ns, "released", both, "one"))
	create(t, configMaps, configMap(ns, "kept", both, "one"))
	for _, name := range []string{"deleted", "released", "kept"} {
		wantInMembers(t, ns, name, "one", push, pull)
	}
	if err := d.stop(); err != nil {
		t.Fatal(err)
	}
	remove(t, configMaps, ns, "deleted")
	change(t, configMaps, ns, "released", func(u *unstructured.Unstructured) { u.SetAnnotations(nil) })
	change(t, configMaps, ns, "kept", setField("two", "data", "key"))
	startDaemon(t)
	wantGone(t, configMaps, ns, "deleted", push, pull)
	wantGone(t, configMaps, ns, "released", push, pull)
	wantInMembers(t, ns, "kept", "two", push, pull)
}

func TestWorkEditedByHand(t *testing.T) {
	startDaemon(t)
	ns := newNamespace(t)
	create(t, configMaps, configMap(ns, "page", both, "one"))
	wantInMembers(t, ns, "page", "one", push, pull)
	edits := map[string]func(*unstructured.Unstructured){
		"Content": func(u *unstructured.Unstructured) {
			manifests, _, _ := unstructured.NestedSlice(u.Object, "spec", "workload", "manifests")
			manifest := manifests[0].(map[string]any)
			setField("edited", "data", "key")(&unstructured.Unstructured{Object: manifest})
			setField(manifests, "spec", "workload", "manifests")(u)
		},
		"Label": func(u *unstructured.Unstructured) {
			unstructured.RemoveNestedField(u.Object, "metadata", "labels", render.ManagedByLabel)
		},
		"SourceID":   func(u *unstructured.Unstructured) { setField("forged", "metadata", "labels", render.SourceIDLabel)(u) },
		"SourceUID":  setAnnotation(render.SourceUIDAnnotation, "another"),
		"Finalizer":  func(u *unstructured.Unstructured) { u.SetFinalizers(nil) },
		"Suspension": setField(true, "spec", "suspendDispatching"),
	}
	for name, edit := range edits {
		t.Run(name, func(t *testing.T) {
			for _, cluster := range []string{push, pull} {
				work := configMapWork(ns, "page", cluster)
				before := mustWork(t, work)
				change(t, works, work.Namespace, work.Name, edit)
				eventually(t, "the Work to be repaired", func(ctx context.Context) error {
					now, err := getWork(ctx, work)
					if err != nil {
						return err
					}
					return sameWork(before, now)
				})
			}
			wantInMembers(t, ns, "page", "one", push, pull)
		})
	}
}

// sameWork compares what the daemon is responsible for.
func sameWork(want, got *unstructured.Unstructured) error {
	wantDigest, err := render.DigestOf(want.Object, want.GetNamespace())
	if err != nil {
		return err
	}
	gotDigest, err := render.DigestOf(got.Object, got.GetNamespace())
	if err != nil {
		return err
	}
	if want.GetUID() != got.GetUID() || wantDigest != gotDigest {
		return fmt.Errorf("its content differs")
	}
	for _, key := range []string{render.ManagedByLabel, render.SourceIDLabel} {
		if want.GetLabels()[key] != got.GetLabels()[key] {
			return fmt.Errorf("its label %s is %q", key, got.GetLabels()[key])
		}
	}
	if want.GetAnnotations()[render.SourceUIDAnnotation] != got.GetAnnotations()[render.SourceUIDAnnotation] || len(got.GetFinalizers()) == 0 {
		return fmt.Errorf("its annotations are %v, its finalizers %v", got.GetAnnotations(), got.GetFinalizers())
	}
	return nil
}

func TestWorkDeletedByHand(t *testing.T) {
	startDaemon(t)
	ns := newNamespace(t)
	create(t, configMaps, configMap(ns, "page", both, "one"))
	wantInMembers(t, ns, "page", "one", push, pull)
	for _, cluster := range []string{push, pull} {
		work := configMapWork(ns, "page", cluster)
		before := mustWork(t, work)
		remove(t, works, work.Namespace, work.Name)
		eventually(t, "another Work", func(ctx context.Context) error {
			now, err := getWork(ctx, work)
			if err == nil && now.GetUID() == before.GetUID() {
				err = fmt.Errorf("it is still the old one")
			}
			return err
		})
	}
	wantInMembers(t, ns, "page", "one", push, pull)
}

func TestMemberObjectDeletedByHand(t *testing.T) {
	startDaemon(t)
	ns := newNamespace(t)
	create(t, configMaps, configMap(ns, "page", both, "one"))
	wantInMembers(t, ns, "page", "one", push, pull)
	for _, member := range []string{push, pull} {
		objects := env.members[member].Resource(configMaps).Namespace(ns)
		before, err := objects.Get(t.Context(), "page", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := objects.Delete(t.Context(), "page", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "Karmada to repair the object in "+member, func(ctx context.Context) error {
			now, err := objects.Get(ctx, "page", metav1.GetOptions{})
			if err == nil && now.GetUID() == before.GetUID() {
				err = fmt.Errorf("it is still the old one")
			}
			return err
		})
	}
}

func TestRecreatedUnderTheSameName(t *testing.T) {
	d := startDaemon(t)
	ns := newNamespace(t)
	create(t, configMaps, configMap(ns, "page", both, "one"))
	wantInMembers(t, ns, "page", "one", push, pull)
	if err := d.stop(); err != nil {
		t.Fatal(err)
	}
	remove(t, configMaps, ns, "page")
	second := create(t, configMaps, configMap(ns, "page", pull, "two"))
	startDaemon(t)
	wantGone(t, configMaps, ns, "page", push)
	wantInMembers(t, ns, "page", "two", pull)
	eventually(t, "the new UID on the Work", func(ctx context.Context) error {
		work, err := getWork(ctx, configMapWork(ns, "page", pull))
		if err == nil && work.GetAnnotations()[render.SourceUIDAnnotation] != string(second.GetUID()) {
			err = fmt.Errorf("it has the UID %q", work.GetAnnotations()[render.SourceUIDAnnotation])
		}
		return err
	})
	eventually(t, "the Work that nobody asks for to go", func(ctx context.Context) error {
		_, err := getWork(ctx, configMapWork(ns, "page", push))
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is still there: %v", err)
	})
}

// testContested has somebody undo every write of a Work at once.
func testContested(t *testing.T) {
	const told, watched = "somebody undoes what is written: writing it less often", 10 * time.Second
	ns := newNamespace(t)
	d := startDaemon(t, slice(t, ns)...)
	ids := createPages(t, ns, push, 5)
	wantSources(t, ns)
	f := newFault(t, "Somebody undoes every write of a Work", ns)
	f.only(ids, push)
	name := configMapWork(ns, "page-0", push)
	undone := 0
	undo := func() {
		written := false
		change(t, works, name.Namespace, name.Name, func(w *unstructured.Unstructured) {
			manifests, _, _ := unstructured.NestedSlice(w.Object, "spec", "workload", "manifests")
			data := manifests[0].(map[string]any)["data"].(map[string]any)
			written, data["key"] = data["key"] != "mine", "mine"
			setField(manifests, "spec", "workload", "manifests")(w)
		})
		if written {
			undone++
			f.heal()
		}
		pass(t, 50*time.Millisecond)
	}
	for limit := time.Now().Add(2 * patience); d.logged(told) == 0; undo() {
		if time.Now().After(limit) {
			t.Fatalf("%d writes were undone, and nothing was said", undone)
		}
	}
	freely := undone
	for end := time.Now().Add(watched); time.Now().Before(end); {
		undo()
	}
	// The pauses are 1, 2, 4 and 8 s.
	if freely < 10 || undone-freely > 4 {
		t.Errorf("%d writes were undone, and then %d in %s", freely, undone-freely, watched)
	}
	f.note = fmt.Sprintf("undone %d times at once, then %d times in %s; from the last one on", freely, undone-freely, watched)
	f.converge(patience)
}

// TestMassRecreation deletes a thousand objects and makes them again at once.
func TestMassRecreation(t *testing.T) {
	const sources = 1000
	startDaemon(t)
	quiesce(t)
	ns := newNamespace(t)
	makeAll := func(value string) {
		t.Helper()
		inParallel(t, sources, func(ctx context.Context, i int) error {
			_, err := env.admin.Resource(configMaps).Namespace(ns).Create(ctx, configMap(ns, fmt.Sprintf("page-%d", i), push, value), metav1.CreateOptions{})
			return err
		})
	}
	makeAll("one")
	within(t, 2*patience, "the Works", func(ctx context.Context) error { return disagreement(ctx, ns, configMaps) })
	f := newFault(t, "1,000 objects deleted and made again at once", ns)
	for i := range sources { // between the two, what does not exist may be deleted: once
		f.allow(render.Identity{Kind: "ConfigMap", Namespace: ns, Name: fmt.Sprintf("page-%d", i)}, push)
	}
	removeAll(t, configMaps, ns, allPages)
	makeAll("two")
	f.heal()
	f.converge(2 * patience)
	deletions := map[string]int{}
	for _, name := range f.audit.deleted(t) {
		if deletions[name]++; deletions[name] > 1 {
			t.Errorf("%s was deleted %d times", name, deletions[name])
		}
	}
	f.note = fmt.Sprintf("every Work carries the new UID; %d were deleted in between", len(deletions))
	env.rows.note(f.name, f.note)
	removeAll(t, configMaps, ns, allPages)
	within(t, 2*patience, "the Works to go", func(ctx context.Context) error { return disagreement(ctx, ns, configMaps) })
}

// inParallel calls do for each of n numbers, some at a time.
func inParallel(t *testing.T, n int, do func(context.Context, int) error) {
	t.Helper()
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(16)
	for i := range n {
		group.Go(func() error { return do(ctx, i) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}
