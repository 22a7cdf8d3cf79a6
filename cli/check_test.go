package cli

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/karmada-target/karmada-mirror/daemon"
)

// TestDaemonRights compares the rights that check asks for with those the manifests grant.
func TestDaemonRights(t *testing.T) {
	granted := map[string]bool{}
	for _, file := range []string{"clusterrole.yaml", "role.yaml"} {
		data, err := os.ReadFile(filepath.Join("..", "manifests", "karmada", file))
		if err != nil {
			t.Fatal(err)
		}
		var role rbacv1.ClusterRole
		if err := yaml.UnmarshalStrict(data, &role); err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			addRule(granted, role.Namespace, rule)
		}
	}
	asked := map[string]bool{}
	own := metav1.ObjectMeta{Namespace: daemon.Namespace, Name: "karmada-mirror"}
	for _, r := range daemonRights(types.NamespacedName{Namespace: own.Namespace, Name: own.Name}, own) {
		rule := rbacv1.PolicyRule{APIGroups: []string{r.Group}, Resources: []string{r.Resource}, Verbs: r.verbs}
		if r.name != "" {
			rule.ResourceNames = []string{r.name}
		}
		addRule(asked, r.namespace, rule)
	}
	if difference := cmp.Diff(granted, asked); difference != "" {
		t.Errorf("the manifests grant other rights than check asks for (-granted +asked):\n%s", difference)
	}
}

func addRule(rights map[string]bool, namespace string, rule rbacv1.PolicyRule) {
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{"*"}
	}
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				for _, name := range names {
					rights[namespace+" "+verb+" "+resource+"."+group+" "+name] = true
				}
			}
		}
	}
}

// TestInstallRights proves that check --pre asks for every kind that the manifests create.
func TestInstallRights(t *testing.T) {
	asked := map[string]bool{}
	for _, r := range installRights() {
		asked[r.Resource] = true
	}
	files, err := filepath.Glob("../manifests/karmada/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	plurals := map[string]string{
		"Namespace": "namespaces", "ServiceAccount": "serviceaccounts", "Secret": "secrets", "ConfigMap": "configmaps",
		"Role": "roles", "RoleBinding": "rolebindings", "ClusterRole": "clusterroles", "ClusterRoleBinding": "clusterrolebindings",
		"ValidatingAdmissionPolicy": "validatingadmissionpolicies", "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
		"FlowSchema": "flowschemas", "PriorityLevelConfiguration": "prioritylevelconfigurations",
	}
	for _, file := range files {
		for _, kind := range kindsIn(t, file) {
			if kind != "Kustomization" && !asked[plurals[kind]] {
				t.Errorf("%s has a %s, but check --pre does not ask for the right to create one", file, kind)
			}
		}
	}
}

func kindsIn(t *testing.T, file string) (kinds []string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	documents := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), len(data))
	for {
		var typed metav1.TypeMeta
		err := documents.Decode(&typed)
		if errors.Is(err, io.EOF) {
			return kinds
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		kinds = append(kinds, typed.Kind)
	}
}

func TestHasWorkField(t *testing.T) {
	definition := func(version string, fields ...string) []any {
		properties := map[string]any{}
		for _, field := range fields {
			properties[field] = map[string]any{"type": "boolean"}
		}
		spec := map[string]any{"properties": map[string]any{"spec": map[string]any{"properties": properties}}}
		return []any{map[string]any{"name": version, "schema": map[string]any{"openAPIV3Schema": spec}}}
	}
	cases := map[string]struct {
		versions []any
		want     bool
	}{
		"it is there":            {definition("v1alpha1", "suspendDispatching"), true},
		"another one is there":   {definition("v1alpha1", "workload"), false},
		"in another version":     {definition("v1alpha2", "suspendDispatching"), false},
		"there are no versions":  {nil, false},
		"a version is not a map": {[]any{"v1alpha1"}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := hasWorkField(c.versions, "suspendDispatching"); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
	if !slices.Contains(workFields, "suspendDispatching") {
		t.Error("check does not look for suspendDispatching")
	}
}
