package config

import (
	"strings"
	"testing"
)

func TestWarnings(t *testing.T) {
	cases := map[string]struct {
		reason, text string
		want         []string // a part of each
	}{
		"None":       {"no one can bypass it", "resources: [{group: apps, resource: deployments}]", nil},
		"Aggregated": {"offline, it is unknown what serves it", "resources: [{group: example.com, resource: widgets}, {group: example.com, resource: gadgets}]", []string{"serves example.com, admission policies do not see"}},
		"Authorized": {"the daemon enforces authorization itself", "resources: [{group: example.com, resource: widgets}]\nauthorization: [{clusters: [a]}]", nil},
		"BuiltIn":    {"the API server serves it itself", "resources: [{group: networking.k8s.io, resource: ingresses}]", nil},
		"Labels":     {"owners label their Namespaces", "resources: []\nauthorization: [{clusters: [a]}, {namespaceSelector: {matchLabels: {tier: gold}, matchExpressions: [{key: team, operator: Exists}]}}]", []string{"authorization[1].namespaceSelector: anyone who may label a Namespace (team, tier)"}},
		"OwnName":    {"but not by their name, which the API server writes", "resources: []\nauthorization: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: a}}}]", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, err := Parse([]byte("apiVersion: mirror.karmada.target/v1alpha1\nkind: MirrorConfiguration\n" + tc.text))
			if err != nil {
				t.Fatal(err)
			}
			got := c.Warnings()
			if unseen := c.WarnUnseen(); unseen != "" {
				got = append(got, unseen)
			}
			if len(got) != len(tc.want) {
				t.Fatalf("%s: %q", tc.reason, got)
			}
			for i, part := range tc.want {
				if !strings.Contains(got[i], part) {
					t.Errorf("%s: %q lacks %q", tc.reason, got[i], part)
				}
			}
		})
	}
}

// TestReplaced: an entry of a user that replaces another user's is a warning; one that replaces what the manifests say is not.
func TestReplaced(t *testing.T) {
	const head = "apiVersion: mirror.karmada.target/v1alpha1\nkind: MirrorConfiguration\nresources: "
	c, err := Parts{Key: head + "[{resource: secrets}, {resource: configmaps}]", "app.yaml": head + "[{resource: secrets, namespaces: [a]}]", "orders.yaml": head + "[{resource: secrets, namespaces: [b]}]"}.Parse()
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Warnings(); len(got) != 1 || !strings.Contains(got[0], "secrets in orders.yaml replaces the one in app.yaml") {
		t.Errorf("it warns of %q", got)
	}
}
