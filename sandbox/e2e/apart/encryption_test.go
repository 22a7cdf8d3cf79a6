package apart

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilrand "k8s.io/apimachinery/pkg/util/rand"

	"github.com/karmada-target/karmada-mirror/render"
	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// TestSecretsEncryptedAtRest looks for a Secret, and for the Work that holds it, in the files
// of etcd.
func TestSecretsEncryptedAtRest(t *testing.T) {
	install(t, "- {resource: secrets}\n- {resource: configmaps}\n")
	roles := Env.Client.RbacV1().ClusterRoles()
	_, err := roles.Create(t.Context(), &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "mirror-secrets", Labels: map[string]string{"rbac.karmada.target/aggregate-to-karmada-mirror": "true"}},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "list", "watch"}}},
	}, metav1.CreateOptions{})
	Must(t, err)
	t.Cleanup(func() { _ = roles.Delete(context.Background(), "mirror-secrets", metav1.DeleteOptions{}) })
	// A daemon that starts before it may list them tries again up to a minute later.
	WantAnswers(t, Env.Client, Account, map[string]bool{"list secrets - -": true})
	StartDaemon(t, DaemonOptions{})
	ns := NewNamespace(t)
	hidden, shown := "hidden"+utilrand.String(24), "shown"+utilrand.String(24)
	Create(t, Secrets, Asking(Object("v1", "Secret", ns, "hidden", map[string]any{"stringData": map[string]any{"text": hidden}}), Push))
	Create(t, ConfigMaps, ConfigMap(ns, "shown", Push, shown))
	WantInMembers(t, ns, "shown", shown, Push)
	inBase64 := base64.StdEncoding.EncodeToString([]byte(hidden))
	Eventually(t, "the Secret in the member", InMember(Push, Secrets, ns, "hidden", inBase64, "data", "text"))
	work := MustWork(t, WorkOf(render.Identity{Kind: "Secret", Namespace: ns, Name: "hidden"}, Push))
	if text, err := work.MarshalJSON(); err != nil || !bytes.Contains(text, []byte(inBase64)) {
		t.Fatalf("the Work does not hold the Secret: %v", err)
	}
	// As a control, it finds a ConfigMap, which is not encrypted.
	Eventually(t, "the ConfigMap in the files of etcd", func(context.Context) error {
		if found := filesWith(t, shown); len(found) == 0 {
			return fmt.Errorf("it is not there")
		}
		return nil
	})
	if found := append(filesWith(t, hidden), filesWith(t, inBase64)...); len(found) > 0 {
		t.Errorf("the Secret is in plain text in %v", found)
	}
}

// filesWith lists the files of etcd that contain a text.
func filesWith(t *testing.T, text string) (found []string) {
	t.Helper()
	Must(t, filepath.WalkDir(filepath.Join(Env.Dir, "etcd"), func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(text)) {
			found = append(found, path)
		}
		return err
	}))
	return found
}
