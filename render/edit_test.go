package render

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/karmada-target/karmada-mirror/render/override"
)

// editable is a source with variables, and with keys that are never mirrored.
func editable(value string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{
			"namespace": "shop", "name": "page", "uid": "1", "generation": int64(3),
			"labels":      map[string]any{"app": "shop", "argocd.argoproj.io/instance": "x", retainReplicasLabel: retainReplicas},
			"annotations": map[string]any{"host": value, "internal.example.com/owner": "me", ClustersAnnotation: "member1"},
		},
		"data": map[string]any{"key": value, "number": "7"}, "count": int64(9007199254740993),
	}}
	return u
}

func mustManifest(t *testing.T, u *unstructured.Unstructured) *Manifest {
	t.Helper()
	m, err := NewManifest(u, identityOf(u), u.GetUID())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestEdit: an edited template is that of a source that was written with the values at once.
func TestEdit(t *testing.T) {
	const text = "https://$(cluster.label:tier).$(cluster.name)/"
	strip := StripList{Labels: []string{"argocd.argoproj.io/*"}, Annotations: []string{"internal.example.com/*"}}
	stripped := func(value string) *unstructured.Unstructured {
		u := editable(value)
		unstructured.RemoveNestedField(u.Object, "metadata", "labels", "argocd.argoproj.io/instance")
		unstructured.RemoveNestedField(u.Object, "metadata", "annotations", "internal.example.com/owner")
		return u
	}
	cases := map[string]struct {
		reason string
		edit   Edit
		want   *unstructured.Unstructured
	}{
		"Nothing": {"no edit", Edit{}, editable(text)},
		"Expand":  {"variables have values", Edit{Member: member()}, editable("https://edge.member1/")},
		"Strip":   {"keys are removed", Edit{Strip: strip}, stripped(text)},
		"Labels": {"labels alone", Edit{Strip: StripList{Labels: strip.Labels}}, func() *unstructured.Unstructured {
			u := editable(text)
			unstructured.RemoveNestedField(u.Object, "metadata", "labels", "argocd.argoproj.io/instance")
			return u
		}()},
		"Both":    {"both", Edit{Member: member(), Strip: strip}, stripped("https://edge.member1/")},
		"Missing": {"nothing matches", Edit{Strip: StripList{Labels: []string{"other/*"}}}, editable(text)},
		"Own":     {"what Karmada needs stays", Edit{Strip: StripList{Labels: []string{"karmada.io/*"}, Annotations: []string{"work.karmada.io/*"}}}, editable(text)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, options := range []Options{{}, {Suspend: true, Overwrite: true}} {
				base := mustManifest(t, editable(text)).Template(options)
				got, err := base.With(tc.edit)
				if err != nil {
					t.Fatal(err)
				}
				want := mustManifest(t, tc.want.DeepCopy()).Template(options)
				wanted := decode(t, string(want.Work("member1")))
				if tc.edit.Changes(base.Manifest) {
					wanted["metadata"].(map[string]any)["annotations"].(map[string]any)[RenderedAnnotation] = got.Notes().Rendered
				}
				if diff := cmp.Diff(wanted, decode(t, string(got.Work("member1")))); diff != "" {
					t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
				}
				if got.Digest() != want.Digest() {
					t.Errorf("%s: the digests are %s and %s", tc.reason, got.Digest(), want.Digest())
				}
				isEdited, key := tc.edit.Changes(base.Manifest), tc.edit.Key(base.Manifest)
				if base.IsRendered(key, got.Notes(), got.Digest()) != isEdited || base.IsRendered(key, got.Notes(), Digest{}) || base.IsRendered(key, Notes{}, got.Digest()) {
					t.Errorf("%s: the notes are %v", tc.reason, got.Notes())
				}
			}
		})
	}
}

// TestRenderedNote: an upgrade writes no Work again, unless editVersion says that edits have changed.
func TestRenderedNote(t *testing.T) {
	m := mustManifest(t, editable("$(cluster.label:tier) $(cluster.name) $(cluster.label:none:-x)"))
	for want, edit := range map[string]Edit{
		"b1203748ccfb838a2708aeba58405833-9d8aa5d8f6e24d00dd2be3cbb6d372c3": {Member: member()},
		"a658dc8f9e181af060ad9c910e7c2680-fd2f51e96c7e4ff8bd67d1c690f1a1b6": {Member: member(), Strip: StripList{Labels: []string{"app"}, Annotations: []string{"<&>"}}},
	} {
		got, err := m.Template(Options{Suspend: true}).With(edit)
		if err != nil {
			t.Fatal(err)
		}
		if got.Notes().Rendered != want {
			t.Errorf("%+v is noted as %s, not %s", edit, got.Notes().Rendered, want)
		}
	}
}

// TestEditFails: an edit that fails changes nothing, and says where.
func TestEditFails(t *testing.T) {
	m := mustManifest(t, editable("$(cluster.label:none)"))
	before := m.Template(Options{}).Work("member1")
	_, err := m.Template(Options{}).With(Edit{Member: member()})
	if err == nil || !strings.Contains(err.Error(), `"data.key"`) && !strings.Contains(err.Error(), `"metadata.annotations.host"`) || !strings.Contains(err.Error(), "cluster.label:none") {
		t.Errorf("the error is %v", err)
	}
	if diff := cmp.Diff(before, m.Template(Options{}).Work("member1")); diff != "" {
		t.Errorf("the manifest has changed: %s", diff)
	}
}

// TestEditMakesNoToken: a token of a member's ServiceAccount would be filled in by the member.
func TestEditMakesNoToken(t *testing.T) {
	secret := editable("x")
	secret.SetKind("Secret")
	secret.Object["type"] = "$(cluster.label:none:-kubernetes.io/service-account-token)"
	if _, err := mustManifest(t, secret).Template(Options{}).With(Edit{Member: member()}); !errors.Is(err, errToken) {
		t.Errorf("the error is %v", err)
	}
}

// TestEditSmugglesNothing: what an override policy adds is stripped and marked like what a source
// says.
func TestEditSmugglesNothing(t *testing.T) {
	policy := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"overrideRules": []any{map[string]any{"overriders": map[string]any{
		"annotationsOverrider": []any{map[string]any{"operator": "add", "value": map[string]any{
			"work.karmada.io/conflict-resolution": "overwrite", "karmada.target/clusters": "member2", "resourcetemplate.karmada.io/uid": "2", "mine": "yes",
		}}},
		"labelsOverrider": []any{map[string]any{"operator": "add", "value": map[string]any{"karmada.io/managed": "false", "resourcebinding.karmada.io/permanent-id": "x"}}},
		"plaintext":       []any{map[string]any{"path": "/metadata/finalizers", "operator": "add", "value": []any{"x"}}, map[string]any{"path": "/data/number", "operator": "replace", "value": nil}},
	}}}}}}
	policy.SetAPIVersion("policy.karmada.io/v1alpha1")
	policy.SetKind("ClusterOverridePolicy")
	policy.SetName("all")
	parsed, err := override.NewPolicy(policy)
	if err != nil {
		t.Fatal(err)
	}
	m := mustManifest(t, editable("x"))
	edit := Edit{Overrides: override.For([]*override.Policy{parsed}, m.Selected(), override.Cluster{Name: "member1"})}
	got, err := m.Template(Options{}).With(edit)
	if err != nil {
		t.Fatal(err)
	}
	want := editable("x")
	unstructured.RemoveNestedField(want.Object, "data", "number")
	if err := unstructured.SetNestedField(want.Object, "yes", "metadata", "annotations", "mine"); err != nil {
		t.Fatal(err)
	}
	wanted := decode(t, string(mustManifest(t, want).Template(Options{}).Work("member1")))
	annotations := wanted["metadata"].(map[string]any)["annotations"].(map[string]any)
	annotations[OverriddenByAnnotation], annotations[RenderedAnnotation] = "ClusterOverridePolicy/all", got.Notes().Rendered
	if diff := cmp.Diff(wanted, decode(t, string(got.Work("member1")))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	effects, err := m.Effects(edit)
	if err != nil || len(effects) != 1 || effects[0].By != "ClusterOverridePolicy/all" {
		t.Errorf("%v, %v", effects, err)
	}
}

// TestEffectlessPolicy: a policy that selects an object, and overrides what such objects do not have, is named without a path.
func TestEffectlessPolicy(t *testing.T) {
	policy := &unstructured.Unstructured{}
	if err := policy.UnmarshalJSON([]byte(`{"apiVersion":"policy.karmada.io/v1alpha1","kind":"OverridePolicy","metadata":{"name":"registry","namespace":"shop"},"spec":{"overrideRules":[
		{"overriders":{"imageOverrider":[{"component":"Registry","operator":"replace","value":"asia"}]}}]}}`)); err != nil {
		t.Fatal(err)
	}
	parsed, err := override.NewPolicy(policy)
	if err != nil {
		t.Fatal(err)
	}
	m := mustManifest(t, editable("x"))
	effects, err := m.Effects(Edit{Overrides: override.For([]*override.Policy{parsed}, m.Selected(), override.Cluster{Name: "member1"})})
	if diff := cmp.Diff([]Effect{{"OverridePolicy/registry", nil}}, effects); diff != "" || err != nil {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
}

// TestEffects: what each part of an edit changes, without the values.
func TestEffects(t *testing.T) {
	m := mustManifest(t, editable("$(cluster.name)"))
	got, err := m.Effects(Edit{Member: member(), Strip: StripList{Labels: []string{"argocd.argoproj.io/*"}}})
	want := []Effect{{ExpandAnnotation, []string{"data.key", "metadata.annotations.host"}}, {"strip", []string{"metadata.labels.argocd.argoproj.io/instance"}}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
	labels := map[string]string{"app": "shop", "argocd.argoproj.io/instance": "x"}
	if diff := cmp.Diff(labels, m.Selected().Labels); diff != "" || m.Selected().APIVersion != "v1" {
		t.Errorf("%v, labels -want +got:\n%s", m.Selected(), diff)
	}
}

// TestEditKey: the key differs exactly if the result does.
func TestEditKey(t *testing.T) {
	m := mustManifest(t, editable("$(cluster.label:tier)"))
	other, same := member(), member()
	other.Labels = map[string]string{"tier": "core"}
	same.Name, same.Region = "member2", "us"
	lacking := member()
	lacking.Labels = nil
	key := Edit{Member: member()}.Key(m)
	if key == (EditKey{}) || key == (Edit{Member: other}).Key(m) || key == (Edit{Member: lacking}).Key(m) {
		t.Error("different values have the same key")
	}
	if key != (Edit{Member: same}).Key(m) {
		t.Error("what the manifest does not use makes another key")
	}
	escaped := mustManifest(t, editable("$$(cluster.name)"))
	strip := StripList{Labels: []string{"app"}}
	if (Edit{Member: member(), Strip: strip}).Key(escaped) == (Edit{Strip: strip}).Key(escaped) {
		t.Error("an escaped variable makes no difference")
	}
	if (Edit{Member: member(), Strip: StripList{Labels: []string{"none"}}}).Key(mustManifest(t, editable("plain"))) != (EditKey{}) {
		t.Error("an edit that changes nothing has a key")
	}
}

func BenchmarkExpand(b *testing.B) {
	b.ReportAllocs()
	source := benchObject()
	source["spec"].(map[string]any)["host"] = "$(cluster.name)"
	u := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(source)}
	m, err := NewManifest(u, identityOf(u), "1")
	if err != nil {
		b.Fatal(err)
	}
	e := Edit{Member: member()}
	for b.Loop() {
		if _, err := m.Template(Options{}).With(e); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEditKey(b *testing.B) {
	b.ReportAllocs()
	u := editable("$(cluster.name)")
	m, err := NewManifest(u, identityOf(u), "1")
	if err != nil {
		b.Fatal(err)
	}
	e := Edit{Member: member()}
	for b.Loop() {
		e.Key(m)
	}
}

func BenchmarkOverride(b *testing.B) {
	b.ReportAllocs()
	policy := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"overrideRules": []any{map[string]any{"overriders": map[string]any{
		"imageOverrider": []any{map[string]any{"component": "Registry", "operator": "replace", "value": "registry.mirror.example"}},
	}}}}}}
	policy.SetAPIVersion("policy.karmada.io/v1alpha1")
	policy.SetKind("ClusterOverridePolicy")
	policy.SetName("images")
	parsed, err := override.NewPolicy(policy)
	if err != nil {
		b.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: benchObject()}
	m, err := NewManifest(u, identityOf(u), "1")
	if err != nil {
		b.Fatal(err)
	}
	e := Edit{Overrides: override.For([]*override.Policy{parsed}, m.Selected(), override.Cluster{Name: "member1"})}
	for b.Loop() {
		if _, err := m.Template(Options{}).With(e); err != nil {
			b.Fatal(err)
		}
	}
}
