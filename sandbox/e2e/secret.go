package e2e

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utilrand "k8s.io/apimachinery/pkg/util/rand"

	"github.com/karmada-target/karmada-mirror/render"
)

// Canary is a value that must appear nowhere but in its object.
type Canary string

// NewCanary makes a random one.
func NewCanary() Canary { return Canary("canary" + utilrand.String(24)) }

// Forms are the ways in which it may appear: as is, and in base64. Prefixes are enough,
// because a message may be truncated.
func (c Canary) Forms() []string {
	return []string{string(c[:18]), base64.StdEncoding.EncodeToString([]byte(c))[:24]}
}

// IsIn reports whether the text contains it.
func (c Canary) IsIn(text string) bool {
	for _, form := range c.Forms() {
		if strings.Contains(text, form) {
			return true
		}
	}
	return false
}

// SecretOf makes a Secret that asks for clusters and has a canary wherever it can.
func SecretOf(namespace, name, clusters string, c Canary) *unstructured.Unstructured {
	encoded := base64.StdEncoding.EncodeToString([]byte(c))
	u := Object("v1", "Secret", namespace, name, map[string]any{
		"data": map[string]any{"key": encoded}, "stringData": map[string]any{"text": string(c)},
	})
	u.SetAnnotations(map[string]string{
		render.ClustersAnnotation:          clusters,
		"example.com/note":                 string(c),
		corev1.LastAppliedConfigAnnotation: fmt.Sprintf(`{"data":{"key":%q}}`, encoded),
	})
	return u
}

// WorkOfSecret is the namespace and name of a Secret's Work on a cluster.
func WorkOfSecret(namespace, name, cluster string) types.NamespacedName {
	id := render.Identity{Kind: "Secret", Namespace: namespace, Name: name}
	return types.NamespacedName{Namespace: render.ExecutionNamespace(cluster), Name: id.WorkName()}
}

// LetReadSecrets gives a test's daemons, and not those of other tests, the permission that
// docs/how-to/secrets.md gives.
func LetReadSecrets(t *testing.T) {
	t.Helper()
	s := scopeOf(t)
	role, err := Env.Client.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "test-secrets-"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "list", "watch"}}},
	}, metav1.CreateOptions{})
	Must(t, err)
	client := Env.Client
	t.Cleanup(func() {
		_ = client.RbacV1().ClusterRoles().Delete(context.Background(), role.Name, metav1.DeleteOptions{})
	})
	BindClusterRole(t, role.Name, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: s.home, Name: Account})
}
