package cli

import (
	"strings"
	"testing"

	"github.com/karmada-target/karmada-mirror/config"
)

// TestMistakenConfiguration: the daemon goes on when a part of its configuration has a mistake, and so do the commands. They claim
// nothing that the configuration decides.
func TestMistakenConfiguration(t *testing.T) {
	for _, part := range []string{"own.yaml", config.Key} {
		for command, want := range map[string]string{
			"status configmaps/page":                          "m1",
			"explain configmaps/page":                         "its resource may be in the configuration, which cannot be read",
			"wait configmaps/page --timeout 0s":               "m1: its Work does not exist yet",
			"diff configmaps/page":                            "page",
			"diff configmaps/plain":                           "cannot tell whether anything differs: the daemon's configuration has a mistake",
			"explain configmaps/page -o json":                 `"ConfigMap"`,
			"wait configmaps/page --for applied --timeout 0s": "m1: its Work does not exist yet",
		} {
			t.Run(command+" "+part, func(t *testing.T) {
				paths := server()
				paths[configMapPath].(map[string]any)["data"].(map[string]any)[part] = configHead + "resorces: []\n"
				paths["/api/v1/namespaces/shop/configmaps/plain"] = map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "plain", "namespace": "shop", "uid": "u"}}
				output, err := execute(append(strings.Fields(command), "-n", "shop", "--kubeconfig", serve(t, paths, nil), "--cache-dir", t.TempDir())...)
				output = told(output, err)
				if !strings.Contains(output, `warning: ConfigMap "karmada-system/karmada-mirror": `) || strings.Count(output, `unknown field "resorces"`) != 1 {
					t.Errorf("it does not say what is wrong, once: %s", output)
				}
				if !strings.Contains(output, want) {
					t.Errorf("it does not go on: %s", output)
				}
			})
		}
	}
}

// TestMistakeMeanwhile: a command that has read the configuration keeps it, as the daemon does.
func TestMistakeMeanwhile(t *testing.T) {
	paths := server()
	good := paths[configMapPath]
	bad := server()[configMapPath]
	bad.(map[string]any)["data"] = map[string]any{config.Key: configHead + "resorces: []\n"}
	paths[configMapPath] = &answers{good, bad}
	s := newSelection(New(), nil)
	*s.flags.KubeConfig = serve(t, paths, nil)
	for range 2 {
		if _, err := s.reader(t.Context()); err != nil || s.configuration == nil || len(s.configuration.Resources) != 1 {
			t.Fatal(err, s.configuration)
		}
	}
}
