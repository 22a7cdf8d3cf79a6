package shared

import (
	"context"
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karmada-target/karmada-mirror/render"
	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// TestRights checks what the ClusterRoles of the manifests allow. That the daemon's are enough
// is shown by every test.
func TestRights(t *testing.T) {
	t.Parallel()
	t.Run("Daemon", WantRights)
	ns := NewNamespace(t)
	Create(t, ConfigMaps, ConfigMap(ns, "page", Both, "one"))
	WantInMembers(t, ns, "page", "one", Push, Pull)
	t.Run("Viewer", func(t *testing.T) { viewerLooks(t, ns) })
	t.Run("Tenant", func(t *testing.T) { tenantLooks(t, ns) })
}

// reader is a user who runs commands.
type reader struct {
	t    *testing.T
	name string
}

// bind gives the user a ClusterRole, in a namespace if there is one.
func (r reader) bind(role, namespace string) {
	r.t.Helper()
	name := r.name + "-" + role
	if namespace != "" {
		Kubectl(r.t, "create", "rolebinding", name, "--clusterrole="+role, "--user="+r.name, "-n", namespace)
	} else {
		Kubectl(r.t, "create", "clusterrolebinding", name, "--clusterrole="+role, "--user="+r.name)
		r.t.Cleanup(func() {
			_ = Env.Client.RbacV1().ClusterRoleBindings().Delete(context.Background(), name, metav1.DeleteOptions{})
		})
	}
}

// wants waits until a command says something: new permissions take a moment.
func (r reader) wants(command, says string) {
	r.t.Helper()
	Eventually(r.t, command+" to say "+says, func(context.Context) error {
		output, err := KarmadaMirror(r.t, append(strings.Fields(command), "--as", r.name)...)
		if !strings.Contains(output, says) {
			return errors.Join(err, errors.New(output))
		}
		return nil
	})
}

// viewerLooks runs the commands as a user bound to karmada-mirror-viewer, who may read the
// objects of one namespace.
func viewerLooks(t *testing.T, ns string) {
	r := reader{t, "viewer-of-" + ns}
	r.bind("karmada-mirror-resources", ns)
	r.wants("deletions list", "ask for the ClusterRole karmada-mirror-viewer")
	r.bind("karmada-mirror-viewer", "")
	r.wants("status cm -n "+ns, "2/2")
	r.wants("status -n "+ns, "2/2")
	r.wants("explain cm page -n "+ns, Push+": Wanted")
	r.wants("deletions list -n "+ns, "No deletion is held.")
}

// tenantLooks runs the commands as a user who may read only their namespace; then also what
// all tenants may see; then also the Works of one cluster.
func tenantLooks(t *testing.T, ns string) {
	r, status := reader{t, "tenant-of-" + ns}, "status cm -n "+ns
	r.bind("view", ns)
	r.wants(status, "You may not read the Clusters; the daemon's configuration; the Works: anything that depends on this is not shown.")
	r.wants("explain cm/page -n "+ns, "you may not read it")
	r.bind("karmada-mirror-tenant", "")
	r.wants(status, "You may not read the Works: ")
	r.bind("karmada-mirror-viewer", render.ExecutionNamespace(Push))
	r.wants(status, "You may not read the Works for "+Pull)
	other := NewNamespace(t)
	Create(t, ConfigMaps, ConfigMap(other, "page", Push, "theirs"))
	r.wants("diff cm/page -n "+other, "forbidden")
}
