package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// TestRenderNamespace renders manifests without a namespace: each Work must be the one that the
// daemon would write, or the user must know that it may not be.
func TestRenderNamespace(t *testing.T) {
	const (
		configMap = "{apiVersion: v1, kind: ConfigMap, metadata: {name: page}}"
		placed    = "{apiVersion: v1, kind: ConfigMap, metadata: {name: page, namespace: shop}}"
		role      = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: page}}"
		widget    = "{apiVersion: example.io/v1, kind: Widget, metadata: {name: page}}"
	)
	cases := map[string]struct {
		reason, manifest string
		arguments        []string
		source           string // in the Work; empty if nothing is rendered
		says             string
	}{
		"Given":            {"the manifest has none", configMap, []string{"-n", "shop"}, "ConfigMap/shop/page", ""},
		"Own":              {"it has its own", placed, []string{"-n", "other"}, "ConfigMap/shop/page", ""},
		"OwnAlone":         {"none is needed", placed, nil, "ConfigMap/shop/page", ""},
		"Missing":          {"ConfigMaps have one", configMap, nil, "", `cannot render ConfigMap "page": it has no namespace: give --namespace`},
		"Empty":            {"a variable was empty", configMap, []string{"--namespace="}, "", "give --namespace"},
		"ClusterScoped":    {"ClusterRoles have none", role, []string{"-n", "shop"}, "ClusterRole.rbac.authorization.k8s.io/page", ""},
		"ClusterRoleAlone": {"and need none", role, nil, "ClusterRole.rbac.authorization.k8s.io/page", ""},
		"Unknown":          {"a custom resource may be either", widget, nil, "Widget.example.io/page", `warning: Widget.example.io "page" has no namespace`},
		"UnknownGiven":     {"the user knows", widget, []string{"-n", "shop"}, "Widget.example.io/shop/page", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "manifest.yaml")
			if err := os.WriteFile(file, []byte(c.manifest), 0o600); err != nil {
				t.Fatal(err)
			}
			output, err := execute(append([]string{"render", "-f", file, "--clusters", "m1"}, c.arguments...)...)
			text := told(output, err)
			if (err == nil) != (c.source != "") || !strings.Contains(text, c.says) || c.says == "" && strings.Contains(text, "warning") {
				t.Errorf("%s: %s", c.reason, text)
			}
			if c.source != "" && !strings.Contains(text, "karmada.target/source: "+c.source+"\n") {
				t.Errorf("%s: the Work is not of %s:\n%s", c.reason, c.source, text)
			}
		})
	}
}

// TestRenderWaves: what is rendered is what the clusters will have, whatever the order.
func TestRenderWaves(t *testing.T) {
	file := filepath.Join(t.TempDir(), "manifest.yaml")
	manifest := `{apiVersion: v1, kind: ConfigMap, metadata: {name: page, namespace: shop, annotations: {karmada.target/waves: "m1;*"}}}`
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	output, err := execute("render", "-f", file, "--clusters", "m1,m2,m3")
	if n := strings.Count(output, "kind: Work\n"); err != nil || n != 3 {
		t.Errorf("%d Works, %v:\n%s", n, err, output)
	}
}

// TestClusterScoped compares the list with what client-go knows.
func TestClusterScoped(t *testing.T) {
	mapper := testrestmapper.TestOnlyStaticRESTMapper(scheme.Scheme)
	for gvk := range scheme.Scheme.AllKnownTypes() {
		// Reviews are answered, and not stored.
		if strings.HasSuffix(gvk.Kind, "Review") {
			continue
		}
		mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if err == nil && mapping.Scope.Name() == meta.RESTScopeNameRoot && !slices.Contains(clusterScoped[gvk.Group], gvk.Kind) {
			t.Errorf("%s is not in the list", gvk.GroupKind())
		}
	}
	for group, kinds := range clusterScoped {
		for _, kind := range kinds {
			if gk := (schema.GroupKind{Group: group, Kind: kind}); scheme.Scheme.IsGroupRegistered(group) && len(scheme.Scheme.VersionsForGroupKind(gk)) == 0 {
				t.Errorf("there is no %s", gk)
			}
		}
	}
}
