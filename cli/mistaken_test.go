package cli

import (
	"strings"
	"testing"

	"github.com/karmada-target/karmada-mirror/config"
)

// TestMistakenConfiguration: the daemon goes on when a part of its configuration has a mistake, and so do the commands.
func TestMistakenConfiguration(t *testing.T) {
	for part, mirrored := range map[string]string{"own.yaml": "its resource is in the configuration", config.Key: "its resource may be in the configuration, which cannot be read"} {
		for _, command := range []string{"status", "explain", "wait", "diff"} {
			t.Run(command+" "+part, func(t *testing.T) {
				paths := server()
				paths[configMapPath].(map[string]any)["data"].(map[string]any)[part] = configHead + "resorces: []\n"
				arguments := []string{command, "configmaps/page", "-n", "shop", "--kubeconfig", serve(t, paths, nil), "--cache-dir", t.TempDir()}
				if command == "wait" {
					arguments = append(arguments, "--timeout", "0s")
				}
				output, err := execute(arguments...)
				output = told(output, err)
				if !strings.Contains(output, `warning: ConfigMap "karmada-system/karmada-mirror": `) || !strings.Contains(output, `unknown field "resorces"`) || strings.Count(output, "resorces") != 1 {
					t.Errorf("it does not say what is wrong, once: %s", output)
				}
				if command == "wait" && !strings.Contains(output, "m1: its Work does not exist yet") || command == "explain" && !strings.Contains(output, mirrored) {
					t.Errorf("it does not go on: %s", output)
				}
			})
		}
	}
}
