package override

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// decode reads YAML as an API server would have it.
func decode(t testing.TB, text string) map[string]any {
	t.Helper()
	encoded, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := utiljson.Unmarshal(encoded, &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}

// policyOf makes a policy; namespace is empty for a ClusterOverridePolicy.
func policyOf(t testing.TB, namespace, name, spec string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterOverridePolicy", "spec": decode(t, spec)}}
	if namespace != "" {
		u.SetKind("OverridePolicy")
		u.SetNamespace(namespace)
	}
	u.SetName(name)
	return u
}

func mustPolicy(t testing.TB, namespace, name, spec string) *Policy {
	t.Helper()
	p, err := NewPolicy(policyOf(t, namespace, name, spec))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// overridersOf returns the spec of a policy with these overriders for every cluster.
func overridersOf(overriders string) string {
	return "overrideRules: [{overriders: {" + overriders + "}}]"
}

// labelling returns overriders that set the label "by".
func labelling(by string) string {
	return "overriders: {labelsOverrider: [{operator: add, value: {by: " + by + "}}]}"
}

func namesOf(o Overrides) (names []string) {
	for _, p := range o.Policies() {
		names = append(names, p.String())
	}
	return names
}

var (
	web     = Object{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web", Labels: map[string]string{"app": "web"}}
	member1 = Cluster{Name: "member1", Labels: map[string]string{"tier": "prod"}, Provider: "p1", Region: "r1", Zones: []string{"z1", "z2"}}
)

func TestNewPolicyRefuses(t *testing.T) {
	cases := map[string]struct {
		reason          string
		namespace, name string
		spec            string
		change          func(u *unstructured.Unstructured)
	}{
		"UnknownField":    {reason: "An overrider that this version does not know would be missing in the member.", name: "a", spec: "overrideRules: [{overriders: {xmlOverrider: []}}]"},
		"WrongType":       {reason: "A number is no path.", name: "a", spec: overridersOf("plaintext: [{path: 5, operator: add}]")},
		"WrongShape":      {reason: "A string is no list of rules.", name: "a", spec: "overrideRules: x"},
		"NoSpec":          {reason: "There is nothing to decode.", name: "a", spec: "{}", change: func(u *unstructured.Unstructured) { delete(u.Object, "spec") }},
		"OtherKind":       {reason: "Only two kinds are policies.", name: "a", spec: "{}", change: func(u *unstructured.Unstructured) { u.SetKind("PropagationPolicy") }},
		"OtherVersion":    {reason: "Another version may mean something else.", name: "a", spec: "{}", change: func(u *unstructured.Unstructured) { u.SetAPIVersion("policy.karmada.io/v9") }},
		"NoName":          {reason: "It could not be ordered.", spec: "{}"},
		"NoNamespace":     {reason: "It would apply to every namespace.", name: "a", spec: "{}", change: func(u *unstructured.Unstructured) { u.SetKind("OverridePolicy") }},
		"WideInNamespace": {reason: "It would apply to one namespace.", name: "a", spec: "{}", change: func(u *unstructured.Unstructured) { u.SetNamespace("shop") }},
		"FieldValue":      {reason: "Karmada panics on it.", name: "a", spec: `{targetCluster: {fieldSelector: {matchExpressions: [{key: provider, operator: In, values: ["a b"]}]}}, overriders: {}}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			u := policyOf(t, tc.namespace, tc.name, tc.spec)
			if tc.change != nil {
				tc.change(u)
			}
			p, err := NewPolicy(u)
			if err == nil || !strings.Contains(err.Error(), u.GetKind()+"/"+u.GetName()) {
				t.Errorf("%s\nNewPolicy: %v, %v", tc.reason, p, err)
			}
		})
	}
}

func TestFor(t *testing.T) {
	type policy struct{ namespace, name, spec string }
	forKind := "resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}], "
	forLabel := "resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, labelSelector: {matchLabels: {app: web}}}], "
	forName := "resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: web}], "
	cases := map[string]struct {
		reason   string
		policies []policy
		object   Object
		want     []string
	}{
		"WideFirst": {
			reason:   "ClusterOverridePolicies come first, whatever their names and priorities.",
			policies: []policy{{"shop", "a", "{" + labelling("a") + "}"}, {"", "z", "{" + forName + labelling("z") + "}"}},
			object:   web,
			want:     []string{"ClusterOverridePolicy/z", "OverridePolicy/a"},
		},
		"Narrowest": {
			reason:   "One that selects more narrowly comes later; no selector is as wide as the kind alone.",
			policies: []policy{{"shop", "a", "{" + forName + labelling("a") + "}"}, {"shop", "b", "{" + forLabel + labelling("b") + "}"}, {"shop", "d", "{" + forKind + labelling("d") + "}"}, {"shop", "c", "{" + labelling("c") + "}"}},
			object:   web,
			want:     []string{"OverridePolicy/c", "OverridePolicy/d", "OverridePolicy/b", "OverridePolicy/a"},
		},
		"Names": {
			reason:   "Equally narrow ones are ordered by name, not by where they are.",
			policies: []policy{{"shop", "b", "{" + labelling("b") + "}"}, {"shop", "a10", "{" + labelling("a") + "}"}, {"shop", "a9", "{" + labelling("a") + "}"}},
			object:   web,
			want:     []string{"OverridePolicy/a10", "OverridePolicy/a9", "OverridePolicy/b"},
		},
		"OtherNamespace": {
			reason:   "A tenant's policy does not reach another tenant's objects, even if it names their namespace.",
			policies: []policy{{"bank", "a", "{resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, namespace: shop}], " + labelling("a") + "}"}},
			object:   web,
		},
		"ClusterScoped": {
			reason:   "Only ClusterOverridePolicies reach objects without a namespace.",
			policies: []policy{{"shop", "a", "{" + labelling("a") + "}"}, {"", "b", "{" + labelling("b") + "}"}},
			object:   Object{APIVersion: "v1", Kind: "Namespace", Name: "shop"},
			want:     []string{"ClusterOverridePolicy/b"},
		},
		"NameBeatsLabels": {
			reason:   "With a name, Karmada does not look at the labels.",
			policies: []policy{{"shop", "a", "{resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: web, labelSelector: {matchLabels: {app: db}}}], " + labelling("a") + "}"}},
			object:   web,
			want:     []string{"OverridePolicy/a"},
		},
		"OtherVersion": {
			reason:   "The version of the group must be that of the object.",
			policies: []policy{{"shop", "a", "{resourceSelectors: [{apiVersion: apps/v2, kind: Deployment}], " + labelling("a") + "}"}},
			object:   web,
		},
		"InvalidSelector": {
			reason:   "An invalid label selector selects nothing, as in Karmada.",
			policies: []policy{{"shop", "a", "{resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, labelSelector: {matchExpressions: [{key: app, operator: Near}]}}], " + labelling("a") + "}"}},
			object:   web,
		},
		"LabelsChanged": {
			reason:   "OverridePolicies select by the labels that ClusterOverridePolicies leave.",
			policies: []policy{{"shop", "a", "{" + forLabel + labelling("a") + "}"}, {"", "w", overridersOf("plaintext: [{path: /metadata/labels/app, operator: replace, value: db}, {path: /spec/x, operator: add, value: 1}]")}},
			object:   web,
			want:     []string{"ClusterOverridePolicy/w"},
		},
		"LabelsAdded": {
			reason:   "So they may select an object only because of them.",
			policies: []policy{{"shop", "a", "{" + forLabel + labelling("a") + "}"}, {"", "w", overridersOf("labelsOverrider: [{operator: add, value: {app: web}}]")}},
			object:   Object{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"},
			want:     []string{"ClusterOverridePolicy/w", "OverridePolicy/a"},
		},
		"LabelsAmongEqual": {
			reason:   "ClusterOverridePolicies do not select by each other's labels.",
			policies: []policy{{"", "a", overridersOf("labelsOverrider: [{operator: remove, value: {app: web}}]")}, {"", "b", "{" + forLabel + labelling("b") + "}"}},
			object:   web,
			want:     []string{"ClusterOverridePolicy/a", "ClusterOverridePolicy/b"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var policies []*Policy
			for _, p := range tc.policies {
				policies = append(policies, mustPolicy(t, p.namespace, p.name, p.spec))
			}
			if diff := cmp.Diff(tc.want, namesOf(For(policies, tc.object, member1))); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestForClusters(t *testing.T) {
	fieldSelector := func(expression string) string { return "{fieldSelector: {matchExpressions: [" + expression + "]}}" }
	cases := map[string]struct {
		reason string
		target string
		want   bool
	}{
		"None":           {"No targetCluster is every cluster.", "null", true},
		"Empty":          {"So is an empty one.", "{}", true},
		"Name":           {"A cluster may be named.", "{clusterNames: [member2, member1]}", true},
		"OtherName":      {"Another is not meant.", "{clusterNames: [member2]}", false},
		"Excluded":       {"An exclusion wins over the name.", "{clusterNames: [member1], exclude: [member1]}", false},
		"Label":          {"By labels.", "{labelSelector: {matchLabels: {tier: prod}}}", true},
		"OtherLabel":     {"By labels.", "{labelSelector: {matchLabels: {tier: test}}}", false},
		"LabelAndName":   {"Both must fit.", "{labelSelector: {matchLabels: {tier: prod}}, clusterNames: [member2]}", false},
		"InvalidLabel":   {"As in Karmada, an invalid selector selects nothing.", "{labelSelector: {matchExpressions: [{key: tier, operator: Near}]}}", false},
		"Provider":       {"By the provider.", fieldSelector("{key: provider, operator: In, values: [p1]}"), true},
		"NotRegion":      {"By the region.", fieldSelector("{key: region, operator: NotIn, values: [r1]}"), false},
		"UnknownField":   {"No cluster has it.", fieldSelector("{key: flavor, operator: Exists}"), false},
		"Zone":           {"One of the zones is enough.", fieldSelector("{key: zone, operator: In, values: [z2, z9]}"), true},
		"NotZone":        {"None of them may be listed.", fieldSelector("{key: zone, operator: NotIn, values: [z2]}"), false},
		"ZoneExists":     {"There is one.", fieldSelector("{key: zone, operator: Exists}"), true},
		"ZoneExistsNot":  {"There is one.", fieldSelector("{key: zone, operator: DoesNotExist}"), false},
		"ZoneOperator":   {"Zones have no order.", fieldSelector("{key: zone, operator: Gt, values: ['1']}"), false},
		"FieldOperator":  {"An unknown operator selects nothing.", fieldSelector("{key: provider, operator: Near, values: [p1]}"), false},
		"ZoneAndRegion":  {"Both must fit.", fieldSelector("{key: zone, operator: In, values: [z1]}, {key: region, operator: In, values: [r9]}"), false},
		"NoExpressions":  {"No expression excludes none.", "{fieldSelector: {matchExpressions: []}}", true},
		"OtherExclusion": {"Another cluster is excluded.", "{exclude: [member2]}", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for form, spec := range map[string]string{
				"overrideRules": "overrideRules: [{targetCluster: " + tc.target + ", " + labelling("a") + "}]",
				"deprecated":    "{targetCluster: " + tc.target + ", " + labelling("a") + "}",
			} {
				p := mustPolicy(t, "shop", "a", spec)
				if got := !For([]*Policy{p}, web, member1).IsEmpty(); got != tc.want {
					t.Errorf("%s\nFor(%s) applies: %v", tc.reason, form, got)
				}
			}
		})
	}
}

// TestDeprecatedIgnored: with overrideRules, the deprecated fields mean nothing.
func TestDeprecatedIgnored(t *testing.T) {
	p := mustPolicy(t, "shop", "a", "{overrideRules: [{"+labelling("rule")+"}], "+labelling("deprecated")+"}")
	obj := decode(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}}")
	if err := For([]*Policy{p}, web, member1).Apply(obj); err != nil {
		t.Fatal(err)
	}
	if by, _, _ := unstructured.NestedString(obj, "metadata", "labels", "by"); by != "rule" {
		t.Errorf("the label is %q", by)
	}
}

func TestKey(t *testing.T) {
	key := func(specs ...string) string {
		var policies []*Policy
		for i, spec := range specs {
			policies = append(policies, mustPolicy(t, "shop", string(rune('a'+i)), spec))
		}
		return For(policies, web, member1).Key()
	}
	a, b := "{"+labelling("a")+"}", "{"+labelling("b")+"}"
	if got := key(); got != "" {
		t.Errorf("without policies: %q", got)
	}
	if key(a) != key("overrideRules: [{targetCluster: {clusterNames: [member1]}, "+labelling("a")+"}]") {
		t.Error("the same overriders have another key in another form")
	}
	seen := map[string]string{}
	for name, got := range map[string]string{"a": key(a), "b": key(b), "ab": key(a, b), "ba": key(b, a), "aa": key(a, a)} {
		if len(got) != 32 {
			t.Errorf("%s: %q", name, got)
		}
		if other, ok := seen[got]; ok {
			t.Errorf("%s and %s have the same key", name, other)
		}
		seen[got] = name
	}
}

// TestDeterministic: in which order the policies are given does not matter.
func TestDeterministic(t *testing.T) {
	a, b := mustPolicy(t, "shop", "a", "{"+labelling("a")+"}"), mustPolicy(t, "", "b", "{"+labelling("b")+"}")
	if For([]*Policy{a, b}, web, member1).Key() != For([]*Policy{b, a}, web, member1).Key() {
		t.Error("the order of the policies matters")
	}
}

// BenchmarkFor measures what the policies of a namespace cost per source and cluster.
func BenchmarkFor(b *testing.B) {
	b.ReportAllocs()
	var policies []*Policy
	for _, name := range []string{"a", "b", "c"} {
		policies = append(policies,
			mustPolicy(b, "", name, "{resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, labelSelector: {matchLabels: {app: web}}}], overrideRules: [{targetCluster: {labelSelector: {matchLabels: {tier: prod}}}, "+labelling("a")+"}, {targetCluster: {clusterNames: [member2]}, "+labelling("b")+"}]}"),
			mustPolicy(b, "shop", name, "{resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: other}], "+labelling("a")+"}"))
	}
	b.Run("Matching", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			For(policies, web, member1).Key()
		}
	})
	b.Run("ByChangedLabels", func(b *testing.B) {
		b.ReportAllocs()
		byLabels := mustPolicy(b, "shop", "d", "{resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, labelSelector: {matchLabels: {by: a}}}], "+labelling("d")+"}")
		for b.Loop() {
			For(append(policies, byLabels), web, member1).Key()
		}
	})
	b.Run("NotMatching", func(b *testing.B) {
		b.ReportAllocs()
		other := Object{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "web"}
		for b.Loop() {
			For(policies, other, member1).Key()
		}
	})
}

// FuzzApply: no policy and no object make it panic, and a Work keeps its object.
func FuzzApply(f *testing.F) {
	f.Add(`{"overriders":{"plaintext":[{"path":"","operator":"replace"},{"path":"/-","operator":"add","value":1}]}}`, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}`)
	f.Add(`{"overriders":{"imageOverrider":[{"component":"Tag","operator":"add","value":"x"},{"component":"Tag","operator":"add","predicate":{"path":"/spec/containers/-1/image"}}]}}`, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[null,{"image":5}]}}`)
	f.Add(`{"overrideRules":[{"overriders":{"commandOverrider":[{"containerName":"a","operator":"add","value":["x"]}]}}]}`, `{"apiVersion":"v1","kind":"Job","metadata":{"name":"a"},"spec":{"template":{"spec":{"containers":[{"name":"a","command":{"a":1}}]}}}}`)
	f.Add(`{"overriders":{"fieldOverrider":[{"fieldPath":"/data/a/0","yaml":[{"subPath":"/b","operator":"remove"}]}],"labelsOverrider":[{"operator":"add","value":{"a":"b"}}]}}`, `{"metadata":{"labels":5,"name":"a"},"data":{"a":["b: 1"]}}`)
	f.Fuzz(func(t *testing.T, spec, object string) {
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterOverridePolicy", "metadata": map[string]any{"name": "a"}}}
		var fields, obj map[string]any
		if json.Unmarshal([]byte(spec), &fields) != nil || utiljson.Unmarshal([]byte(object), &obj) != nil {
			return
		}
		u.Object["spec"] = fields
		p, err := NewPolicy(u)
		if err != nil {
			return
		}
		before := identityOf(obj)
		if err := For([]*Policy{p}, web, member1).Apply(obj); err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("the error has two lines: %v", err)
			}
			return
		}
		if diff := cmp.Diff(before, identityOf(obj)); diff != "" {
			t.Error(diff)
		}
	})
}

// TestErrors: an error says where the mistake is, and nothing of a Secret.
func TestErrors(t *testing.T) {
	const secret = `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a","namespace":"shop","annotations":{"a":"hunter2"}},"data":{"a":"hunter2","list":["hunter2"],"number":5,"yaml":"a: [hunter2","aliases":"a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]","json":"{\"a\": hunter2"}}`
	cases := map[string]struct {
		reason     string
		overriders string
		want       string
	}{
		"Missing":    {"The path that is missing.", "plaintext: [{path: /data/b, operator: add, value: x}, {path: /data/c/d, operator: replace, value: x}]", `overrideRules[0].overriders.plaintext[1]: cannot "replace" at "/data/c/d": there is nothing`},
		"Index":      {"The index.", "plaintext: [{path: /data/list/7, operator: remove}]", `overrideRules[0].overriders.plaintext[0]: cannot "remove" at "/data/list/7": it does not fit what is there`},
		"Operator":   {"Karmada's CRD allows three.", "plaintext: [{path: /data/a, operator: test, value: x}]", `overrideRules[0].overriders.plaintext[0]: cannot "test" at "/data/a": it does not fit what is there`},
		"Panics":     {"The library panics: a tenant must not end the daemon.", "plaintext: [{path: '', operator: replace}, {path: /-, operator: add, value: 1}]", `overrideRules[0].overriders.plaintext[1]: cannot "add" at "/-": it does not fit what is there`},
		"NoObject":   {"An object must be left.", "plaintext: [{path: '', operator: replace, value: []}]", "overrideRules[0].overriders.plaintext: the result is not an object"},
		"NotYAML":    {"The parser's text would quote the Secret.", "fieldOverrider: [{fieldPath: /data/yaml, yaml: [{subPath: /a, operator: remove}]}]", "overrideRules[0].overriders.fieldOverrider[0].yaml: the field is not YAML"},
		"Aliases":    {"A short text could become a very long one.", "fieldOverrider: [{fieldPath: /data/aliases, yaml: [{subPath: /a, operator: remove}]}]", "overrideRules[0].overriders.fieldOverrider[0].yaml: the field has aliases that stand for more than the 1.5 MiB that etcd accepts"},
		"NotJSON":    {"So would that of JSON.", "fieldOverrider: [{fieldPath: /data/json, json: [{subPath: /a, operator: remove}]}]", `overrideRules[0].overriders.fieldOverrider[0].json[0]: cannot "remove" at "/a": it does not fit what is there`},
		"NotString":  {"A document is a string.", "fieldOverrider: [{fieldPath: /data/number, json: [{subPath: /a, operator: remove}]}]", `overrideRules[0].overriders.fieldOverrider[0]: there is no string at "/data/number"`},
		"NoField":    {"The field is missing.", "fieldOverrider: [{fieldPath: /data/list/9, json: [{subPath: /a, operator: remove}]}]", `overrideRules[0].overriders.fieldOverrider[0]: there is no string at "/data/list/9"`},
		"NoSlash":    {"A pointer begins with one.", "fieldOverrider: [{fieldPath: data, json: [{subPath: /a, operator: remove}]}]", `overrideRules[0].overriders.fieldOverrider[0]: the fieldPath "data" does not begin with /`},
		"Neither":    {"Karmada would empty the field.", "fieldOverrider: [{fieldPath: /data/a}]", "overrideRules[0].overriders.fieldOverrider[0]: it has neither json nor yaml"},
		"Image":      {"It is no image.", "imageOverrider: [{component: Tag, operator: add, value: x, predicate: {path: /metadata/annotations/a}}, {component: Tag, operator: add, value: x, predicate: {path: /data/number}}]", `overrideRules[0].overriders.imageOverrider[1]: there is no string at "/data/number"`},
		"ImageIndex": {"Karmada panics on an index that is out of range.", "imageOverrider: [{component: Tag, operator: add, value: x, predicate: {path: /data/list/9/a}}]", `overrideRules[0].overriders.imageOverrider[0]: there is no string at "/data/list/9/a"`},
		"Component":  {"Karmada's CRD allows three.", "imageOverrider: [{component: Digest, operator: add, value: x, predicate: {path: /metadata/annotations/a}}]", `overrideRules[0].overriders.imageOverrider[0]: the component "Digest" is unknown`},
		"Keys":       {"Karmada's CRD allows three.", "labelsOverrider: [{operator: copy, value: {a: b}}]", `overrideRules[0].overriders.labelsOverrider[0]: the operator "copy" is unknown`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := mustPolicy(t, "shop", "p", overridersOf(tc.overriders))
			err := For([]*Policy{p}, web, member1).Apply(decode(t, secret))
			if err == nil {
				t.Fatalf("%s\nno error", tc.reason)
			}
			if diff := cmp.Diff("cannot apply OverridePolicy/p: "+tc.want, err.Error()); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestIdentity(t *testing.T) {
	cases := map[string]struct{ reason, operations string }{
		"APIVersion":      {"The group decides what the object is.", "{path: /apiVersion, operator: replace, value: v2}"},
		"Kind":            {"So does the kind.", "{path: /kind, operator: replace, value: Secret}"},
		"Name":            {"The Work has the name of another object.", "{path: /metadata/name, operator: replace, value: b}"},
		"Namespace":       {"A tenant would write into another's namespace.", "{path: /metadata/namespace, operator: replace, value: bank}"},
		"NoNamespace":     {"The object would have none.", "{path: /metadata/namespace, operator: remove}"},
		"NamespaceType":   {"A number is no namespace.", "{path: /metadata/namespace, operator: replace, value: 5}"},
		"Metadata":        {"It may be replaced as a whole.", "{path: /metadata, operator: replace, value: {name: a, namespace: bank}}"},
		"Everything":      {"So may the object.", "{path: '', operator: replace, value: {apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: shop}}}"},
		"MetadataRemoved": {"An object has metadata.", "{path: /metadata, operator: remove}"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := mustPolicy(t, "shop", "p", overridersOf("plaintext: ["+tc.operations+"]"))
			err := For([]*Policy{p}, web, member1).Apply(decode(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}}"))
			if !errors.Is(err, ErrIdentity) {
				t.Errorf("%s\nApply: %v", tc.reason, err)
			}
		})
	}
}
