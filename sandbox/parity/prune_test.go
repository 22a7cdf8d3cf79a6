package parity

import (
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"github.com/karmada-io/karmada/pkg/resourceinterpreter/default/native/prune"
	"github.com/karmada-io/karmada/pkg/util"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/karmada-target/karmada-mirror/render"
)

const (
	cluster   = "member1"
	sourceUID = "uid-1"
)

// wanted are the only differences allowed, in order of precedence. Each must
// occur: one that never does would only hide mistakes.
var wanted = []struct {
	name, reason string
	is           func(obj *unstructured.Unstructured, d difference) bool
}{
	{"our own keys", "annotations that steer us mean nothing in a member", omitted("karmada.target/*")},
	{"kubectl's last applied configuration", "it may repeat everything that was stripped, and is as large as the object", omitted(corev1.LastAppliedConfigAnnotation)},
	{
		"claims of policies", "a Karmada in the member would read the claim",
		omitted("propagationpolicy.karmada.io/*", "clusterpropagationpolicy.karmada.io/*", util.ResourceTemplateClaimedByLabel),
	},
	{"conflict resolution", "a tenant must not smuggle it in", omitted(workv1alpha2.ResourceConflictResolutionAnnotation)},
	{"Karmada's other keys", "they are not the source's to set", omitted("karmada.io/*", "*.karmada.io/*")},
	{"the lists of keys", "they list the keys that are left, which are fewer", isListOfKeys},
	{
		"kinds of other groups", "a Deployment of the group extensions is no longer served, and ours is keyed on group and kind",
		func(obj *unstructured.Unstructured, d difference) bool {
			key, ok := d.key("annotations")
			return ok && d.theirs == nil && obj.GroupVersionKind().Group == "extensions" && strings.HasPrefix(key, "deployment.kubernetes.io/revision")
		},
	},
	{
		"token references in a row", "Karmada skips every second one",
		func(obj *unstructured.Unstructured, d difference) bool {
			return obj.GetKind() == "ServiceAccount" && slices.Equal(d.path, []string{"secrets"})
		},
	},
	{
		"the claim that a volume is bound to", "it has another UID in a member: karmada#2408",
		func(obj *unstructured.Unstructured, d difference) bool {
			return obj.GetKind() == "PersistentVolume" && d.missing && slices.Contains([]string{"uid", "resourceVersion"}, d.path[len(d.path)-1])
		},
	},
	{
		"what admission adds to Pods", "each member's adds its own",
		func(obj *unstructured.Unstructured, d difference) bool {
			return obj.GetKind() == "Pod" && d.missing && len(d.path) == 2 && slices.Contains([]string{"nodeName", "overhead", "preemptionPolicy", "priority"}, d.path[1])
		},
	},
	{
		"what controllers leave in ReplicaSets", "each member's leave their own",
		func(obj *unstructured.Unstructured, d difference) bool {
			key, ok := d.key("annotations")
			return ok && obj.GetKind() == "ReplicaSet" && d.missing && strings.HasPrefix(key, "deployment.kubernetes.io/")
		},
	},
	{
		"fields that are null", "they mean nothing in an object that the API server knows by its type",
		func(obj *unstructured.Unstructured, d difference) bool {
			return d.missing && d.theirs == nil && scheme.Scheme.IsGroupRegistered(obj.GroupVersionKind().Group)
		},
	},
}

// omitted expects a label or an annotation that matches one of the patterns to be missing.
func omitted(patterns ...string) func(*unstructured.Unstructured, difference) bool {
	return func(_ *unstructured.Unstructured, d difference) bool {
		key, ok := d.key("labels", "annotations")
		return ok && d.missing && slices.ContainsFunc(patterns, func(pattern string) bool {
			matches, _ := path.Match(pattern, key) // the patterns are well-formed
			return matches
		})
	}
}

// isListOfKeys expects Karmada's lists to name the keys that we leave.
func isListOfKeys(obj *unstructured.Unstructured, d difference) bool {
	switch key, _ := d.key("annotations"); {
	case d.missing:
		return false
	case key == workv1alpha2.ManagedAnnotation:
		return d.ours == keysOf(obj.GetAnnotations())
	case key == workv1alpha2.ManagedLabels:
		return d.ours == keysOf(obj.GetLabels())
	}
	return false
}

// keysOf lists keys as Karmada does.
func keysOf(m map[string]string) string {
	return strings.Join(slices.Sorted(maps.Keys(m)), ",")
}

// TestPrune compares the manifest that Karmada would make of a source with ours.
func TestPrune(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]int{}
	objects, panics := 0, 0
	t.Run("kinds", func(t *testing.T) {
		forEachKind(t, func(t *testing.T, sources []*unstructured.Unstructured) {
			found, refused := differencesIn(t, sources)
			mu.Lock()
			defer mu.Unlock()
			for name, n := range found {
				seen[name] += n
			}
			objects += len(sources)
			panics += refused
		})
	})
	t.Logf("%d objects; Karmada panics on %d of them", objects, panics)
	if objects < manyObjects {
		t.Errorf("only %d objects, want %d", objects, manyObjects)
	}
	for _, exception := range wanted {
		t.Logf("%7d × %s: %s", seen[exception.name], exception.name, exception.reason)
		if seen[exception.name] == 0 {
			t.Errorf("%q never occurs: drop the exception, or make the corpus wilder", exception.name)
		}
	}
}

// differencesIn counts the differences by exception, and the sources on which
// Karmada panics.
func differencesIn(t *testing.T, sources []*unstructured.Unstructured) (found map[string]int, panics int) {
	t.Helper()
	found = map[string]int{}
	for _, source := range sources {
		ours := ourManifest(t, source)
		theirs, err := karmadaManifest(source)
		if err != nil {
			// It panics on a reference without a name; ours has none.
			if panics++; source.GetKind() != "ServiceAccount" {
				t.Errorf("Karmada cannot prune it: %v", err)
			}
			continue
		}
		for _, d := range compare(nil, theirs.Object, ours.Object) {
			found[explain(t, ours, d)]++
		}
	}
	return found, panics
}

func explain(t *testing.T, ours *unstructured.Unstructured, d difference) string {
	t.Helper()
	for _, exception := range wanted {
		if exception.is(ours, d) {
			return exception.name
		}
	}
	t.Errorf("%s: %s", ours.GroupVersionKind(), d)
	return ""
}

// karmadaManifest is what Karmada's binding controller and the mutating step of
// its webhook make of a source, in a Work that has no ID yet.
func karmadaManifest(source *unstructured.Unstructured) (obj *unstructured.Unstructured, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("it panics: %v", r)
		}
	}()
	obj = source.DeepCopy()
	name := identityOf(source).WorkName()
	util.MergeLabel(obj, util.ManagedByKarmadaLabel, util.ManagedByKarmadaLabelValue)
	util.MergeAnnotation(obj, workv1alpha2.WorkNameAnnotation, name)
	util.MergeAnnotation(obj, workv1alpha2.WorkNamespaceAnnotation, render.ExecutionNamespace(cluster))
	util.MergeAnnotation(obj, workv1alpha2.ResourceTemplateUIDAnnotation, sourceUID)
	if generation := obj.GetGeneration(); generation > 0 { // like mergeAnnotations in its binding controller
		util.MergeAnnotation(obj, workv1alpha2.ResourceTemplateGenerationAnnotationKey, strconv.FormatInt(generation, 10))
	}
	if err := prune.RemoveIrrelevantFields(obj, prune.RemoveJobTTLSeconds); err != nil {
		return nil, err
	}
	util.SetLabelsAndAnnotationsForWorkload(obj, &workv1alpha1.Work{})
	return obj, nil
}

func ourManifest(t *testing.T, source *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	return manifestOf(t, newTemplate(t, source).Work(cluster))
}

func newTemplate(t *testing.T, source *unstructured.Unstructured) *render.Template {
	t.Helper()
	manifest, err := render.NewManifest(source.DeepCopy(), identityOf(source), sourceUID)
	if err != nil {
		t.Fatalf("NewManifest of a %s: %v", source.GroupVersionKind(), err)
	}
	return manifest.Template(render.Options{})
}

func identityOf(obj *unstructured.Unstructured) render.Identity {
	gvk := obj.GroupVersionKind()
	return render.Identity{Group: gvk.Group, Kind: gvk.Kind, Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

func decode(t *testing.T, encoded []byte) map[string]any {
	t.Helper()
	var obj map[string]any
	if err := kjson.Unmarshal(encoded, &obj); err != nil {
		t.Fatalf("cannot decode %.200s: %v", encoded, err)
	}
	return obj
}

func manifestOf(t *testing.T, work []byte) *unstructured.Unstructured {
	t.Helper()
	manifests, _, err := unstructured.NestedSlice(decode(t, work), "spec", "workload", "manifests")
	if err != nil || len(manifests) != 1 {
		t.Fatalf("spec.workload.manifests is %v: %v", manifests, err)
	}
	return &unstructured.Unstructured{Object: manifests[0].(map[string]any)}
}

// difference is a place where Karmada's manifest and ours differ.
type difference struct {
	path         []string
	theirs, ours any
	// missing means that ours has nothing there.
	missing bool
}

func (d difference) String() string {
	if d.missing {
		return fmt.Sprintf("%q: Karmada has %v, we have nothing", d.path, d.theirs)
	}
	return fmt.Sprintf("%q: Karmada has %v, we have %v", d.path, d.theirs, d.ours)
}

// key returns the label or annotation that the difference is about.
func (d difference) key(fields ...string) (string, bool) {
	if len(d.path) != 3 || d.path[0] != "metadata" || !slices.Contains(fields, d.path[1]) {
		return "", false
	}
	return d.path[2], true
}

// compare lists the differences between two JSON values.
func compare(path []string, theirs, ours any) (found []difference) {
	a, isMap := theirs.(map[string]any)
	b, isMapToo := ours.(map[string]any)
	s, isList := theirs.([]any)
	u, isListToo := ours.([]any)
	switch {
	case isMap && isMapToo:
		for key := range a {
			if _, ok := b[key]; !ok {
				found = append(found, difference{path: append(slices.Clip(path), key), theirs: a[key], missing: true})
			}
		}
		for key, own := range b {
			if value, ok := a[key]; ok {
				found = append(found, compare(append(slices.Clip(path), key), value, own)...)
				continue
			}
			found = append(found, difference{path: append(slices.Clip(path), key), ours: own})
		}
	case isList && isListToo && len(s) == len(u):
		for i := range s {
			found = append(found, compare(append(slices.Clip(path), fmt.Sprint(i)), s[i], u[i])...)
		}
	case !reflect.DeepEqual(theirs, ours):
		found = append(found, difference{path: path, theirs: theirs, ours: ours})
	}
	return found
}
