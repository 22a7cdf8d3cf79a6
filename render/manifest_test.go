package render

import (
	"errors"
	"flag"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGolden renders testdata/golden/<case>.in.yaml to <case>.out.yaml, for the
// cluster member1. Run with -update after an intended change, and read the diff.
func TestGolden(t *testing.T) {
	inputs, err := filepath.Glob("testdata/golden/*.in.yaml")
	if err != nil || len(inputs) == 0 {
		t.Fatalf("no inputs: %v", err)
	}
	for _, input := range inputs {
		golden := strings.TrimSuffix(input, ".in.yaml") + ".out.yaml"
		t.Run(strings.TrimSuffix(filepath.Base(input), ".in.yaml"), func(t *testing.T) {
			text, err := os.ReadFile(input)
			if err != nil {
				t.Fatal(err)
			}
			got, err := yaml.JSONToYAML(goldenTemplate(t, text).Work("member1"))
			if err != nil {
				t.Fatal(err)
			}
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func goldenTemplate(t *testing.T, text []byte) *Template {
	t.Helper()
	encoded, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	obj := &unstructured.Unstructured{Object: decode(t, string(encoded))}
	options, err := ReadWishes(obj.GetAnnotations()).Options()
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := NewManifest(obj, identityOf(obj), obj.GetUID())
	if err != nil {
		t.Fatal(err)
	}
	return manifest.Template(options)
}

func identityOf(obj *unstructured.Unstructured) Identity {
	gvk := obj.GroupVersionKind()
	return Identity{Group: gvk.Group, Kind: gvk.Kind, Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

func mustTemplate(t testing.TB, obj map[string]any, o Options) *Template {
	t.Helper()
	u := &unstructured.Unstructured{Object: obj}
	manifest, err := NewManifest(u, identityOf(u), "uid-1")
	if err != nil {
		t.Fatal(err)
	}
	return manifest.Template(o)
}

func configMap(name string) map[string]any {
	return map[string]any{
		"apiVersion": "v1",
		"kind":       "ConfigMap",
		"metadata":   map[string]any{"name": name, "namespace": "shop"},
		"data":       map[string]any{"key": "value"},
	}
}

func TestNewManifestRefuses(t *testing.T) {
	with := func(field string, value any) map[string]any {
		obj := configMap("settings")
		obj[field] = value
		return obj
	}
	settings := Identity{Kind: "ConfigMap", Namespace: "shop", Name: "settings"}
	long := strings.Repeat("n", 253)
	cases := map[string]struct {
		reason string
		obj    map[string]any
		id     Identity
	}{
		"Nil":             {"The object is nil.", nil, settings},
		"NoAPIVersion":    {"A member would not know it.", with("apiVersion", nil), settings},
		"OddAPIVersion":   {"Or this.", with("apiVersion", "a/b/c"), settings},
		"NoKind":          {"It has no kind.", with("kind", ""), Identity{Namespace: "shop", Name: "settings"}},
		"OddKind":         {"A number is not a kind.", with("kind", int64(7)), settings},
		"OddMetadata":     {"It has no name.", with("metadata", "x"), settings},
		"NoName":          {"It has no name.", with("metadata", map[string]any{}), Identity{Kind: "ConfigMap"}},
		"OtherName":       {"The caller took another object.", configMap("other"), settings},
		"OtherGroup":      {"The caller took another object.", configMap("settings"), Identity{"apps", "ConfigMap", "shop", "settings"}},
		"LongName":        {"The Work's name would exceed 253 characters.", configMap(long), Identity{Kind: "ConfigMap", Namespace: "shop", Name: long}},
		"NoDomain":        {"Names of RBAC kinds may have characters that a Work's may not.", configMap("a&b"), Identity{Kind: "ConfigMap", Namespace: "shop", Name: "a&b"}},
		"LeadingColon":    {"A Work's name must begin with a letter or digit.", configMap(":a"), Identity{Kind: "ConfigMap", Namespace: "shop", Name: ":a"}},
		"NotANumber":      {"JSON has no such number.", with("data", math.NaN()), settings},
		"NotJSON":         {"JSON has no channels.", with("data", make(chan int)), settings},
		"NotJSONMetadata": {"Or in metadata.", with("metadata", map[string]any{"name": "settings", "namespace": "shop", "x": make(chan int)}), settings},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			manifest, err := NewManifest(&unstructured.Unstructured{Object: tc.obj}, tc.id, "uid-1")
			if !errors.Is(err, ErrCannotRender) || manifest != nil {
				t.Fatalf("%s\nNewManifest: %v, %v", tc.reason, manifest, err)
			}
			if strings.ContainsAny(err.Error(), "\n\r") || len(err.Error()) > 600 {
				t.Errorf("%s\nthe message is not one bounded line: %v", tc.reason, err)
			}
		})
	}
}

func TestTemplateAccessors(t *testing.T) {
	template := mustTemplate(t, configMap("settings"), Options{})
	if diff := cmp.Diff(Identity{Kind: "ConfigMap", Namespace: "shop", Name: "settings"}, template.Source()); diff != "" {
		t.Errorf("Source(): -want +got:\n%s", diff)
	}
	if template.UID() != types.UID("uid-1") {
		t.Errorf("UID() is %q", template.UID())
	}
}

// TestWith: options make the same manifest as if the source itself had the label, down to
// the last key in Karmada's bookkeeping.
func TestWith(t *testing.T) {
	edited := configMap("settings")
	labelsOf(edited)["resourcetemplate.karmada.io/retain-replicas"] = "true"
	labelsOf(edited)["zone"] = "z"
	plain := configMap("settings")
	labelsOf(plain)["zone"] = "z"
	own, asked := mustTemplate(t, edited, Options{}), mustTemplate(t, plain, Options{RetainReplicas: true})
	if diff := cmp.Diff(decode(t, string(own.Work("member1"))), decode(t, string(asked.Work("member1")))); diff != "" {
		t.Errorf("-by itself +by option:\n%s", diff)
	}
	if own.Digest() != asked.Digest() {
		t.Errorf("the digests are %s and %s", own.Digest(), asked.Digest())
	}
	work := decode(t, string(mustTemplate(t, configMap("settings"), Options{Overwrite: true, RetainReplicas: true}).Work("member1")))
	manifest := manifestOf(t, work)
	for _, list := range []struct {
		key   string
		of    map[string]string
		wants string
	}{
		{"resourcetemplate.karmada.io/managed-annotations", manifest.GetAnnotations(), "work.karmada.io/conflict-resolution"},
		{"resourcetemplate.karmada.io/managed-labels", manifest.GetLabels(), "resourcetemplate.karmada.io/retain-replicas"},
	} {
		if want := strings.Join(slices.Sorted(maps.Keys(list.of)), ","); manifest.GetAnnotations()[list.key] != want {
			t.Errorf("%s is %q, want %q", list.key, manifest.GetAnnotations()[list.key], want)
		}
		if list.of[list.wants] == "" {
			t.Errorf("there is no %s in %v", list.wants, list.of)
		}
	}
}

func labelsOf(obj map[string]any) map[string]any {
	metadata := obj["metadata"].(map[string]any)
	if metadata["labels"] == nil {
		metadata["labels"] = map[string]any{}
	}
	return metadata["labels"].(map[string]any)
}

func TestPatch(t *testing.T) {
	cases := map[string]struct {
		reason     string
		options    Options
		finalizers []string
		want       []any
		spec       map[string]any
	}{
		"Off": {
			reason: "An option that is off removes what an earlier one had set; the finalizer is restored.",
			want:   []any{ExecutionFinalizer},
			spec:   map[string]any{"suspendDispatching": nil, "preserveResourcesOnDeletion": nil},
		},
		"On": {
			reason:     "Other controllers' finalizers stay, in order, and ours is not duplicated.",
			options:    Options{Suspend: true, PreserveOnDeletion: true},
			finalizers: []string{"b", ExecutionFinalizer, "a"},
			want:       []any{"b", ExecutionFinalizer, "a"},
			spec:       map[string]any{"suspendDispatching": true, "preserveResourcesOnDeletion": true},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			template := mustTemplate(t, configMap("settings"), tc.options)
			finalizers := append(make([]string, 0, 9), tc.finalizers...)
			patch := decode(t, string(template.Patch("member1", "41", finalizers, 1, false)))
			work := decode(t, string(template.Work("member1")))

			metadata := patch["metadata"].(map[string]any)
			if diff := cmp.Diff(tc.want, metadata["finalizers"]); diff != "" {
				t.Errorf("%s\nfinalizers: -want +got:\n%s", tc.reason, diff)
			}
			wanted := work["metadata"].(map[string]any)
			wanted["resourceVersion"] = "41"
			delete(wanted, "finalizers")
			// A Work that is written is wanted: its deletion is no longer held.
			for _, field := range []string{"labels", "annotations"} {
				wanted[field].(map[string]any)[HeldKey] = nil
			}
			// Nor does it keep notes on what no longer differs.
			for _, note := range []string{ShareAnnotation, OverriddenByAnnotation, RenderedAnnotation, WrittenAnnotation} {
				wanted["annotations"].(map[string]any)[note] = nil
			}
			delete(metadata, "finalizers")
			if diff := cmp.Diff(wanted, metadata); diff != "" {
				t.Errorf("%s\nmetadata: -want +got:\n%s", tc.reason, diff)
			}
			tc.spec["workload"] = work["spec"].(map[string]any)["workload"]
			if diff := cmp.Diff(tc.spec, patch["spec"]); diff != "" {
				t.Errorf("%s\nspec: -want +got:\n%s", tc.reason, diff)
			}
			if grown := finalizers[:cap(finalizers)][len(finalizers)]; grown != "" {
				t.Errorf("%s\nthe caller's list was changed: %q", tc.reason, grown)
			}
		})
	}
}

// TestWorkHostile fills a manifest with text that might be mistaken for the place
// of the namespace.
func TestWorkHostile(t *testing.T) {
	cluster := "member1"
	namespace := ExecutionNamespace(cluster)
	_, head, _ := strings.Cut(string(mustTemplate(t, configMap("settings"), Options{}).Work(cluster)), `"manifests":[`)
	hostile := []string{
		"", namespace, head, head + `,"a":"b"`, `","work.karmada.io/namespace":"karmada-es-evil`,
		`"}},"metadata":{"namespace":"karmada-es-evil"}`, "\u2028<&>\x00\"\\", "karmada-es-", "{{cluster}}", "%s", "the Work's own",
	}
	for _, text := range hostile {
		obj := configMap("settings")
		obj[text+"x"] = text
		obj["metadata"].(map[string]any)["annotations"] = map[string]any{text: text, "a": text, "work.karmada.io/namespace": text, "work.karmada.io/name": text}
		obj["metadata"].(map[string]any)["labels"] = map[string]any{text: text, "work.karmada.io/namespace": text}
		obj["data"] = map[string]any{"work.karmada.io/namespace": text, text: text}
		template := mustTemplate(t, obj, Options{})
		work := &unstructured.Unstructured{Object: decode(t, string(template.Work(cluster)))}
		if work.GetNamespace() != namespace {
			t.Errorf("%q: the Work is in %q", text, work.GetNamespace())
		}
		manifest := manifestOf(t, work.Object)
		if got := manifest.GetAnnotations()["work.karmada.io/namespace"]; got != namespace {
			t.Errorf("%q: the manifest names %q", text, got)
		}
		if got := manifest.GetAnnotations()["work.karmada.io/name"]; got != work.GetName() {
			t.Errorf("%q: the manifest names the Work %q", text, got)
		}
		if got := manifest.GetAnnotations()["a"]; got != text {
			t.Errorf("%q: the user's annotation is %q", text, got)
		}
		if diff := cmp.Diff(map[string]any{"work.karmada.io/namespace": text, text: text}, manifest.Object["data"]); diff != "" {
			t.Errorf("%q: data: -want +got:\n%s", text, diff)
		}
		if got, _, err := DigestOf(work.Object, namespace, work.GetName()); err != nil || got != template.Digest() {
			t.Errorf("%q: the Work's digest is %s, %v, the template's %s", text, got, err, template.Digest())
		}
	}
}

func manifestOf(t *testing.T, work map[string]any) *unstructured.Unstructured {
	t.Helper()
	list, _, err := unstructured.NestedSlice(work, "spec", "workload", "manifests")
	if err != nil || len(list) != 1 {
		t.Fatalf("spec.workload.manifests is %v: %v", list, err)
	}
	return &unstructured.Unstructured{Object: list[0].(map[string]any)}
}

// FuzzTemplate renders any object that can be rendered.
func FuzzTemplate(f *testing.F) {
	for i, seed := range manifestSeeds {
		f.Add([]byte(seed), "member1", i%2 == 0, i%3 == 0)
	}
	f.Fuzz(func(t *testing.T, text []byte, cluster string, suspend, overwrite bool) {
		u := &unstructured.Unstructured{}
		if json.Unmarshal(text, &u.Object) != nil {
			return
		}
		m, err := NewManifest(u, identityOf(u), "uid-1")
		if err != nil {
			if !errors.Is(err, ErrCannotRender) {
				t.Errorf("NewManifest: %v", err)
			}
			return
		}
		template := m.Template(Options{Suspend: suspend, Overwrite: overwrite, RetainReplicas: suspend != overwrite})
		work := &unstructured.Unstructured{Object: decode(t, string(template.Work(cluster)))}
		if got, _, err := DigestOf(work.Object, work.GetNamespace(), work.GetName()); err != nil || got != template.Digest() {
			t.Errorf("the Work's digest is %s, %v, the template's %s", got, err, template.Digest())
		}
		if _, _, err := DigestOf(decode(t, string(template.Patch(cluster, "1", nil, 1, false))), work.GetNamespace(), work.GetName()); err != nil {
			t.Errorf("the patch has no digest: %v", err)
		}
		manifest := manifestOf(t, work.Object)
		if manifest.GetAnnotations()["work.karmada.io/namespace"] != work.GetNamespace() || manifest.GetLabels()["karmada.io/managed"] != "true" {
			t.Errorf("the manifest is not marked: %v", manifest.Object["metadata"])
		}
	})
}
