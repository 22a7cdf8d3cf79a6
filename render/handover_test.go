package render

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestRelease: everything of ours is removed, the handover is added, and only at that version.
func TestRelease(t *testing.T) {
	got := decode(t, string(Release(Identity{Kind: "ConfigMap", Namespace: "shop", Name: "page"}, "41")))
	want := map[string]any{"metadata": map[string]any{
		"resourceVersion": "41",
		"labels": map[string]any{
			"app.kubernetes.io/managed-by": nil, "karmada.target/source-id": nil, "karmada.target/deletion-held": nil,
		},
		"annotations": map[string]any{
			"karmada.target/source": nil, "karmada.target/source-uid": nil, "karmada.target/source-created": nil, "karmada.target/deletion-held": nil,
			"karmada.target/handover": "ConfigMap/shop/page", "karmada.target/overridden-by": nil, "karmada.target/share": nil, "karmada.target/rendered": nil, "karmada.target/written": nil,
		},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestDisown: a Work into which Karmada has written a Namespace gets the owner through which
// Karmada's own would be garbage collected; no other Work does.
func TestDisown(t *testing.T) {
	namespace := map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "team", "annotations": map[string]any{"resourcetemplate.karmada.io/uid": "u"}}}
	unnamed := map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "team"}}
	other := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "team", "annotations": map[string]any{"resourcetemplate.karmada.io/uid": "u"}}}
	team := map[string]any{"apiVersion": "v1", "kind": "Namespace", "name": "team", "uid": "u", "controller": true}
	another := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "another", "uid": "s"}
	cases := map[string]struct {
		manifest     map[string]any
		owners, want []any
	}{
		"Namespace":        {namespace, nil, []any{team}},
		"NamespaceOfTwo":   {namespace, []any{another}, []any{another, team}},
		"NamespaceOwned":   {namespace, []any{team}, nil},
		"NamespaceUnknown": {unnamed, nil, nil},
		"Other":            {other, nil, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			work := &unstructured.Unstructured{Object: map[string]any{
				"metadata": map[string]any{"ownerReferences": c.owners},
				"spec":     map[string]any{"workload": map[string]any{"manifests": []any{c.manifest}}},
			}}
			metadata := decode(t, string(Disown("41", OwnersOf(work))))["metadata"].(map[string]any)
			got, _ := metadata["ownerReferences"].([]any)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if marks, _ := metadata["annotations"].(map[string]any); marks["karmada.target/handover"] != nil {
				t.Error("it can be taken back")
			}
		})
	}
}

// TestAdopt: what a binding has put on a Work is removed when we take the Work back, and only
// then; the keys are those of Karmada's binding controllers.
func TestAdopt(t *testing.T) {
	bound := map[string][]string{
		"labels": {"resourcebinding.karmada.io/permanent-id", "clusterresourcebinding.karmada.io/permanent-id"},
		"annotations": {
			"resourcebinding.karmada.io/namespace", "resourcebinding.karmada.io/name", "clusterresourcebinding.karmada.io/name",
			"work.karmada.io/conflict-resolution", "policy.karmada.io/applied-overrides", "policy.karmada.io/applied-cluster-overrides",
		},
	}
	template := mustTemplate(t, configMap("settings"), Options{})
	for _, adopt := range []bool{false, true} {
		metadata := decode(t, string(template.Patch("member1", "41", nil, 1, adopt)))["metadata"].(map[string]any)
		for field, keys := range bound {
			for _, key := range keys {
				if value, removed := metadata[field].(map[string]any)[key]; removed != adopt || value != nil {
					t.Errorf("adopt %v: %s %s is %v in the patch: %v", adopt, field, key, removed, value)
				}
			}
		}
	}
}
