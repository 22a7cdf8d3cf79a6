package config

import (
	"strings"
	"testing"
)

// TestSystemNamespaces: what members manage themselves is theirs, unless an administrator has named it.
func TestSystemNamespaces(t *testing.T) {
	const usual, own = "", "systemNamespaces: [\"ours-*\"]\n"
	for name, tc := range map[string]struct {
		reason    string
		text      string
		namespace string
		want      bool
	}{
		"User":        {"a user's namespace is open", usual, "shop", false},
		"Default":     {"so is the default one", usual, "default", false},
		"Kube":        {"Kubernetes has its own", usual, "kube-system", true},
		"Karmada":     {"so has Karmada", usual, "karmada-cluster", true},
		"Execution":   {"with all namespaces of Works", usual, "karmada-es-member1", true},
		"Lookalike":   {"only the beginning counts", usual, "my-karmada-es-a", false},
		"Bare":        {"without the dash it is an ordinary name", usual, "kube", false},
		"Usual":       {"this one has rights over whole clusters", usual, "argocd", true},
		"Replaced":    {"a list replaces the default", own, "argocd", false},
		"Own":         {"and says which others", own, "ours-1", true},
		"KubeStays":   {"beside those of Kubernetes", own, "kube-system", true},
		"None":        {"an empty list has none", "systemNamespaces: []\n", "argocd", false},
		"Allowed":     {"names are allowed one by one", "allowNamespaces: [kube-tools]\n", "kube-tools", false},
		"NotAllowed":  {"and no others", "allowNamespaces: [kube-tools]\n", "kube-tools2", true},
		"AllowedOwn":  {"also where an own glob matches", own + "allowNamespaces: [ours-1]\n", "ours-1", false},
		"ClusterWide": {"cluster-scoped objects have none", "systemNamespaces: [\"*\"]\n", "", false},
	} {
		c, err := Parse([]byte(head + tc.text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := c.IsSystemNamespace(tc.namespace); got != tc.want {
			t.Errorf("%s: %s: %q is %v", name, tc.reason, tc.namespace, got)
		}
		if unknown := (*Configuration)(nil).IsSystemNamespace(tc.namespace); tc.text == usual && unknown != tc.want {
			t.Errorf("%s: without a configuration, %q is %v", name, tc.namespace, unknown)
		}
	}
}

func TestSystemNamespacesRejects(t *testing.T) {
	for text, want := range map[string]string{
		"systemNamespaces:":                "systemNamespaces: Required",
		"systemNamespaces: [\"a b\"]":      `systemNamespaces[0]: Invalid value: "a b": must be a namespace name`,
		"allowNamespaces: [\"kube-*\"]":    "allowNamespaces[0]: Invalid value",
		"allowNamespaces: [x, Kube]":       "allowNamespaces[1]: Invalid value",
		"allowNamespaces: [kube-system]":   "allowNamespaces[0]: Forbidden: kube-system belongs to Kubernetes or Karmada",
		"allowNamespaces: [karmada-es-m1]": "allowNamespaces[0]: Forbidden",
	} {
		if _, err := Parse([]byte(head + text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestSystemNamespacesOfParts: the last list counts, and what is allowed adds up.
func TestSystemNamespacesOfParts(t *testing.T) {
	c, err := Parts{Key: head + "systemNamespaces: [a]\nallowNamespaces: [kube-a]", "b.yaml": head + "systemNamespaces: []", "c.yaml": head + "allowNamespaces: [kube-c]"}.Parse()
	if err != nil {
		t.Fatal(err)
	}
	for namespace, want := range map[string]bool{"a": false, "argocd": false, "kube-a": false, "kube-c": false, "kube-b": true} {
		if got := c.IsSystemNamespace(namespace); got != want {
			t.Errorf("%q is %v", namespace, got)
		}
	}
}
