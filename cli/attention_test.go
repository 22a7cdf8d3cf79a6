package cli

import (
	"strings"
	"testing"
)

// TestStatusOfNothing: an empty list says whether all is well, or that nothing could be in it.
func TestStatusOfNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, arguments string
		want              string
	}{
		"Attention":  {"the object has been written for an hour", "status -n shop --needs-attention configmaps/page", "page"},
		"Well":       {"nothing asks to be mirrored", "status -n empty --needs-attention", "Nothing needs your attention: 0 objects in 0 clusters."},
		"FormerName": {"the former name stays", "status -n empty --failed", "Nothing needs your attention"},
		"Unlisted":   {"the daemon does not watch them", "status -n shop pods", "pods is not among the resources of the daemon's configuration"},
		"Cluster":    {"kubectl's own --cluster", "status -n shop --cluster m1", "a member cluster is chosen by --member"},
	} {
		t.Run(name, func(t *testing.T) {
			paths := server()
			list := func(kind string, items ...any) map[string]any {
				return map[string]any{"apiVersion": "v1", "kind": kind + "List", "metadata": map[string]any{"resourceVersion": "1"}, "items": append([]any{}, items...)}
			}
			paths["/api/v1"] = serving("v1", namespaced("configmaps", "ConfigMap"), namespaced("pods", "Pod"))
			paths["/api/v1/namespaces/shop/pods"], paths["/api/v1/namespaces/shop/configmaps"], paths["/api/v1/namespaces/empty/configmaps"] = list("Pod"), list("ConfigMap", paths[pagePath]), list("ConfigMap")
			paths["/api/v1/namespaces/empty"] = map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "empty"}}
			paths[pagePath].(map[string]any)["metadata"].(map[string]any)["creationTimestamp"] = "2020-01-01T00:00:00Z"
			output, err := execute(append(strings.Fields(tc.arguments), "--kubeconfig", serve(t, paths, nil), "--cache-dir", t.TempDir())...)
			if output := told(output, err); !strings.Contains(output, tc.want) {
				t.Errorf("%s: %s", tc.reason, output)
			}
		})
	}
}
