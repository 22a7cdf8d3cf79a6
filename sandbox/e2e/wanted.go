package e2e

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/karmada-io/karmada/pkg/util/names"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/render"
)

// What should be there is told here by the contract (docs/reference) and by Karmada's own
// rule for names, and by none of the daemon's code, which would say of itself that it is
// right. It is enough for lists of clusters on the objects themselves.

const (
	clustersAnnotation = "karmada.target/clusters"
	uidAnnotation      = "karmada.target/source-uid"
	heldAnnotation     = "karmada.target/deletion-held"
)

// LostWorks is how what is there differs from what is wanted.
type LostWorks struct {
	missing, stale []string
	// Surplus are those that nobody wants.
	Surplus []string
}

// Count is of all.
func (l *LostWorks) Count() int { return len(l.missing) + len(l.stale) + len(l.Surplus) }

func (l *LostWorks) Error() string {
	return fmt.Sprintf("%d Works are missing, %d are stale, %d are not wanted: %.300q",
		len(l.missing), len(l.stale), len(l.Surplus), slices.Concat(l.missing, l.stale, l.Surplus))
}

// Disagreement compares a namespace's sources with their Works: who asks for a cluster that
// has joined has a Work there that carries the source as it is, and there is no other. Once
// the tests' own watch says so, the API server is asked.
func Disagreement(ctx context.Context, namespace string, resources ...schema.GroupVersionResource) error {
	wanted, err := wantedWorks(ctx, namespace, resources)
	if err != nil {
		return err
	}
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
	return compare(wanted, there)
}

func compare(wanted map[string]*unstructured.Unstructured, there []*unstructured.Unstructured) error {
	var d LostWorks
	missing := maps.Clone(wanted)
	for _, work := range there {
		key := work.GetNamespace() + "/" + work.GetName()
		source, ok := missing[key]
		delete(missing, key)
		if !ok {
			d.Surplus = append(d.Surplus, key)
		} else if err := carries(work, source); err != nil {
			d.stale = append(d.stale, fmt.Sprintf("%s: %v", key, err))
		}
	}
	d.missing = slices.Sorted(maps.Keys(missing))
	if d.Count() > 0 {
		return &d
	}
	return nil
}

// carries returns an error unless a Work holds a source as it is, but for what the control
// plane alone is concerned with.
func carries(work, source *unstructured.Unstructured) error {
	switch annotations := work.GetAnnotations(); {
	case work.GetDeletionTimestamp() != nil:
		return fmt.Errorf("it is going")
	case annotations[heldAnnotation] != "":
		return fmt.Errorf("its deletion is held")
	case annotations[uidAnnotation] != string(source.GetUID()):
		return fmt.Errorf("it is of UID %q", annotations[uidAnnotation])
	}
	manifest, err := ManifestOf(work)
	if err != nil {
		return err
	}
	for _, path := range [][]string{{"spec", "suspendDispatching"}, {"spec", "preserveResourcesOnDeletion"}} {
		if set, _, _ := unstructured.NestedBool(work.Object, path...); set {
			return fmt.Errorf("its %s is set", path[1])
		}
	}
	if got, want := identityOf(manifest), identityOf(source); got != want {
		return fmt.Errorf("it carries %s", got)
	}
	if got, want := payload(manifest), payload(source); !equality.Semantic.DeepEqual(got, want) {
		return fmt.Errorf("its content differs")
	}
	for kind, pair := range map[string][2]map[string]string{
		"labels": {manifest.GetLabels(), source.GetLabels()}, "annotations": {manifest.GetAnnotations(), source.GetAnnotations()},
	} {
		if !maps.Equal(own(pair[0]), own(pair[1])) {
			return fmt.Errorf("its %s differ", kind)
		}
	}
	return nil
}

// ManifestOf is the one manifest of a Work.
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

func identityOf(u *unstructured.Unstructured) string {
	return u.GetAPIVersion() + " " + u.GetKind() + " " + u.GetNamespace() + "/" + u.GetName()
}

// payload is an object without what all objects have.
func payload(u *unstructured.Unstructured) map[string]any {
	content := maps.Clone(u.Object)
	for _, field := range []string{"apiVersion", "kind", "metadata", "status"} {
		delete(content, field)
	}
	return content
}

// own are the labels or annotations that are the user's: not Karmada's, karmada-mirror's or
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

// wantedWorks are the sources by the namespace/name of each Work that they want.
func wantedWorks(ctx context.Context, namespace string, resources []schema.GroupVersionResource) (map[string]*unstructured.Unstructured, error) {
	joined, err := Env.Admin.Resource(Clusters).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	wanted := map[string]*unstructured.Unstructured{}
	for _, resource := range resources {
		list, err := Env.Admin.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			source := &list.Items[i]
			for _, cluster := range joined.Items {
				if asks(source.GetAnnotations()[clustersAnnotation], cluster.GetName()) {
					id := render.Identity{Kind: source.GetKind(), Namespace: namespace, Name: source.GetName()}
					wanted[workKey(cluster.GetName(), id)] = source
				}
			}
		}
	}
	return wanted, nil
}

// asks reports whether a list of clusters names one: by a term that fits it, and by none
// with a '!' that does.
func asks(list, cluster string) bool {
	asked := false
	for term := range strings.SplitSeq(list, ",") {
		pattern, excludes := strings.CutPrefix(strings.TrimSpace(term), "!")
		if fits, err := path.Match(pattern, cluster); err != nil || !fits {
			continue
		}
		if excludes {
			return false
		}
		asked = true
	}
	return asked
}

// workKey is the namespace/name of the Work of a source on a cluster, by Karmada's rule.
func workKey(cluster string, id render.Identity) string {
	return names.ExecutionSpacePrefix + cluster + "/" + names.GenerateWorkName(id.Kind, id.Name, id.Namespace)
}
