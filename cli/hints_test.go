package cli

import (
	"maps"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestOtherServer runs the commands on API servers that are not Karmada's: they say so, whatever
// the user's rights there.
func TestOtherServer(t *testing.T) {
	member := server()
	for _, path := range []string{workAPIPath, worksPath, configMapPath, clustersPath} {
		delete(member, path)
	}
	member[reviewsPath] = withToken()[reviewsPath]
	forbidden := refusal(http.StatusForbidden, metav1.StatusReasonForbidden)
	noConfigMap := maps.Clone(member)
	noConfigMap[configMapPath] = forbidden
	nothing := maps.Clone(noConfigMap)
	nothing[worksPath], nothing[clustersPath], nothing[tokenPath] = forbidden, forbidden, forbidden
	servers := map[string]struct {
		reason string
		paths  map[string]any
	}{
		"Administrator": {"all that is missing is not found", member},
		"User":          {"the ConfigMap is forbidden, as to a tenant of Karmada", noConfigMap},
		"Stranger":      {"RBAC is asked before the API server looks for anything", nothing},
	}
	t.Setenv("KUBECACHEDIR", t.TempDir())
	for name, s := range servers {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", serve(t, s.paths, nil))
			for _, command := range []string{
				"status", "status configmaps", "explain configmaps/page", "diff -A", "wait configmaps/page", "kubeconfig",
				"deletions list", "deletions approve", "purge --resource configmaps",
			} {
				output, err := execute(strings.Fields(command)...)
				text := told(output, err)
				if err == nil || !strings.Contains(text, "it is not a Karmada API server\n  this kubeconfig is for another cluster") {
					t.Errorf("%s: %s: %s", s.reason, command, text)
				}
				if strings.Contains(text, "kubectl apply") || strings.Contains(text, "karmada-mirror-viewer") {
					t.Errorf("%s: %s advises what is wrong there: %s", s.reason, command, text)
				}
			}
		})
	}
}

// TestConfigurationMissing: on Karmada's own API server, a missing ConfigMap is a matter of the
// installation.
func TestConfigurationMissing(t *testing.T) {
	paths := server()
	delete(paths, configMapPath)
	t.Setenv("KUBECONFIG", serve(t, paths, nil))
	t.Setenv("KUBECACHEDIR", t.TempDir())
	for _, command := range []string{"status", "purge --resource configmaps"} {
		_, err := execute(strings.Fields(command)...)
		if err == nil || !strings.Contains(err.Error(), "is karmada-mirror installed") || strings.Contains(err.Error(), "not a Karmada") {
			t.Errorf("%s: %v", command, err)
		}
	}
}
