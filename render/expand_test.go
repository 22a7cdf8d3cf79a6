package render

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func member() *Member {
	return &Member{
		Name: "member1", Region: "eu", Provider: "acme", Zones: []string{"eu-1"},
		Labels: map[string]string{"tier": "edge", "empty": ""}, Annotations: map[string]string{"example.com/host": "shop.example.com", "kubectl.kubernetes.io/last-applied-configuration": "{}"},
	}
}

func TestExpandText(t *testing.T) {
	cases := map[string]struct {
		reason, text, want string
		fails              bool
	}{
		"Plain":           {"nothing to expand", "plain", "plain", false},
		"Name":            {"the cluster's name", "a-$(cluster.name)-b", "a-member1-b", false},
		"All":             {"each variable", "$(cluster.region)/$(cluster.zone)/$(cluster.provider)/$(cluster.label:tier)/$(cluster.annotation:example.com/host)", "eu/eu-1/acme/edge/shop.example.com", false},
		"Topology":        {"labels as selectors see them", "$(cluster.label:topology.kubernetes.io/region)", "eu", false},
		"EmptyLabel":      {"a label may be empty", "[$(cluster.label:empty)]", "[]", false},
		"NoLabel":         {"a missing label is an error", "$(cluster.label:none)", "", true},
		"Default":         {"unless there is a default", "$(cluster.label:none:-gold)", "gold", false},
		"EmptyDefault":    {"which may be empty", "[$(cluster.annotation:none:-)]", "[]", false},
		"DefaultUnused":   {"and is not used otherwise", "$(cluster.label:tier:-gold)", "edge", false},
		"Kubernetes":      {"Kubernetes' own variables stay", "$(HOST) $$(HOST) $(cluster)", "$(HOST) $$(HOST) $(cluster)", false},
		"Escaped":         {"so does an escaped one", "$$(cluster.name) $(cluster.name)", "$(cluster.name) member1", false},
		"Dollars":         {"a dollar before it", "$$$(cluster.name)", "$$(cluster.name)", false},
		"Unknown":         {"there is no such variable", "$(cluster.color)", "", true},
		"Record":          {"what kubectl has noted of the Cluster is its whole spec", "$(cluster.annotation:kubectl.kubernetes.io/last-applied-configuration)", "", true},
		"NoKey":           {"a label without a key", "$(cluster.label:)", "", true},
		"Open":            {"a variable without an end", "$(cluster.name", "", true},
		"UnknownDefault":  {"a default does not make it one", "$(cluster.color:-red)", "", true},
		"NotRecursive":    {"what is inserted stays as it is", "$(cluster.label:none:-$(cluster.name))", "$(cluster.name)", false},
		"DefaultWithMark": {"only the first mark separates", "$(cluster.label:none:-a:-b)", "a:-b", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := expandText(tc.text, member().Says)
			if (err != nil) != tc.fails || got != tc.want && !tc.fails {
				t.Errorf("%s: %q, %v, want %q", tc.reason, got, err, tc.want)
			}
			if err != nil {
				checkMessage(t, err)
			}
		})
	}
}

// TestZones: a variable stands for a zone only if it is the only one; selectors see all of them, as Karmada's affinities do.
func TestZones(t *testing.T) {
	m := member()
	m.Zones = []string{"eu-1", "eu-2"}
	if value, ok := m.Says("zone"); ok {
		t.Errorf("the zone is %q", value)
	}
	m.Labels = map[string]string{"tier": "edge"}
	for selector, want := range map[string]bool{
		"topology.kubernetes.io/zone=eu-2": true, "topology.kubernetes.io/zone=eu-3": false, "topology.kubernetes.io/zone in (eu-3,eu-1)": true,
		"topology.kubernetes.io/zone!=eu-2": false, "topology.kubernetes.io/zone notin (eu-3)": true, "topology.kubernetes.io/zone": true, "!topology.kubernetes.io/zone": false,
		"topology.kubernetes.io/zone=eu-1,topology.kubernetes.io/zone=eu-2": true, "topology.kubernetes.io/zone=eu-1,tier=core": false, "topology.kubernetes.io/zone=eu-1,tier=edge": true,
	} {
		terms, err := Wishes{selector: wish{value: selector, given: true}}.Terms()
		if err != nil || terms.Matches("m1", m.SelectorLabels()) != want || KeyMatches(terms.Index()[0], "m1", m.SelectorLabels()) != want {
			t.Errorf("%s matches: %t (%v)", selector, !want, err)
		}
	}
	m.Labels = map[string]string{"topology.kubernetes.io/region": "own"}
	want := map[string]string{"topology.kubernetes.io/region": "own", "topology.kubernetes.io/zone": "eu-1,eu-2", "cluster.karmada.io/provider": "acme"}
	if diff := cmp.Diff(want, map[string]string(m.SelectorLabels())); diff != "" {
		t.Errorf("the Cluster's own label wins, -want +got:\n%s", diff)
	}
}

// TestExpand: what is expanded, and what stays.
func TestExpand(t *testing.T) {
	const variable, spared = "$(cluster.name)", "$(cluster.zone)"
	obj := map[string]any{
		"apiVersion": "v1", "kind": "Secret",
		"metadata":     map[string]any{"name": spared, "namespace": spared, "annotations": map[string]any{"a": variable}},
		"data":         map[string]any{"key": spared},
		variable:       variable,
		"list":         []any{variable, map[string]any{"name": variable}, int64(1)},
		"metadata.foo": true,
	}
	if diff := cmp.Diff([]string{"name"}, variablesIn(obj)); diff != "" {
		t.Errorf("variables, -want +got:\n%s", diff)
	}
	if err := expand(obj, member()); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"apiVersion": "v1", "kind": "Secret",
		"metadata":     map[string]any{"name": spared, "namespace": spared, "annotations": map[string]any{"a": "member1"}},
		"data":         map[string]any{"key": spared},
		variable:       "member1",
		"list":         []any{"member1", map[string]any{"name": "member1"}, int64(1)},
		"metadata.foo": true,
	}
	if diff := cmp.Diff(want, obj); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestExpandTooLong: a short text cannot make the daemon run out of memory.
func TestExpandTooLong(t *testing.T) {
	m := member()
	m.Annotations["long"] = strings.Repeat("x", 200<<10)
	list := make([]any, 100)
	for i := range list {
		list[i] = "$(cluster.annotation:long)"
	}
	if err := expand(map[string]any{"list": list}, m); err == nil {
		t.Error("20 MB were accepted")
	}
	if _, err := expandText(strings.Repeat("$(cluster.annotation:long)", 100_000), m.Says); err == nil {
		t.Error("20 GB were accepted")
	}
}

func FuzzExpandText(f *testing.F) {
	for _, seed := range []string{"$(cluster.name)", "$$(cluster.name)", "$(cluster.label:a:-b)", "$(cluster.", "$(A)"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := expandText(text, member().Says)
		if err != nil {
			checkMessage(t, err)
			return
		}
		if !strings.Contains(text, variableStart) && got != text {
			t.Errorf("%q became %q", text, got)
		}
	})
}
