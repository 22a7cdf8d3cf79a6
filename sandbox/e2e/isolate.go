package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"

	"github.com/karmada-target/karmada-mirror/config"
)

// scope is what the daemons of one test have to themselves.
type scope struct {
	// home is the namespace of their ServiceAccount, ConfigMap and Lease, which have the
	// same names as in the manifests.
	home       string
	kubeconfig string
	// namespaces are the ones that they watch, as patterns of the configuration; nil means
	// all.
	namespaces []string
}

// scopeOf returns the scope of a test, or of the test that it is a part of. Without
// [Isolate] this is the installation.
func scopeOf(t *testing.T) *scope {
	Env.mu.Lock()
	defer Env.mu.Unlock()
	for name := t.Name(); ; {
		if s := Env.scopes[name]; s != nil {
			return s
		}
		last := strings.LastIndexByte(name, '/')
		if last < 0 {
			return &scope{home: System, kubeconfig: Env.AccountKubeconfig}
		}
		name = name[:last]
	}
}

func (s *scope) isInstallation() bool { return s.home == System }

// user is the user name of its daemons.
func (s *scope) user() string { return serviceaccount.MakeUsername(s.home, Account) }

// configMapFlags and leaseFlags are flags of run.
func (s *scope) configMapFlags() []string {
	if s.isInstallation() {
		return nil
	}
	return []string{"--config-map", s.home + "/" + Account}
}

func (s *scope) leaseFlags() []string {
	if s.isInstallation() {
		return nil
	}
	return []string{"--leader-elect-resource-namespace", s.home}
}

// Home is the namespace of the ConfigMap of a test's daemons.
func Home(t *testing.T) string { return scopeOf(t).home }

// User is the user name of a test's daemons.
func User(t *testing.T) string { return scopeOf(t).user() }

// Kubeconfig is the path of the kubeconfig of a test's daemons.
func Kubeconfig(t *testing.T) string { return scopeOf(t).kubeconfig }

// Isolate lets a test run in parallel with others. Its daemons watch only namespaces of
// its own. They have a ServiceAccount of their own, with the permissions from the
// manifests, by which the audit log tells them apart, and a ConfigMap and a Lease of their
// own. Isolate returns the first of the namespaces; the ConfigMap configures ConfigMaps.
// Pass more namespaces by name if a test needs fixed names.
func Isolate(t *testing.T, more ...string) (namespace string) {
	t.Helper()
	t.Parallel()
	s := &scope{home: newName(t.Name())}
	s.namespaces = append([]string{s.home, s.home + "-*"}, more...)
	Env.mu.Lock()
	Env.scopes[t.Name()] = s
	Env.mu.Unlock()
	for _, name := range append([]string{s.home}, more...) {
		makeNamespace(t, name)
	}
	t.Cleanup(func() { sweep(t, s) })
	ctx := t.Context()
	copyRights(t, s)
	_, accountErr := Env.Client.CoreV1().ServiceAccounts(s.home).Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: Account}}, metav1.CreateOptions{})
	_, tokenErr := Env.Client.CoreV1().Secrets(s.home).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: Account, Annotations: map[string]string{corev1.ServiceAccountNameKey: Account}},
		Type:       corev1.SecretTypeServiceAccountToken,
	}, metav1.CreateOptions{})
	_, configErr := Env.Client.CoreV1().ConfigMaps(s.home).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: Account}, Data: map[string]string{config.Key: Resources(t, "configmaps")},
	}, metav1.CreateOptions{})
	var err error
	s.kubeconfig, err = Env.ServiceAccountKubeconfig(ctx, s.home, Account)
	Must(t, accountErr, tokenErr, configErr, err)
	return s.home
}

// copyRights gives the ServiceAccount of a scope the permissions that the manifests give
// theirs.
func copyRights(t *testing.T, s *scope) {
	t.Helper()
	ctx, rbac := t.Context(), Env.Client.RbacV1()
	subject := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: s.home, Name: Account}}
	isOurs := func(subjects []rbacv1.Subject) bool {
		return slices.ContainsFunc(subjects, func(r rbacv1.Subject) bool {
			return r.Kind == rbacv1.ServiceAccountKind && r.Namespace == System && r.Name == Account
		})
	}
	role, err := rbac.Roles(System).Get(ctx, Account, metav1.GetOptions{})
	Must(t, err)
	_, err = rbac.Roles(s.home).Create(ctx, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: Account}, Rules: role.Rules}, metav1.CreateOptions{})
	Must(t, err)
	_, err = rbac.RoleBindings(s.home).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: Account}, Subjects: subject,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: Account},
	}, metav1.CreateOptions{})
	Must(t, err)
	bindings, err := rbac.ClusterRoleBindings().List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=" + Account})
	Must(t, err)
	for _, b := range bindings.Items {
		if isOurs(b.Subjects) {
			BindClusterRole(t, b.RoleRef.Name, subject[0])
		}
	}
}

// BindClusterRole binds a subject to a ClusterRole until the test ends.
func BindClusterRole(t *testing.T, role string, subject rbacv1.Subject) {
	t.Helper()
	bindings := Env.Client.RbacV1().ClusterRoleBindings()
	binding, err := bindings.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}, Subjects: []rbacv1.Subject{subject},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
	}, metav1.CreateOptions{})
	Must(t, err)
	t.Cleanup(func() { _ = bindings.Delete(context.Background(), binding.Name, metav1.DeleteOptions{}) })
}

// UnbindClusterRole takes a ClusterRole from a subject.
func UnbindClusterRole(t *testing.T, role string, subject rbacv1.Subject) {
	t.Helper()
	bindings := Env.Client.RbacV1().ClusterRoleBindings()
	all, err := bindings.List(t.Context(), metav1.ListOptions{})
	Must(t, err)
	for _, b := range all.Items {
		if b.RoleRef.Name == role && slices.Contains(b.Subjects, subject) {
			Must(t, bindings.Delete(t.Context(), b.Name, metav1.DeleteOptions{}))
		}
	}
}

// maxName leaves room for what tests append to the names of their namespaces, which are
// part of the names of Works too.
const maxName = 40

// newName returns a name for something that belongs to a test.
func newName(test string) string {
	name := strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(test))
	return strings.Trim(name[:min(len(name), maxName)], "-") + "-" + utilrand.String(4)
}

// NewNamespace makes another namespace for a test; Karmada creates it in the members.
func NewNamespace(t *testing.T) string {
	t.Helper()
	name := newName(t.Name())
	if s := scopeOf(t); !s.isInstallation() {
		name = s.home + "-" + utilrand.String(4)
	}
	makeNamespace(t, name)
	return name
}

func makeNamespace(t *testing.T, name string) {
	t.Helper()
	Create(t, Namespaces, Object("v1", "Namespace", "", name, nil))
	t.Cleanup(func() {
		letGo(name)
		_ = Env.Admin.Resource(Namespaces).Delete(context.Background(), name, metav1.DeleteOptions{})
	})
}

// letGo removes the finalizers of objects in a namespace that is to be deleted: no daemon may run any
// more.
func letGo(namespace string) {
	ctx := context.Background()
	for _, resource := range []schema.GroupVersionResource{ConfigMaps, Deployments} {
		client := Env.Admin.Resource(resource).Namespace(namespace)
		list, err := client.List(ctx, metav1.ListOptions{})
		if err != nil {
			continue // leftovers disturb no one
		}
		for _, u := range list.Items {
			if slices.Contains(u.GetFinalizers(), finalizer) {
				_, _ = client.Patch(ctx, u.GetName(), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
			}
		}
	}
}
