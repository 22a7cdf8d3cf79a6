package render

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// richObject has some of everything that a digest may trip over.
func richObject() map[string]any {
	return map[string]any{
		"apiVersion": "batch/v1",
		"kind":       "Job",
		"metadata":   map[string]any{"name": "import", "namespace": "shop", "generation": int64(7), "annotations": map[string]any{"a": "b"}},
		"spec": map[string]any{"ratio": 1.0, "count": int64(3), "list": []any{nil, "x", 2.5}, "ttlSecondsAfterFinished": int64(5),
			"template": map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "import"}}}},
	}
}

func TestDigestOf(t *testing.T) {
	set := func(value any, path ...string) func(work, manifest map[string]any) {
		return func(work, _ map[string]any) { must(t, unstructured.SetNestedField(work, value, path...)) }
	}
	inside := func(value any, path ...string) func(work, manifest map[string]any) {
		return func(_, manifest map[string]any) { must(t, unstructured.SetNestedField(manifest, value, path...)) }
	}
	cases := map[string]struct {
		reason string
		edit   func(work, manifest map[string]any)
		same   bool
	}{
		"Nothing":        {"It is what the template made.", func(_, _ map[string]any) {}, true},
		"Metadata":       {"The Work's own metadata is checked otherwise.", set("x", "metadata", "labels", "y"), true},
		"Status":         {"Its status is Karmada's.", set("x", "status"), true},
		"PermanentID":    {"Karmada's webhook adds its ID.", inside("1", "metadata", "labels", "work.karmada.io/permanent-id"), true},
		"ManagedLabels":  {"And records the keys of labels.", inside("1", "metadata", "annotations", "resourcetemplate.karmada.io/managed-labels"), true},
		"ManagedKeys":    {"And those of annotations.", inside("1", "metadata", "annotations", "resourcetemplate.karmada.io/managed-annotations"), true},
		"Conflicts":      {"A user made it take over an existing object.", inside("overwrite", "metadata", "annotations", "work.karmada.io/conflict-resolution"), false},
		"OddConflicts":   {"Or something else.", inside("abort", "metadata", "annotations", "work.karmada.io/conflict-resolution"), false},
		"Retained":       {"A user left the replicas to the member.", inside("true", "metadata", "labels", "resourcetemplate.karmada.io/retain-replicas"), false},
		"NotRetained":    {"An additional label is a difference.", inside("false", "metadata", "labels", "resourcetemplate.karmada.io/retain-replicas"), false},
		"NotSuspended":   {"False is the default.", set(false, "spec", "suspendDispatching"), true},
		"NotPreserved":   {"False is the default.", set(false, "spec", "preserveResourcesOnDeletion"), true},
		"WholeNumber":    {"1.0 and 1 are the same number.", inside(int64(1), "spec", "ratio"), true},
		"TimeToLive":     {"Karmada's webhook would remove it.", inside(int64(9), "spec", "ttlSecondsAfterFinished"), true},
		"GeneratedLabel": {"And this, five maps deep.", inside("import", "spec", "template", "metadata", "labels", "job-name"), true},
		"Suspended":      {"A user suspended it.", set(true, "spec", "suspendDispatching"), false},
		"Preserved":      {"A user made it preserve its objects.", set(true, "spec", "preserveResourcesOnDeletion"), false},
		"Field":          {"A user edited the manifest.", inside(int64(4), "spec", "count"), false},
		"Text":           {"A number is not its text.", inside("3", "spec", "count"), false},
		"Null":           {"An additional field is a difference.", inside(nil, "spec", "more"), false},
		"ListOrder":      {"A list has an order.", inside([]any{"x", nil, 2.5}, "spec", "list"), false},
		"Label":          {"Without it Karmada refuses to update.", inside("false", "metadata", "labels", "karmada.io/managed"), false},
		"WorkName":       {"Without it Karmada reads no status.", inside("x", "metadata", "annotations", "work.karmada.io/name"), false},
		"Namespace":      {"Or with another cluster's namespace.", inside("karmada-es-member2", "metadata", "annotations", "work.karmada.io/namespace"), false},
		"NoNamespace": {"Or without any.", func(_, m map[string]any) {
			unstructured.RemoveNestedField(m, "metadata", "annotations", "work.karmada.io/namespace")
		}, false},
		"OddNamespace":  {"Or with something else in its place.", inside(true, "metadata", "annotations", "work.karmada.io/namespace"), false},
		"Generation":    {"Changes of stripped fields increment it too.", inside("8", "metadata", "annotations", "resourcetemplate.karmada.io/generation"), true},
		"OddGeneration": {"Without it Karmada reports no status.", inside("x", "metadata", "annotations", "resourcetemplate.karmada.io/generation"), false},
		"NoGeneration": {"Or without any.", func(_, m map[string]any) {
			unstructured.RemoveNestedField(m, "metadata", "annotations", "resourcetemplate.karmada.io/generation")
		}, false},
		"SourceUID": {"The source was recreated.", inside("uid-2", "metadata", "annotations", "resourcetemplate.karmada.io/uid"), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			template := mustTemplate(t, richObject(), Options{})
			work := decode(t, string(template.Work("member1")))
			manifest := work["spec"].(map[string]any)["workload"].(map[string]any)["manifests"].([]any)[0].(map[string]any)
			tc.edit(work, manifest)
			before := runtime.DeepCopyJSON(work)
			got, _, err := DigestOf(work, "karmada-es-member1", template.Name())
			if err != nil {
				t.Fatalf("%s\nDigestOf: %v", tc.reason, err)
			}
			if (got == template.Digest()) != tc.same {
				t.Errorf("%s\nthe digest is %s, the template's %s", tc.reason, got, template.Digest())
			}
			if diff := cmp.Diff(before, work); diff != "" {
				t.Errorf("%s\nDigestOf changed the Work: -before +after:\n%s", tc.reason, diff)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestDigestOfForeignForm(t *testing.T) {
	cases := map[string]struct {
		reason string
		work   string
	}{
		"Empty":      {"It is empty.", `{}`},
		"NoManifest": {"There is no manifest.", `{"spec":{"workload":{"manifests":[]}}}`},
		"Two":        {"There is one too many.", `{"spec":{"workload":{"manifests":[{},{}]}}}`},
		"Text":       {"A string is not a manifest.", `{"spec":{"workload":{"manifests":["x"]}}}`},
		"OddList":    {"A string is not a list.", `{"spec":{"workload":{"manifests":"x"}}}`},
		"OddSpec":    {"A list is not a spec.", `{"spec":[]}`},
		"Null":       {"Null is nothing.", `{"spec":{"workload":{"manifests":[null]}}}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, _, err := DigestOf(decode(t, tc.work), "karmada-es-member1", "page-1")
			if !errors.Is(err, ErrNotOurForm) || got != (Digest{}) {
				t.Errorf("%s\nDigestOf is %s, %v", tc.reason, got, err)
			}
		})
	}
	if got, _, err := DigestOf(nil, "", ""); !errors.Is(err, ErrNotOurForm) || got != (Digest{}) {
		t.Errorf("DigestOf(nil) is %s, %v", got, err)
	}
}

func TestDigestAcrossClusters(t *testing.T) {
	template := mustTemplate(t, richObject(), Options{Suspend: true, PreserveOnDeletion: true, Overwrite: true})
	for _, cluster := range []string{"a", "member1", ""} {
		got, _, err := DigestOf(decode(t, string(template.Work(cluster))), ExecutionNamespace(cluster), template.Name())
		if err != nil || got != template.Digest() {
			t.Errorf("in cluster %q the digest is %s, %v, the template's %s", cluster, got, err, template.Digest())
		}
	}
	if other := mustTemplate(t, richObject(), Options{}).Digest(); other == template.Digest() {
		t.Error("options do not count")
	}
}
