package e2e

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/karmada-io/karmada/pkg/util/names"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/sandbox/model"
)

// [model] and Karmada's own naming rule say what should exist; the code below reads what
// does exist. It does not use the daemon's code, which would only confirm itself.

const (
	uidAnnotation  = "karmada.target/source-uid"
	heldAnnotation = "karmada.target/deletion-held"
	overriddenBy   = "karmada.target/overridden-by"
	finalizer      = "karmada.target/works"
	conflictMark   = "work.karmada.io/conflict-resolution"
	retainMark     = "resourcetemplate.karmada.io/retain-replicas"
)

// LostWorks is how the existing Works differ from the wanted ones.
type LostWorks struct {
	missing, stale []string
	// Surplus are the Works that no source wants.
	Surplus []string
}

// Count counts all differences.
func (l *LostWorks) Count() int { return len(l.missing) + len(l.stale) + len(l.Surplus) }

func (l *LostWorks) Error() string {
	return fmt.Sprintf("%d Works are missing, %d are stale, %d are not wanted: %.300q",
		len(l.missing), len(l.stale), len(l.Surplus), slices.Concat(l.missing, l.stale, l.Surplus))
}

// Disagreement compares a namespace's sources with their Works: a source that asks for a
// cluster that has joined must have a Work there that carries the source as it is, and
// there must be no other Works. Once the tests' own watch agrees, it checks with live
// reads. It assumes that the configuration covers the whole namespace and allows
// everything, and that it honors override policies if they are among the resources.
func Disagreement(ctx context.Context, namespace string, resources ...schema.GroupVersionResource) error {
	world, err := readWorld(ctx, namespace, resources)
	if err != nil {
		return err
	}
	wanted := wantedWorks(world)
	seen, err := Env.works.of(namespace)
	if err != nil {
		return err
	}
	if err := compare(wanted, seen); err != nil {
		return err
	}
	there, err := liveWorks(ctx, namespace)
	if err != nil {
		return err
	}
	return cmp.Or(compare(wanted, there), compareFinalizers(world))
}

// compareFinalizers returns an error unless each source has the finalizer if it must, and those that
// have been deleted are gone.
func compareFinalizers(w *model.World) error {
	for key, o := range w.Objects {
		switch must := w.Finalizer(key); {
		case o.Leaving:
			return fmt.Errorf("%v still exists", key)
		case must == model.Present && !o.Finalized:
			return fmt.Errorf("%v has no finalizer", key)
		case must == model.Absent && o.Finalized:
			return fmt.Errorf("%v has a finalizer", key)
		}
	}
	return nil
}

func compare(wanted map[string]model.Copy, there []*unstructured.Unstructured) error {
	var d LostWorks
	missing := maps.Clone(wanted)
	for _, work := range there {
		key := shortKey(work.GetNamespace() + "/" + work.GetName())
		want, ok := missing[key]
		delete(missing, key)
		if !ok {
			d.Surplus = append(d.Surplus, key)
		} else if err := Carries(work, want); err != nil {
			d.stale = append(d.stale, fmt.Sprintf("%s: %v", key, err))
		}
	}
	d.missing = slices.Sorted(maps.Keys(missing))
	if d.Count() > 0 {
		return &d
	}
	return nil
}

// longEnd matches the suffix of a Work's name if another object already has the short
// name.
var longEnd = regexp.MustCompile("-[0-9a-f]{32}$")

// shortKey is the namespace/name of a Work without that suffix.
func shortKey(work string) string { return longEnd.ReplaceAllString(work, "") }

// Carries returns an error unless a Work puts this copy into its cluster.
func Carries(work *unstructured.Unstructured, want model.Copy) error {
	switch {
	case work.GetDeletionTimestamp() != nil:
		return fmt.Errorf("it is being deleted")
	case work.GetAnnotations()[heldAnnotation] != "":
		return fmt.Errorf("its deletion is held")
	}
	got, err := CopyOf(work)
	switch {
	case err != nil:
		return err
	case got.UID != want.UID:
		return fmt.Errorf("its source has UID %q", got.UID)
	case !equality.Semantic.DeepEqual(got.Content, want.Content):
		return fmt.Errorf("its content differs: %.300q, not %.300q", fmt.Sprint(got.Content), fmt.Sprint(want.Content))
	}
	got.Content, want.Content = nil, nil
	if got != want {
		return fmt.Errorf("it says %+v, not %+v", got, want)
	}
	return nil
}

// CopyOf returns the copy that a Work puts into its cluster.
func CopyOf(work *unstructured.Unstructured) (model.Copy, error) {
	manifest, err := ManifestOf(work)
	if err != nil {
		return model.Copy{}, err
	}
	says := func(field string) bool {
		set, _, _ := unstructured.NestedBool(work.Object, "spec", field)
		return set
	}
	return model.Copy{
		UID: work.GetAnnotations()[uidAnnotation], Content: contentOf(manifest),
		Suspended: says("suspendDispatching"), Preserved: says("preserveResourcesOnDeletion"),
		Overwrites: manifest.GetAnnotations()[conflictMark] == "overwrite", Retains: manifest.GetLabels()[retainMark] == "true",
		OverriddenBy: work.GetAnnotations()[overriddenBy],
	}, nil
}

// ManifestOf returns the only manifest of a Work.
func ManifestOf(work *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	manifests, _, _ := unstructured.NestedSlice(work.Object, "spec", "workload", "manifests")
	if len(manifests) != 1 {
		return nil, fmt.Errorf("it has %d manifests", len(manifests))
	}
	manifest, ok := manifests[0].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("its manifest is a %T", manifests[0])
	}
	return &unstructured.Unstructured{Object: manifest}, nil
}

// contentOf is what is in an object, without what only concerns the control plane.
func contentOf(u *unstructured.Unstructured) *model.Content {
	return &model.Content{
		Identity: u.GetAPIVersion() + " " + u.GetKind() + " " + u.GetNamespace() + "/" + u.GetName(),
		Payload:  payload(u), Labels: own(u.GetLabels()), Annotations: own(u.GetAnnotations()),
	}
}

// payload is an object without the fields that all objects have.
func payload(u *unstructured.Unstructured) map[string]any {
	content := maps.Clone(u.Object)
	for _, field := range []string{"apiVersion", "kind", "metadata", "status"} {
		delete(content, field)
	}
	return content
}

// own filters labels or annotations down to the user's: not Karmada's, karmada-mirror's or
// kubectl's bookkeeping.
func own(all map[string]string) map[string]string {
	mine := map[string]string{}
	for key, value := range all {
		domain, _, _ := strings.Cut(key, "/")
		if domain != "karmada.target" && domain != "karmada.io" && !strings.HasSuffix(domain, ".karmada.io") && domain != "kubectl.kubernetes.io" {
			mine[key] = value
		}
	}
	return mine
}

// Applied converts an object for [model], and returns its key there.
func Applied(u *unstructured.Unstructured) (model.Key, *model.Object) {
	o := &model.Object{
		UID: string(u.GetUID()), Annotations: u.GetAnnotations(), Labels: u.GetLabels(), Content: contentOf(u),
		Finalized: slices.Contains(u.GetFinalizers(), finalizer),
	}
	o.Leaving = o.Finalized && u.GetDeletionTimestamp() != nil
	if u.GetKind() == "Cluster" {
		o.Region, _, _ = unstructured.NestedString(u.Object, "spec", "region")
		o.Provider, _, _ = unstructured.NestedString(u.Object, "spec", "provider")
		o.Zones, _, _ = unstructured.NestedStringSlice(u.Object, "spec", "zones")
	}
	return model.Key{Kind: u.GetKind(), Namespace: u.GetNamespace(), Name: u.GetName()}, o
}

// Scaled is the object that an autoscaler scales.
func Scaled(autoscaler *unstructured.Unstructured) model.Key {
	kind, _, _ := unstructured.NestedString(autoscaler.Object, "spec", "scaleTargetRef", "kind")
	name, _, _ := unstructured.NestedString(autoscaler.Object, "spec", "scaleTargetRef", "name")
	return model.Key{Kind: kind, Namespace: autoscaler.GetNamespace(), Name: name}
}

// readWorld reads a namespace's sources, the Namespaces and the clusters.
func readWorld(ctx context.Context, namespace string, resources []schema.GroupVersionResource) (*model.World, error) {
	w := &model.World{
		Objects: map[model.Key]*model.Object{}, Namespaces: map[string]*model.Object{}, Clusters: map[string]*model.Object{},
		Autoscalers: map[model.Key]model.Key{}, Policies: map[model.Key]*model.Policy{},
		Configuration: &model.Configuration{Namespaces: []string{"*"}, Overrides: slices.Contains(resources, OverridePolicies)},
	}
	for _, resource := range resources {
		list, err := Env.Admin.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			if resource == OverridePolicies {
				key, p, err := overridingOf(&list.Items[i])
				if err != nil {
					return nil, err
				}
				w.Policies[key] = p
				continue
			}
			key, o := Applied(&list.Items[i])
			w.Objects[key] = o
			if resource == Autoscalers {
				w.Autoscalers[key] = Scaled(&list.Items[i])
			}
		}
	}
	for resource, into := range map[schema.GroupVersionResource]map[string]*model.Object{Namespaces: w.Namespaces, Clusters: w.Clusters} {
		list, err := Env.Admin.Resource(resource).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			key, o := Applied(&list.Items[i])
			into[key.Name] = o
		}
	}
	return w, nil
}

// wantedWorks are the wanted copies, by the namespace/name of their Works.
func wantedWorks(w *model.World) map[string]model.Copy {
	wanted := map[string]model.Copy{}
	for key := range w.Objects {
		for cluster := range w.Clusters {
			if state, copy := w.Of(key, cluster); state == model.Present {
				wanted[WorkKey(cluster, key)] = copy
			}
		}
	}
	return wanted
}

// WorkKey is the namespace/name of an object's Work on a cluster, by Karmada's rule.
func WorkKey(cluster string, k model.Key) string {
	return names.ExecutionSpacePrefix + cluster + "/" + names.GenerateWorkName(k.Kind, k.Name, k.Namespace)
}
