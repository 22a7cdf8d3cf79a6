// Package sample makes the fixtures for the tests of the packages around it: one object, its
// Works and what others do to them, as the API server has them. Of our packages, it imports
// only the one that renders Works.
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

// The identity of the source that most tests use, and when it was created.
var (
	Page    = render.Identity{Kind: "ConfigMap", Namespace: "shop", Name: "page"}
	Created = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
)

// Numbered returns one source of many.
func Numbered(i int) render.Identity {
	return render.Identity{Kind: "ConfigMap", Namespace: "shop", Name: fmt.Sprint(i)}
}

// Annotations are the annotations of an object.
type Annotations = map[string]string

// Change modifies an object after its creation.
type Change = func(*unstructured.Unstructured)

// Object returns the source as the API server has it.
func Object(wishes Annotations) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"namespace": Page.Namespace, "name": Page.Name, "uid": "1", "creationTimestamp": Created.Format(time.RFC3339)},
		"data":     map[string]any{"key": "value"},
	}}
	u.SetAnnotations(wishes)
	return u
}

// Asking returns the source, asking for clusters; uid distinguishes its incarnations.
func Asking(uid, clusters string) *unstructured.Unstructured {
	u := Object(Annotations{render.ClustersAnnotation: clusters})
	u.SetUID(types.UID(uid))
	return u
}

// Work returns the Work of a source for a cluster as the API server has it.
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
	return WorkOf(manifest.Template(options).Work(cluster), changes...)
}

// WorkOf returns a created Work as the API server has it.
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

// Terminating makes a Work one that is being deleted.
func Terminating(u *unstructured.Unstructured) {
	now := metav1.Now()
	u.SetDeletionTimestamp(&now)
}

// Preserving makes a Work one whose object stays in the member when it is deleted.
func Preserving(u *unstructured.Unstructured) {
	if err := unstructured.SetNestedField(u.Object, true, "spec", "preserveResourcesOnDeletion"); err != nil {
		panic(err)
	}
}

// BindingLabel leaves a Work with the label of a binding and no other.
func BindingLabel(u *unstructured.Unstructured) {
	u.SetLabels(map[string]string{"resourcebinding.karmada.io/permanent-id": "x"})
}

// Relabelled replaces the labels of a Work, as a user may.
func Relabelled(u *unstructured.Unstructured) {
	u.SetLabels(map[string]string{"resourcebinding": "none"})
}

// OfNamesake makes a Work one of a source of another group that has the same name.
func OfNamesake(u *unstructured.Unstructured) {
	SaysNamesake(u)
	carry(u, map[string]any{"apiVersion": "example.io/v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": Page.Namespace, "name": Page.Name}})
}

// SaysNamesake makes a Work name that source, and carry the same manifest as before.
func SaysNamesake(u *unstructured.Unstructured) {
	Annotate(u, render.SourceAnnotation, "ConfigMap.example.io/shop/page")
}

// HandedOver marks a Work that was the page's when a policy claimed the page.
func HandedOver(u *unstructured.Unstructured) {
	Annotate(u, render.HandoverAnnotation, "ConfigMap/shop/page")
}

// Misfiled gives a Work a wrong lookup label.
func Misfiled(u *unstructured.Unstructured) { SetLabel(u, render.SourceIDLabel, "x") }

// Edited changes the spec of a Work, as a user may.
func Edited(u *unstructured.Unstructured) {
	if err := unstructured.SetNestedField(u.Object, true, "spec", "suspendDispatching"); err != nil {
		panic(err)
	}
}

// Bound makes a Work one that a binding has taken over.
func Bound(u *unstructured.Unstructured) {
	SetLabel(u, "resourcebinding.karmada.io/permanent-id", "x")
	Annotate(u, "resourcebinding.karmada.io/namespace", Page.Namespace)
	Annotate(u, "resourcebinding.karmada.io/name", "page-configmap")
}

// Overwritten writes another object into a Work, as another user of its name may.
func Overwritten(u *unstructured.Unstructured) {
	carry(u, map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": Page.Name}})
}

// Emptied removes all manifests from a Work.
func Emptied(u *unstructured.Unstructured) { carry(u) }

func carry(u *unstructured.Unstructured, manifests ...any) {
	if err := unstructured.SetNestedSlice(u.Object, manifests, "spec", "workload", "manifests"); err != nil {
		panic(err)
	}
}

// Quota makes a Work one that a FederatedResourceQuota has taken over.
func Quota(u *unstructured.Unstructured) { SetLabel(u, "federatedresourcequota.karmada.io/name", "x") }

// Unfinalized removes the finalizers of a Work.
func Unfinalized(u *unstructured.Unstructured) { u.SetFinalizers(nil) }

// Long gives a Work the longer name.
func Long(u *unstructured.Unstructured) { u.SetName(Page.LongWorkName()) }

// Remarked changes one of our annotations on a Work, as a user may.
func Remarked(u *unstructured.Unstructured) {
	u.SetAnnotations(map[string]string{render.SourceAnnotation: Page.String(), render.SourceUIDAnnotation: "another"})
}

// Released applies to a Work exactly the release patch that the daemon sends.
func Released(u *unstructured.Unstructured) {
	applyPatch(u, render.Release(Page, u.GetResourceVersion()))
}

// Marked makes a Work one whose deletion is held.
func Marked(u *unstructured.Unstructured) { MarkedAs("the source does not exist")(u) }

// MarkedAs makes a Work one whose deletion is held, and says why it is due.
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

// WrittenAt sets when the spec of a Work was written.
func WrittenAt(at time.Time) Change {
	return func(u *unstructured.Unstructured) {
		u.SetManagedFields([]metav1.ManagedFieldsEntry{
			{Manager: "karmada-mirror", Time: new(metav1.NewTime(at))},
			{Manager: "karmada-controller-manager", Subresource: "status", Time: new(metav1.NewTime(at.Add(time.Hour)))},
		})
	}
}

// Applied sets Karmada's condition Applied on a Work.
func Applied(status string) Change {
	return func(u *unstructured.Unstructured) {
		u.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Applied", "status": status, "reason": "x", "message": "", "lastTransitionTime": Created.Format(time.RFC3339)}}}
	}
}

// Version sets the resource version of an object.
func Version(v string) Change {
	return func(u *unstructured.Unstructured) { u.SetResourceVersion(v) }
}

// Generation sets the generation of a Work, which counts the changes of its spec.
func Generation(n int64) Change {
	return func(u *unstructured.Unstructured) { u.SetGeneration(n) }
}

// Annotate adds an annotation to an object that already has annotations.
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

// Autoscaler returns an autoscaler for the target that apiVersion, kind and name identify.
func Autoscaler(wishes Annotations, apiVersion, kind, name string) *unstructured.Unstructured {
	u := Object(wishes)
	u.SetAPIVersion("autoscaling/v2")
	u.SetKind("HorizontalPodAutoscaler")
	u.SetName("autoscaler")
	delete(u.Object, "data")
	u.Object["spec"] = map[string]any{"scaleTargetRef": map[string]any{"apiVersion": apiVersion, "kind": kind, "name": name}}
	return u
}

// Cluster returns a Cluster that has joined.
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

// Namespace returns the Namespace of the page.
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
