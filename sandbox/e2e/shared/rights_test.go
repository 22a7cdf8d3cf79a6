package shared

import (
	"context"
	"errors"
	"strings"
	"testing"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// TestRights checks what the ClusterRoles of the manifests allow. That the daemon's are enough
// is shown by every test; docs/how-to/let-tenants-mirror.md runs commands as a tenant.
func TestRights(t *testing.T) {
	t.Parallel()
	t.Run("Daemon", WantRights)
	t.Run("Viewer", func(t *testing.T) { viewerLooks(t, NewNamespace(t)) })
}

// viewerLooks runs the commands as a user bound to karmada-mirror-viewer, who may read the
// objects of one namespace.
func viewerLooks(t *testing.T, ns string) {
	Create(t, ConfigMaps, ConfigMap(ns, "page", Both, "one"))
	user := "viewer-of-" + ns
	wants := func(command, says string) { // new permissions take a moment
		t.Helper()
		Eventually(t, command+" to say "+says, func(context.Context) error {
			output, err := KarmadaMirror(t, append(strings.Fields(command), "--as", user)...)
			if !strings.Contains(output, says) {
				return errors.Join(err, errors.New(output))
			}
			return nil
		})
	}
	Kubectl(t, "create", "rolebinding", user, "--clusterrole=karmada-mirror-resources", "--user="+user, "-n", ns)
	wants("deletions list", "ask for the ClusterRole karmada-mirror-viewer")
	Kubectl(t, "create", "clusterrolebinding", user, "--clusterrole=karmada-mirror-viewer", "--user="+user)
	for command, says := range map[string]string{"status cm": "2/2", "status": "2/2", "explain cm page": Push + ": Wanted", "deletions list": "No deletion is held."} {
		wants(command+" -n "+ns, says)
	}
}
