// Package sample makes what the tests of the packages around it look at: one object, its
// Works and what others do to them, as the API server has them. It knows of ours only what
// a Work is made from.
package sample

import (
	"fmt"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/render"
)

// Of the source that most tests are about.
var (
	Page    = render.Identity{Kind: "ConfigMap", Namespace: "shop", Name: "page"}
	Created = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
)

// Numbered is one source of many.
func Numbered(i int) render.Identity {
	return render.Identity{Kind: "ConfigMap", Namespace: "shop", Name: fmt.Sprint(i)}
}

// Annotations are those of an object.
type Annotations = map[string]string

// Change is what has become of an object since it was made.
type Change = func(*unstructured.Unstructured)

// Object is the source as the API server has it.
func Object(wishes Annotations) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"namespace": Page.Namespace, "name": Page.Name, "uid": "1", "creationTimestamp": Created.Format(time.RFC3339)},
		"data":     map[string]any{"key": "value"},
	}}
	u.SetAnnotations(wishes)
	return u
}

// Asking is the source with an annotation; uid tells its incarnations apart.
func Asking(uid, clusters string) *unstructured.Unstructured {
	u := Object(Annotations{render.ClustersAnnotation: clusters})
	u.SetUID(types.UID(uid))
	return u
}

// Work is the Work of a source for a cluster as the API server has it.
func Work(source *unstructured.Unstructured, cluster string, changes ...Change) *unstructured.Unstructured {
	gvk := source.GroupVersionKind()
	id := render.Identity{Group: gvk.Group, Kind: gvk.Kind, Namespace: source.GetNamespace(), Name: source.GetName()}
	manifest, err := render.NewManifest(source.DeepCopy(), id, source.GetUID())
	if err != nil {
		panic(err) // a mistake in the test
	}
	options, err := render.ReadWishes(source.GetAnnotations()).Options()
	if err != nil {
		panic(err) // a mistake in the test
	}
	return WorkOf(manifest.With(options).Work(cluster), changes...)
}

// WorkOf is what the API server makes of a Work that is created.
func WorkOf(created []byte, changes ...Change) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(created); err != nil {
		panic(err) // the template's own output
	}
	u.SetUID("work-uid")
	u.SetResourceVersion("7")
	for _, change := range changes {
		change(u)
	}
	return u
}

// Terminating is a Work that is being deleted.
func Terminating(u *unstructured.Unstructured) {
	now := metav1.Now()
	u.SetDeletionTimestamp(&now)
}

// BindingLabel is a Work that bears the label of a binding and no other.
func BindingLabel(u *unstructured.Unstructured) {
	u.SetLabels(map[string]string{"resourcebinding.karmada.io/permanent-id": "x"})
}

// Relabelled is a Work whose labels somebody has replaced.
func Relabelled(u *unstructured.Unstructured) {
	u.SetLabels(map[string]string{"resourcebinding": "none"})
}

// OfNamesake is the Work of a source of another group, which has the same name.
func OfNamesake(u *unstructured.Unstructured) {
	SaysNamesake(u)
	carry(u, map[string]any{"apiVersion": "example.io/v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": Page.Namespace, "name": Page.Name}})
}

// SaysNamesake is a Work that says to be of that source, and carries what it did before.
func SaysNamesake(u *unstructured.Unstructured) {
	Annotate(u, render.SourceAnnotation, "ConfigMap.example.io/shop/page")
}

// HandedOver is a Work that was the page's when a policy claimed that.
func HandedOver(u *unstructured.Unstructured) {
	Annotate(u, render.HandoverAnnotation, "ConfigMap/shop/page")
}

// Misfiled is a Work whose label for look-up is wrong.
func Misfiled(u *unstructured.Unstructured) { SetLabel(u, render.SourceIDLabel, "x") }

// Edited is a Work whose spec somebody has changed.
func Edited(u *unstructured.Unstructured) {
	if err := unstructured.SetNestedField(u.Object, true, "spec", "suspendDispatching"); err != nil {
		panic(err)
	}
}

// Bound is a Work that a binding has taken.
func Bound(u *unstructured.Unstructured) {
	SetLabel(u, "resourcebinding.karmada.io/permanent-id", "x")
	Annotate(u, "resourcebinding.karmada.io/namespace", Page.Namespace)
	Annotate(u, "resourcebinding.karmada.io/name", "page-configmap")
}

// Overwritten is a Work into which somebody who wanted its name has written another object.
func Overwritten(u *unstructured.Unstructured) {
	carry(u, map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": Page.Name}})
}

// Emptied is a Work that carries nothing that can be named.
func Emptied(u *unstructured.Unstructured) { carry(u) }

func carry(u *unstructured.Unstructured, manifests ...any) {
	if err := unstructured.SetNestedSlice(u.Object, manifests, "spec", "workload", "manifests"); err != nil {
		panic(err)
	}
}

// Quota is a Work that a FederatedResourceQuota has taken.
func Quota(u *unstructured.Unstructured) { SetLabel(u, "federatedresourcequota.karmada.io/name", "x") }

// Unfinalized is a Work without its finalizer.
func Unfinalized(u *unstructured.Unstructured) { u.SetFinalizers(nil) }

// Long is a Work with the longer name.
func Long(u *unstructured.Unstructured) { u.SetName(Page.LongWorkName()) }

// Remarked is a Work of which somebody has changed an annotation of ours.
func Remarked(u *unstructured.Unstructured) {
	u.SetAnnotations(map[string]string{render.SourceAnnotation: Page.String(), render.SourceUIDAnnotation: "another"})
}

// Released is a Work to which the very patch was applied that the daemon sends.
func Released(u *unstructured.Unstructured) {
	applyPatch(u, render.Release(Page, u.GetResourceVersion()))
}

// Marked is a Work whose deletion is held.
func Marked(u *unstructured.Unstructured) { MarkedAs("the source does not exist")(u) }

// MarkedAs is a Work whose deletion is held, and why it is due.
func MarkedAs(because string) Change {
	return func(u *unstructured.Unstructured) {
		hold := render.Hold{Since: time.Unix(1, 0), Resource: "configmaps", Because: because}
		applyPatch(u, hold.Patch(u.GetResourceVersion()))
	}
}

func applyPatch(u *unstructured.Unstructured, patch []byte) {
	before, err := u.MarshalJSON()
	if err != nil {
		panic(err) // the template's own output
	}
	after, err := jsonpatch.MergePatch(before, patch)
	if err != nil {
		panic(err) // our own patch
	}
	if err := u.UnmarshalJSON(after); err != nil {
		panic(err)
	}
}

// WrittenAt is when the spec of a Work was written.
func WrittenAt(at time.Time) Change {
	return func(u *unstructured.Unstructured) {
		u.SetManagedFields([]metav1.ManagedFieldsEntry{
			{Manager: "karmada-mirror", Time: new(metav1.NewTime(at))},
			{Manager: "karmada-controller-manager", Subresource: "status", Time: new(metav1.NewTime(at.Add(time.Hour)))},
		})
	}
}

// Applied is a Work of which Karmada says so.
func Applied(status string) Change {
	return func(u *unstructured.Unstructured) {
		u.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Applied", "status": status, "reason": "x", "message": "", "lastTransitionTime": Created.Format(time.RFC3339)}}}
	}
}

// Version is an object at that version.
func Version(v string) Change {
	return func(u *unstructured.Unstructured) { u.SetResourceVersion(v) }
}

// Generation is that of a Work whose spec has changed so often.
func Generation(n int64) Change {
	return func(u *unstructured.Unstructured) { u.SetGeneration(n) }
}

// Annotate adds an annotation to an object that has others.
func Annotate(u *unstructured.Unstructured, key, value string) {
	all := u.GetAnnotations()
	all[key] = value
	u.SetAnnotations(all)
}

// SetLabel adds a label.
func SetLabel(u *unstructured.Unstructured, key, value string) {
	labels := u.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[key] = value
	u.SetLabels(labels)
}

// Autoscaler is one that scales what apiVersion, kind and name say.
func Autoscaler(wishes Annotations, apiVersion, kind, name string) *unstructured.Unstructured {
	u := Object(wishes)
	u.SetAPIVersion("autoscaling/v2")
	u.SetKind("HorizontalPodAutoscaler")
	u.SetName("autoscaler")
	delete(u.Object, "data")
	u.Object["spec"] = map[string]any{"scaleTargetRef": map[string]any{"apiVersion": apiVersion, "kind": kind, "name": name}}
	return u
}

// Cluster is a Cluster that has joined.
func Cluster(name, tier string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion("cluster.karmada.io/v1alpha1")
	u.SetKind("Cluster")
	u.SetName(name)
	u.SetUID("of-a-cluster")
	u.SetResourceVersion("5")
	if tier != "" {
		u.SetLabels(map[string]string{"tier": tier})
	}
	return u
}

// Namespace is the Namespace of the page.
func Namespace(defaults Annotations) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion("v1")
	u.SetKind("Namespace")
	u.SetName(Page.Namespace)
	u.SetUID("of-a-namespace")
	u.SetResourceVersion("5")
	u.SetAnnotations(defaults)
	return u
}
