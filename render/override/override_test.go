package override

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

func decodeYAML(tb testing.TB, text string) *unstructured.Unstructured {
	tb.Helper()
	u := &unstructured.Unstructured{}
	encoded, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = utiljson.Unmarshal(encoded, &u.Object)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return u
}

// policy makes an OverridePolicy of namespace shop, or a ClusterOverridePolicy if its name begins
// with "cluster", with this spec.
func policy(tb testing.TB, name, spec string) *Policy {
	tb.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{"spec": decodeYAML(tb, spec).Object}}
	u.SetAPIVersion("policy.karmada.io/v1alpha1")
	u.SetName(name)
	u.SetKind("ClusterOverridePolicy")
	if !strings.HasPrefix(name, "cluster") {
		u.SetKind("OverridePolicy")
		u.SetNamespace("shop")
	}
	p, err := NewPolicy(u)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func web() map[string]any {
	return map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"namespace": "shop", "name": "web"},
		"spec": map[string]any{"replicas": int64(3), "template": map[string]any{"spec": map[string]any{"containers": []any{
			map[string]any{"name": "main", "image": "registry.example.com/team/web:v1", "args": []any{"-a"}},
		}}}},
	}
}

var (
	webObject = Object{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web", Labels: map[string]string{"app": "web"}}
	inEurope  = Cluster{Name: "member1", Labels: map[string]string{"tier": "edge"}, Region: "eu", Zones: []string{"eu-1", "eu-2"}}
)

// TestFor: which policies apply, and in which order.
func TestFor(t *testing.T) {
	const rule = "overrideRules: [{overriders: {labelsOverrider: [{operator: add, value: {a: b}}]}}]\n"
	const all = rule + "resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}]\n"
	onClusters := func(target string) string {
		return "overrideRules: [{targetCluster: " + target + ", overriders: {plaintext: [{path: /spec/replicas, operator: replace, value: 1}]}}]\n"
	}
	cases := map[string]struct {
		reason   string
		policies map[string]string
		want     []string
	}{
		"None":        {"no policy", nil, nil},
		"NoSelectors": {"without selectors, a policy selects everything", map[string]string{"a": rule}, []string{"OverridePolicy/a"}},
		"Order":       {"cluster-wide ones first, then by name", map[string]string{"b": all, "a": all, "cluster-z": all}, []string{"ClusterOverridePolicy/cluster-z", "OverridePolicy/a", "OverridePolicy/b"}},
		"Narrow":      {"the narrower selector comes later", map[string]string{"a": rule + "resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: web}]", "b": all, "c": rule + "resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, labelSelector: {matchLabels: {app: web}}}]"}, []string{"OverridePolicy/b", "OverridePolicy/c", "OverridePolicy/a"}},
		"OtherObject": {"another kind, version, name or label", map[string]string{"a": rule + "resourceSelectors: [{apiVersion: v1, kind: ConfigMap}, {apiVersion: apps/v1beta1, kind: Deployment}, {apiVersion: apps/v1, kind: Deployment, name: db}, {apiVersion: apps/v1, kind: Deployment, labelSelector: {matchLabels: {app: db}}}]"}, nil},
		"Names":       {"clusters by name", map[string]string{"a": onClusters("{clusterNames: [member1]}"), "b": onClusters("{clusterNames: [member2]}")}, []string{"OverridePolicy/a"}},
		"Exclude":     {"an exclusion wins", map[string]string{"a": onClusters("{clusterNames: [member1], exclude: [member1]}")}, nil},
		"Labels":      {"clusters by labels", map[string]string{"a": onClusters("{labelSelector: {matchLabels: {tier: edge}}}"), "b": onClusters("{labelSelector: {matchLabels: {tier: core}}}")}, []string{"OverridePolicy/a"}},
		"Fields":      {"clusters by fields", map[string]string{"a": onClusters("{fieldSelector: {matchExpressions: [{key: region, operator: In, values: [eu]}]}}"), "b": onClusters("{fieldSelector: {matchExpressions: [{key: zone, operator: NotIn, values: [eu-2]}]}}")}, []string{"OverridePolicy/a"}},
		"Deprecated":  {"the deprecated fields", map[string]string{"a": "targetCluster: {clusterNames: [member1]}\noverriders: {labelsOverrider: [{operator: add, value: {a: b}}]}", "b": "targetCluster: {clusterNames: [member2]}\noverriders: {labelsOverrider: [{operator: add, value: {a: b}}]}"}, []string{"OverridePolicy/a"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var policies []*Policy
			for name, spec := range tc.policies {
				policies = append(policies, policy(t, name, spec))
			}
			var got []string
			overrides := For(policies, webObject, inEurope)
			for _, p := range overrides.Policies() {
				got = append(got, p.String())
				if !p.Selects(webObject) || !p.MaySelect("Deployment", "shop", "web") || p.MaySelect("Deployment", "bank", "web") != (p.Namespace() == "") {
					t.Errorf("%s: %s does not say that it selects the object", tc.reason, p)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			if parts := overrides.ByPolicy(); len(parts) != len(got) || overrides.IsEmpty() != (len(got) == 0) || (overrides.Key() == "") != (len(got) == 0) {
				t.Errorf("%s: %d parts, key %q", tc.reason, len(parts), overrides.Key())
			}
		})
	}
	foreign := policy(t, "a", all)
	other := webObject
	other.Namespace = "bank"
	if !For([]*Policy{foreign}, other, inEurope).IsEmpty() || foreign.Selects(other) {
		t.Error("a policy of another namespace applies")
	}
}

// TestApply: one of each overrider. Karmada's own functions judge the rest, in sandbox/parity.
func TestApply(t *testing.T) {
	cases := map[string]struct {
		reason, overriders string
		path               []string
		want               any
		fails              string
	}{
		"Image":      {"a component of the image", "imageOverrider: [{component: Registry, operator: replace, value: mirror.example.com}]", []string{"spec", "template", "spec", "containers", "0", "image"}, "mirror.example.com/team/web:v1", ""},
		"Command":    {"the args", "argsOverrider: [{containerName: main, operator: add, value: [-b]}]", []string{"spec", "template", "spec", "containers", "0", "args", "1"}, "-b", ""},
		"Labels":     {"labels that were not there", "labelsOverrider: [{operator: add, value: {tier: edge}}]", []string{"metadata", "labels", "tier"}, "edge", ""},
		"Plaintext":  {"a JSON patch keeps integers", "plaintext: [{path: /spec/replicas, operator: replace, value: 9007199254740993}]", []string{"spec", "replicas"}, int64(9007199254740993), ""},
		"AddToNone":  {"labels are there to add to", "plaintext: [{path: /metadata/labels/a, operator: add, value: b}]", []string{"metadata", "labels", "a"}, "b", ""},
		"Missing":    {"a missing path fails the rule", "plaintext: [{path: /spec/none, operator: remove}]", nil, nil, `overrideRules[0].overriders.plaintext[0]: cannot "remove" at "/spec/none"`},
		"Name":       {"the object stays the same one", "plaintext: [{path: /metadata/name, operator: replace, value: db}]", nil, nil, "it would change apiVersion, kind, name or namespace"},
		"Namespace":  {"and in its namespace", "plaintext: [{path: /metadata/namespace, operator: remove}]", nil, nil, "it would change"},
		"Kind":       {"of its kind", "plaintext: [{path: /kind, operator: replace, value: DaemonSet}]", nil, nil, "it would change"},
		"NoMetadata": {"metadata does not go", "plaintext: [{path: /metadata, operator: remove}]", nil, nil, "it would change"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			obj := web()
			err := For([]*Policy{policy(t, "a", "overrideRules: [{overriders: {"+tc.overriders+"}}]")}, webObject, inEurope).Apply(obj)
			if tc.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tc.fails) || !strings.Contains(err.Error(), "OverridePolicy/a") {
					t.Errorf("%s: %v", tc.reason, err)
				}
				if isIdentity := errors.Is(err, ErrIdentity); isIdentity != strings.HasPrefix(tc.fails, "it would") {
					t.Errorf("%s: %v", tc.reason, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got, ok := at(obj, tc.path); !ok || got != tc.want {
				t.Errorf("%s: %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
}

// at returns the value at a path whose tokens may be indexes below ten.
func at(value any, path []string) (any, bool) {
	for _, token := range path {
		switch v := value.(type) {
		case map[string]any:
			value = v[token]
		case []any:
			value = v[int(token[0]-'0')]
		default:
			return nil, false
		}
	}
	return value, true
}

// TestKey: the key says what is changed, and not by which policy.
func TestKey(t *testing.T) {
	key := func(name, value string) string {
		return For([]*Policy{policy(t, name, "overrideRules: [{overriders: {labelsOverrider: [{operator: add, value: {a: "+value+"}}]}}]")}, webObject, inEurope).Key()
	}
	if key("a", "x") != key("b", "x") || key("a", "x") == key("a", "z") {
		t.Error("the key does not say what is changed")
	}
}

func TestNewPolicyRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"Kind":         "{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: a, namespace: b}, spec: {}}",
		"Scope":        "{apiVersion: policy.karmada.io/v1alpha1, kind: ClusterOverridePolicy, metadata: {name: a, namespace: b}, spec: {}}",
		"NoNamespace":  "{apiVersion: policy.karmada.io/v1alpha1, kind: OverridePolicy, metadata: {name: a}, spec: {}}",
		"UnknownField": "{apiVersion: policy.karmada.io/v1alpha1, kind: OverridePolicy, metadata: {name: a, namespace: b}, spec: {overrideRules: [{overriders: {newOverrider: []}}]}}",
		"NoSpec":       "{apiVersion: policy.karmada.io/v1alpha1, kind: OverridePolicy, metadata: {name: a, namespace: b}}",
	} {
		if _, err := NewPolicy(decodeYAML(t, text)); err == nil {
			t.Errorf("%s: it is accepted", name)
		}
	}
}

// FuzzApply: nothing panics.
func FuzzApply(f *testing.F) {
	f.Add([]byte(`{"overriders":{"plaintext":[{"path":"/spec","operator":"remove"}]}}`), []byte(`{"kind":"Pod","metadata":{},"spec":{"containers":[null]}}`))
	f.Add([]byte(`{"overriders":{"imageOverrider":[{"component":"Tag","operator":"add","value":"x"}]}}`), []byte(`{"kind":"Pod","metadata":{"labels":1},"spec":{"containers":[{"image":"a"}]}}`))
	f.Fuzz(func(t *testing.T, spec, object []byte) {
		var fields, obj map[string]any
		if json.Unmarshal(spec, &fields) != nil || json.Unmarshal(object, &obj) != nil {
			return
		}
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterOverridePolicy", "metadata": map[string]any{"name": "a"}, "spec": fields}}
		p, err := NewPolicy(u)
		if err != nil {
			return
		}
		_ = For([]*Policy{p}, webObject, inEurope).Apply(obj)
	})
}

func BenchmarkFor(b *testing.B) {
	var policies []*Policy
	for _, name := range []string{"a", "b", "c", "cluster-a", "cluster-b"} {
		policies = append(policies, policy(b, name, "resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, labelSelector: {matchLabels: {app: web}}}]\noverrideRules: [{targetCluster: {labelSelector: {matchLabels: {tier: edge}}}, overriders: {imageOverrider: [{component: Registry, operator: replace, value: a}]}}]"))
	}
	b.ReportAllocs()
	for b.Loop() {
		For(policies, webObject, inEurope).Key()
	}
}

func BenchmarkApply(b *testing.B) {
	overrides := For([]*Policy{policy(b, "a", "overrideRules: [{overriders: {imageOverrider: [{component: Registry, operator: replace, value: mirror.example.com}]}}]")}, webObject, inEurope)
	obj := web()
	b.ReportAllocs()
	for b.Loop() {
		if err := overrides.Apply(runtime.DeepCopyJSON(obj)); err != nil {
			b.Fatal(err)
		}
	}
}
