package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const head = "apiVersion: mirror.karmada.target/v1alpha1\nkind: MirrorConfiguration\n"

func TestParse(t *testing.T) {
	cases := map[string]struct {
		reason string
		in     string
		want   *Configuration
	}{
		"Defaults": {
			reason: "without resources a configuration watches nothing; the breaker has its defaults",
			in:     head,
			want: &Configuration{APIVersion: APIVersion, Kind: Kind,
				Deletion: Deletion{HoldAbove: HoldAbove{Works: 50, Percent: 25}}},
		},
		"Full": {
			reason: "every field is read",
			in: head + `
resources:
- {group: apps, version: v1, resource: deployments}
- {resource: configmaps, namespaces: [team-a, "shop-*", "!shop-old"]}
overridePolicies: Honor
strip: {labels: ["argocd.argoproj.io/*"], annotations: [owner]}
deletion: {holdAbove: {works: 0}}
`,
			want: &Configuration{APIVersion: APIVersion, Kind: Kind,
				Resources: []Resource{
					{Group: "apps", Version: "v1", Resource: "deployments"},
					{Resource: "configmaps", Namespaces: []string{"team-a", "shop-*", "!shop-old"}},
				},
				OverridePolicies: HonorPolicies,
				Strip:            Strip{Labels: []string{"argocd.argoproj.io/*"}, Annotations: []string{"owner"}},
				Deletion:         Deletion{HoldAbove: HoldAbove{Works: 0, Percent: 25}}},
		},
		"Definitions": {
			reason: "definitions that go along are a resource, too",
			in:     head + "resources:\n- {group: example.io, resource: widgets, definitions: Mirror}\n- {group: example.io, resource: gauges, definitions: Ignore}\n",
			want: &Configuration{APIVersion: APIVersion, Kind: Kind,
				Resources: []Resource{
					{Group: "example.io", Resource: "widgets", Definitions: MirrorDefinitions},
					{Group: "example.io", Resource: "gauges", Definitions: IgnoreDefinitions},
					{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
				},
				Deletion: Deletion{HoldAbove: HoldAbove{Works: 50, Percent: 25}}},
		},
		"JSON": {
			reason: "JSON is YAML",
			in:     `{"apiVersion":"mirror.karmada.target/v1alpha1","kind":"MirrorConfiguration","resources":[{"resource":"services"}]}`,
			want: &Configuration{APIVersion: APIVersion, Kind: Kind,
				Resources: []Resource{{Resource: "services"}},
				Deletion:  Deletion{HoldAbove: HoldAbove{Works: 50, Percent: 25}}},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Parse([]byte(c.in))
			if err != nil {
				t.Fatalf("%s: Parse: %v", c.reason, err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", c.reason, diff)
			}
		})
	}
}

func TestParseRejects(t *testing.T) {
	cases := map[string]struct {
		reason string
		in     string
		want   []string // field paths or values that the error must name
	}{
		"Empty":           {"an empty file has no version", "", []string{"apiVersion", "kind"}},
		"NotYAML":         {"a tab where YAML forbids it", "\tresources: [", []string{"YAML"}},
		"UnknownField":    {"a typo must not be dropped silently", head + "resources:\n- {resource: pods, namespace: [a]}\n", []string{`resources[0].namespace`}},
		"DuplicateKey":    {"the second key would win silently", head + "resources: []\nresources: []\n", []string{"resources"}},
		"WrongType":       {"a string where a number belongs", head + "deletion: {holdAbove: {works: many}}\n", []string{"holdAbove.works"}},
		"WrongVersion":    {"a later version may mean something else", "apiVersion: v2\nkind: MirrorConfiguration\n", []string{"apiVersion", "v2"}},
		"NoResource":      {"the plural is required", head + "resources:\n- {group: apps}\n", []string{"resources[0].resource"}},
		"KindForResource": {"a kind is not a resource", head + "resources:\n- {group: apps, resource: Deployment}\n", []string{"resources[0].resource", "Deployment"}},
		"NoDefinition":    {"only custom resources have one", head + "resources:\n- {group: apps, resource: deployments, definitions: Mirror}\n", []string{"resources[0].definitions", "custom"}},
		"WrongWord":       {"there are two words", head + "resources:\n- {group: example.io, resource: widgets, definitions: true}\n", []string{"definitions"}},
		"Definition":      {"it only goes along", head + "resources:\n- {group: apiextensions.k8s.io, resource: customresourcedefinitions}\n", []string{"resources[0]", "definitions: Mirror"}},
		"Subresource":     {"subresources are not objects", head + "resources:\n- {resource: pods/log}\n", []string{"resources[0].resource"}},
		"CoreSpelledOut":  {"the hint says how", head + "resources:\n- {group: core, resource: pods}\n", []string{"resources[0].group", "omit it"}},
		"Duplicate":       {"two versions of one resource are one resource", head + "resources:\n- {group: apps, version: v1, resource: deployments}\n- {group: apps, resource: deployments}\n", []string{"resources[1]", "deployments.apps"}},
		"MalformedGlob":   {"an unclosed bracket", head + "resources:\n- {resource: pods, namespaces: [\"a[\"]}\n", []string{"resources[0].namespaces[0]"}},
		"EmptyGlob":       {"an empty glob matches nothing, which no one means", head + "resources:\n- {resource: pods, namespaces: [\"\"]}\n", []string{"resources[0].namespaces[0]"}},
		"NegativeHold":    {"a count is not negative", head + "deletion: {holdAbove: {works: -1, percent: 101}}\n", []string{"holdAbove.works", "holdAbove.percent"}},
		"RuleOfNothing":   {"a resource that is not watched", head + "resources:\n- {group: apps, resource: deployments}\nauthorization:\n- {resources: [deployments]}\n", []string{"authorization[0].resources[0]", "deployments.apps"}},
		"RuleGlobs":       {"globs are checked as elsewhere", head + "authorization:\n- {namespaces: [\"a[\"], clusters: [Member1]}\n", []string{"authorization[0].namespaces[0]", "authorization[0].clusters[0]"}},
		"RuleSelector":    {"it must be a valid label selector", head + "authorization:\n- namespaceSelector: {matchExpressions: [{key: a, operator: Like}]}\n", []string{"authorization[0].namespaceSelector"}},
		"RuleTypo":        {"a typo must not widen a rule", head + "authorization:\n- {cluster: [a]}\n", []string{"authorization[0].cluster"}},
		"RulesOfNothing":  {"a key without a value would allow everything", head + "authorization:\n", []string{"authorization: Required"}},
		"RuleNull":        {"inside a rule too", head + "authorization:\n- namespaces: [a]\n  clusters:\n", []string{"authorization[0].clusters"}},
		"RuleEmptyList":   {"and so would an empty list in it", head + "authorization:\n- {clusters: [], resources: []}\n", []string{"authorization[0].clusters", "authorization[0].resources"}},
		"OnlyExclusions":  {"they would select nothing", head + "resources:\n- {resource: pods, namespaces: [\"!a\"]}\n", []string{"resources[0].namespaces", "only exclusions"}},
		"MalformedKey":    {"globs of keys are checked", head + "strip: {labels: [\"a b\"], annotations: [\"x[\"]}\n", []string{"strip.labels[0]", "strip.annotations[0]"}},
		"OtherPolicies":   {"there are two values", head + "overridePolicies: honor\n", []string{"overridePolicies", "Honor", "Ignore"}},
		"NoPolicies":      {"a key without a value would lose the overrides", head + "overridePolicies:\n", []string{"overridePolicies"}},
		"MalformedShown":  {"so are those of what may be shown", head + "expand: {annotations: [\"a b\"]}\n", []string{"expand.annotations[0]"}},
		"NoShown":         {"and a list is a list", head + "expand:\n", []string{"expand"}},
		"NoStrip":         {"or let out what is to stay", head + "strip:\n", []string{"strip"}},
		"Everything":      {"all mistakes at once", head + "resources:\n- {}\n- {resource: nodes}\n", []string{"resources[0].resource", "resources[1]"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(c.in))
			if err == nil {
				t.Fatalf("%s: Parse accepted it", c.reason)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s: error %q does not name %q", c.reason, err, want)
				}
			}
		})
	}
}

func TestForbidden(t *testing.T) {
	cases := map[schema.GroupResource]bool{
		{Resource: "configmaps"}:                                false,
		{Resource: "secrets"}:                                   false,
		{Resource: "nodes"}:                                     true,
		{Resource: "namespaces"}:                                true,
		{Resource: "endpoints"}:                                 true,
		{Group: "rbac.authorization.k8s.io", Resource: "roles"}: true,
		{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}: true,
		{Group: "admissionregistration.k8s.io", Resource: "anything"}:          true,
		{Group: "coordination.k8s.io", Resource: "leases"}:                     true,
		{Group: "events.k8s.io", Resource: "events"}:                           true,
		{Group: "discovery.k8s.io", Resource: "endpointslices"}:                true,
		{Group: "work.karmada.io", Resource: "works"}:                          true,
		{Group: "policy.karmada.io", Resource: "propagationpolicies"}:          true,
		{Group: "notkarmada.io", Resource: "works"}:                            false,
		{Group: "cloudnative.czs", Resource: "virtualmachines"}:                false,
		{Group: "example.io", Resource: "nodes"}:                               false,
		{Group: "networking.k8s.io", Resource: "ingresses"}:                    false,
	}
	for gr, want := range cases {
		if why, got := Forbidden(gr); got != want || got != (why != "") {
			t.Errorf("Forbidden(%s) = %q, %v; want %v", gr, why, got, want)
		}
	}
}

func TestSelectsNamespace(t *testing.T) {
	cases := map[string]struct {
		reason     string
		namespaces []string
		namespace  string
		want       bool
	}{
		"All":           {"no list is every namespace", nil, "a", true},
		"Literal":       {"a literal matches itself", []string{"a"}, "a", true},
		"Other":         {"and nothing else", []string{"a"}, "ab", false},
		"Glob":          {"a glob", []string{"x", "shop-*"}, "shop-eu", true},
		"LeftOut":       {"an exclusion wins wherever it stands", []string{"!shop-old", "shop-*"}, "shop-old", false},
		"NotLeftOut":    {"and leaves the others", []string{"shop-*", "!shop-old"}, "shop-eu", true},
		"ClusterScoped": {"a cluster-scoped object has no namespace to be outside of", []string{"a"}, "", true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := (Resource{Namespaces: c.namespaces}).SelectsNamespace(c.namespace); got != c.want {
				t.Errorf("%s: got %v", c.reason, got)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(head + "resources:\n- {resource: pods}\n"))
	f.Add([]byte("{"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse(data)
		if (c == nil) == (err == nil) {
			t.Fatalf("Parse(%q) = %v, %v: want exactly one", data, c, err)
		}
	})
}
