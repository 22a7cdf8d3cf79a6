package cli

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/render"
)

// worksOf are the Works on m1 of ConfigMaps and Secrets.
func worksOf(t *testing.T, sources ...string) map[string]any {
	t.Helper()
	items := []any{}
	for _, source := range sources {
		kind, name, _ := strings.Cut(source, "/")
		items = append(items, workIn(t, map[string]any{
			"apiVersion": "v1", "kind": kind,
			"metadata": map[string]any{"name": name, "namespace": "shop", "uid": "u", "annotations": map[string]any{render.ClustersAnnotation: "m1"}},
		}, render.ExecutionNamespace("m1")))
	}
	return map[string]any{"apiVersion": "work.karmada.io/v1alpha1", "kind": "WorkList", "metadata": map[string]any{"resourceVersion": "1"}, "items": items}
}

// withSecrets is a server that mirrors ConfigMaps, of which there are none, and Secrets.
func withSecrets(t *testing.T, secrets any) map[string]any {
	t.Helper()
	paths := server()
	delete(paths, pagePath)
	paths[configMapPath].(map[string]any)["data"] = map[string]any{config.Key: configHead + "resources: [{resource: secrets}, {resource: configmaps}]\n"}
	paths["/api/v1"] = serving("v1", namespaced("configmaps", "ConfigMap"), namespaced("secrets", "Secret"))
	paths["/api/v1/configmaps"] = map[string]any{"apiVersion": "v1", "kind": "ConfigMapList", "metadata": map[string]any{"resourceVersion": "1"}, "items": []any{}}
	paths["/api/v1/namespaces"] = map[string]any{"apiVersion": "v1", "kind": "NamespaceList", "metadata": map[string]any{"resourceVersion": "1"}, "items": []any{paths["/api/v1/namespaces/shop"]}}
	paths["/api/v1/secrets"] = secrets
	all := []string{"Secret/key"}
	for i := range 5 {
		paths[fmt.Sprintf("/api/v1/namespaces/shop/secrets/key-%d", i)] = secrets
		all = append(all, fmt.Sprint("ConfigMap/page-", i), fmt.Sprint("Secret/key-", i))
	}
	paths["/api/v1/namespaces/shop/secrets/key"] = secrets
	works := worksOf(t, all...)
	paths[worksPath] = works
	for _, item := range works["items"].([]any) {
		paths[workAPIPath+"/namespaces/karmada-es-m1/works/"+(&unstructured.Unstructured{Object: item.(map[string]any)}).GetName()] = item
	}
	return paths
}

// TestOneKindFails: a kind that cannot be read hides neither its own Works nor those of others.
func TestOneKindFails(t *testing.T) {
	broken := refusal(http.StatusInternalServerError, metav1.StatusReasonInternalError)
	broken.Message = "secrets are broken"
	paths := withSecrets(t, broken)
	for _, command := range []string{"status -A", "diff -A"} {
		output, err := execute(append(strings.Fields(command), "--kubeconfig", serve(t, paths, nil), "--cache-dir", t.TempDir())...)
		if err == nil || !strings.Contains(err.Error(), broken.Message) {
			t.Errorf("%s: %v does not name the kind that fails", command, err)
		}
		for i := range 5 {
			if !strings.Contains(output, fmt.Sprint("page-", i)) {
				t.Errorf("%s does not show page-%d:\n%s", command, i, output)
			}
			if command == "status -A" && !strings.Contains(output, fmt.Sprint("key-", i)) {
				t.Errorf("%s does not show key-%d:\n%s", command, i, output)
			}
		}
	}
}

// TestKindGoes: a kind that was served when another command asked, and is not any more, is known to be gone, and hides nothing.
func TestKindGoes(t *testing.T) {
	for command, wants := range map[string][]string{"status -A": {"page-4", "key-4"}, "purge --resource secrets --finalizers --dry-run": {"6 Works"}, "wait secrets/key -n shop": {"doesn't have"}, "explain secrets/key -n shop": {"doesn't have"}} {
		paths := withSecrets(t, map[string]any{"apiVersion": "v1", "kind": "SecretList", "metadata": map[string]any{"resourceVersion": "1"}, "items": []any{}})
		paths["/api/v1/namespaces/karmada-system/configmaps"] = map[string]any{"apiVersion": "v1", "kind": "ConfigMapList", "metadata": map[string]any{"resourceVersion": "1"}, "items": []any{}}
		kubeconfig, cache := serve(t, paths, nil), t.TempDir()
		run := func(command string) string {
			return told(execute(append(strings.Fields(command), "--kubeconfig", kubeconfig, "--cache-dir", cache)...))
		}
		run("status -A")
		paths["/api/v1"] = serving("v1", namespaced("configmaps", "ConfigMap"))
		paths["/api/v1/secrets"] = refusal(http.StatusNotFound, metav1.StatusReasonNotFound)
		if strings.HasPrefix(command, "purge") { // what has left the configuration
			paths[configMapPath].(map[string]any)["data"] = map[string]any{config.Key: configHead + "resources: [{resource: configmaps}]\n"}
		}
		output := run(command)
		for _, want := range wants {
			if !strings.Contains(output, want) {
				t.Errorf("%s: no %q:\n%s", command, want, output)
			}
		}
	}
}

// TestKindHidden: where all kinds are listed, one that the user may not read, or that has gone since the command asked what is served, is no failure.
func TestKindHidden(t *testing.T) {
	for _, refused := range []metav1.Status{refusal(http.StatusNotFound, metav1.StatusReasonNotFound), refusal(http.StatusForbidden, metav1.StatusReasonForbidden)} {
		kubeconfig := serve(t, withSecrets(t, refused), nil)
		run := func(command ...string) string {
			return told(execute(append(command, "--kubeconfig", kubeconfig, "--cache-dir", t.TempDir())...))
		}
		for _, command := range []string{"status", "diff"} {
			output := run(command, "-A")
			if !strings.Contains(output, "page-4") || strings.Contains(output, "karmada-mirror: ") || command == "status" && !strings.Contains(output, "key-4") {
				t.Errorf("%s: %s fails, or shows no page-4 or key-4:\n%s", refused.Reason, command, output)
			}
		}
		if output := run("status", "secrets", "-A"); !strings.Contains(output, "karmada-mirror: ") {
			t.Errorf("%s: a kind that is named is no failure:\n%s", refused.Reason, output)
		}
	}
}
