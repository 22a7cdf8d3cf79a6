package shared

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
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
	t *testing.T
	rbacv1.Subject
}

func newReader(t *testing.T, ns, name string) *reader {
	t.Helper()
	return &reader{t, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name + "-of-" + ns}}
}

// bind gives the user a ClusterRole, in a namespace if there is one.
func (r *reader) bind(namespace, role string) {
	r.t.Helper()
	name, ref := r.Name+"-"+role, rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role}
	rbac := Env.Client.RbacV1()
	var err error
	if namespace != "" {
		_, err = rbac.RoleBindings(namespace).Create(r.t.Context(), &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, Subjects: []rbacv1.Subject{r.Subject}, RoleRef: ref}, metav1.CreateOptions{})
	} else {
		_, err = rbac.ClusterRoleBindings().Create(r.t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, Subjects: []rbacv1.Subject{r.Subject}, RoleRef: ref}, metav1.CreateOptions{})
		r.t.Cleanup(func() { _ = rbac.ClusterRoleBindings().Delete(context.Background(), name, metav1.DeleteOptions{}) })
	}
	Must(r.t, err)
}

func (r *reader) run(arguments ...string) (string, error) {
	return KarmadaMirror(r.t, append(arguments, "--as", r.Name)...)
}

// wants waits until a command says something: new permissions take a moment.
func (r *reader) wants(command, says string) {
	r.t.Helper()
	Eventually(r.t, command+" to say "+says, func(context.Context) error {
		output, err := r.run(strings.Fields(command)...)
		if !strings.Contains(output, says) {
			return errors.Join(err, errors.New(output))
		}
		return nil
	})
}

// viewerLooks runs the commands as a user bound to karmada-mirror-viewer.
func viewerLooks(t *testing.T, ns string) {
	r := newReader(t, ns, "viewer")
	r.bind(ns, "karmada-mirror-resources") // the objects of one namespace
	r.wants("deletions list", "ask for the ClusterRole karmada-mirror-viewer")
	r.bind("", "karmada-mirror-viewer")
	r.wants("status cm -n "+ns, "2/2")
	r.wants("status -n "+ns, "2/2")
	for _, command := range []string{"explain cm page -n " + ns, "diff cm page -n " + ns, "deletions list"} {
		if output, err := r.run(strings.Fields(command)...); err != nil || strings.Contains(output, "may not read") {
			t.Errorf("%s: %v\n%s", command, err, output)
		}
	}
}

// tenantLooks runs the commands as a user who may read only their namespace; then also what
// all tenants may see; then also the Works of one cluster.
func tenantLooks(t *testing.T, ns string) {
	r, status := newReader(t, ns, "tenant"), "status cm -n "+ns
	r.bind(ns, "view")
	r.wants(status, "You may not read the Clusters; the daemon's configuration; the Works: anything that depends on this is not shown.")
	r.wants("explain cm/page -n "+ns, "you may not read it")
	r.bind("", "karmada-mirror-tenant")
	r.wants(status, "You may not read the Works: ")
	r.bind(render.ExecutionNamespace(Push), "karmada-mirror-viewer")
	r.wants(status, fmt.Sprintf("You may not read the Works for %s", Pull))
	other := NewNamespace(t)
	Create(t, ConfigMaps, ConfigMap(other, "page", Push, "theirs"))
	for _, command := range []string{"status cm -n ", "explain cm/page -n ", "diff cm/page -n "} {
		if output, err := r.run(strings.Fields(command + other)...); err == nil || strings.Contains(output, "theirs") {
			t.Errorf("%s shows another tenant's objects: %v\n%s", command, err, output)
		}
	}
}
