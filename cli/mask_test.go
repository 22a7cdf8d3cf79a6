package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func TestMaskSecrets(t *testing.T) {
	cases := map[string]struct {
		reason        string
		before, after string // the manifest
		wantBefore    string
		wantAfter     string
	}{
		"Equal":      {"equal values do not differ", "{data: {a: eA==}}", "{data: {a: eA==}}", `{data: {a: "***"}}`, `{data: {a: "***"}}`},
		"Changed":    {"changed values do", "{data: {a: eA==}}", "{data: {a: eQ==}}", `{data: {a: "*** (before)"}}`, `{data: {a: "*** (after)"}}`},
		"Added":      {"a new key", "{data: {a: eA==}}", "{data: {a: eA==, b: eQ==}}", `{data: {a: "***"}}`, `{data: {a: "***", b: "***"}}`},
		"Removed":    {"a removed key", "{data: {a: eA==}}", "{}", `{data: {a: "***"}}`, "{}"},
		"StringData": {"in the clear", "{stringData: {a: x}}", "{stringData: {a: y}}", `{stringData: {a: "*** (before)"}}`, `{stringData: {a: "*** (after)"}}`},
		"OddData":    {"data that no Secret has is masked whole", "{data: [x]}", "{data: {a: eA==}}", `{data: "*** (before)"}`, `{data: "*** (after)"}`},
		"OddValue":   {"a value that is not a string", "{data: {a: {b: x}}}", "{data: {a: eA==}}", `{data: {a: "*** (before)"}}`, `{data: {a: "*** (after)"}}`},
		"Applied": {"kubectl keeps a copy of it", "{metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: x}}}", "{}",
			`{metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: "***"}}}`, "{}"},
		"OnlyBefore": {"a Work that is deleted", "{data: {a: eA==}}", "", `{data: {a: "***"}}`, ""},
		"OnlyAfter":  {"a Work that is created", "", "{data: {a: eA==}}", "", `{data: {a: "***"}}`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			before, after := workOf(t, c.before, "Secret"), workOf(t, c.after, "Secret")
			maskSecrets(before, after)
			if diff := cmp.Diff(workOf(t, c.wantBefore, "Secret"), before); diff != "" {
				t.Errorf("%s: before:\n%s", c.reason, diff)
			}
			if diff := cmp.Diff(workOf(t, c.wantAfter, "Secret"), after); diff != "" {
				t.Errorf("%s: after:\n%s", c.reason, diff)
			}
		})
	}
	plain := workOf(t, "{data: {a: x}}", "ConfigMap")
	maskSecrets(plain, workOf(t, "{data: {a: y}}", "Secret"))
	if diff := cmp.Diff(workOf(t, "{data: {a: x}}", "ConfigMap"), plain); diff != "" {
		t.Errorf("a ConfigMap is masked:\n%s", diff)
	}
}

// workOf returns a Work with one manifest; nil without a manifest.
func workOf(t *testing.T, manifest, kind string) map[string]any {
	t.Helper()
	if manifest == "" {
		return nil
	}
	var content map[string]any
	if err := yaml.Unmarshal([]byte(manifest), &content); err != nil {
		t.Fatal(err)
	}
	content["apiVersion"], content["kind"] = "v1", kind
	return map[string]any{"spec": map[string]any{"workload": map[string]any{"manifests": []any{content}}}}
}

// TestDropPermanentID: what Karmada's webhook adds to a manifest is no difference; the other labels are.
func TestDropPermanentID(t *testing.T) {
	manifest := map[string]any{"metadata": map[string]any{
		"labels":      map[string]any{"work.karmada.io/permanent-id": "x", "tier": "edge"},
		"annotations": map[string]any{"resourcetemplate.karmada.io/managed-labels": "tier,work.karmada.io/permanent-id"},
	}}
	dropPermanentID(map[string]any{"spec": map[string]any{"workload": map[string]any{"manifests": []any{manifest}}}})
	want := map[string]any{"metadata": map[string]any{"labels": map[string]any{"tier": "edge"}, "annotations": map[string]any{"resourcetemplate.karmada.io/managed-labels": "tier"}}}
	if diff := cmp.Diff(want, manifest); diff != "" {
		t.Error(diff)
	}
	dropPermanentID(nil) // a Work that does not exist
}
