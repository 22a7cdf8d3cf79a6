package config

import (
	"testing"

	"k8s.io/apimachinery/pkg/labels"
)

func TestAllows(t *testing.T) {
	const resources = head + "resources:\n- {group: apps, resource: deployments}\n- {resource: configmaps}\n"
	web := Source{Resource: "deployments.apps", Namespace: "team-a", NamespaceLabels: labels.Set{"tier": "gold"}}
	cases := map[string]struct {
		reason  string
		rules   string
		source  Source
		cluster string
		want    bool
	}{
		"NoRules":        {"without rules everything is allowed", "", web, "m1", true},
		"EmptyList":      {"an empty list allows nothing", "authorization: []\n", web, "m1", false},
		"EmptyRule":      {"a rule that says nothing allows everything", "authorization:\n- {}\n", web, "m1", true},
		"Everything":     {"each part matches", "authorization:\n- {namespaces: [team-*], resources: [deployments.apps], clusters: [\"m?\"]}\n", web, "m1", true},
		"OtherNamespace": {"the namespace does not match", "authorization:\n- {namespaces: [team-b]}\n", web, "m1", false},
		"OtherResource":  {"nor the resource", "authorization:\n- {resources: [configmaps]}\n", web, "m1", false},
		"OtherCluster":   {"nor the cluster", "authorization:\n- {clusters: [m2, prod-*]}\n", web, "m1", false},
		"SecondRule":     {"one rule is enough", "authorization:\n- {clusters: [m2]}\n- {clusters: [m1]}\n", web, "m1", true},
		"NotTogether":    {"but two half-matching rules are not", "authorization:\n- {namespaces: [team-a], clusters: [m2]}\n- {namespaces: [team-b], clusters: [m1]}\n", web, "m1", false},
		"Labels":         {"a namespace matches by its labels", "authorization:\n- namespaceSelector: {matchLabels: {tier: gold}}\n", web, "m1", true},
		"OtherLabels":    {"labels that it does not have", "authorization:\n- namespaceSelector: {matchLabels: {tier: silver}}\n", web, "m1", false},
		"BothOfThem":     {"both name and labels must match", "authorization:\n- {namespaces: [team-b], namespaceSelector: {matchLabels: {tier: gold}}}\n", web, "m1", false},
		"NoNamespace":    {"an object without a namespace matches no glob", "authorization:\n- {namespaces: ['*']}\n", Source{Resource: "deployments.apps"}, "m1", false},
		"NoLabels":       {"and has no labels to select", "authorization:\n- namespaceSelector: {}\n", Source{Resource: "deployments.apps"}, "m1", false},
		"Unrestricted":   {"a rule without namespaces allows it", "authorization:\n- {resources: [deployments.apps]}\n", Source{Resource: "deployments.apps"}, "m1", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, err := Parse([]byte(resources + tc.rules))
			if err != nil {
				t.Fatal(err)
			}
			if got := c.Allows(tc.source, tc.cluster); got != tc.want {
				t.Errorf("%s: %v", tc.reason, got)
			}
		})
	}
}
