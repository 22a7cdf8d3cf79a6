package shared

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// newToken makes a token of the daemon's account in a Secret with this name.
func newToken(t *testing.T, name string) string {
	t.Helper()
	secrets := Env.Client.CoreV1().Secrets(Home(t))
	_, err := secrets.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{corev1.ServiceAccountNameKey: Account}},
		Type:       corev1.SecretTypeServiceAccountToken,
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := secrets.Delete(context.Background(), name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	})
	var token string
	Eventually(t, "a token", func(ctx context.Context) error {
		secret, err := secrets.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if token = string(secret.Data[corev1.ServiceAccountTokenKey]); token == "" {
			return errors.New("there is none yet")
		}
		return nil
	})
	return token
}

func TestTokenRotated(t *testing.T) {
	ns := Isolate(t)
	const old = "old-token"
	dir := t.TempDir()
	file := filepath.Join(dir, "token")
	write := func(token string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	oldToken := Bearer(newToken(t, old))
	write(string(oldToken))
	config, err := clientcmd.LoadFromFile(Kubeconfig(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, identity := range config.AuthInfos {
		identity.Token, identity.TokenFile = "", file
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		t.Fatal(err)
	}
	StartDaemon(t, "--kubeconfig", kubeconfig)
	ids := CreatePages(t, ns, Both, 10)
	WantSources(t, ns)
	f := NewFault(t, "Token rotated (tokenFile), the old one revoked at once", ns)
	write(newToken(t, "new-token"))
	if err := Env.Client.CoreV1().Secrets(Home(t)).Delete(t.Context(), old, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	Eventually(t, "the old token to be refused", oldToken.Refused)
	Workload(t, f, ns, ids)
	f.Heal()
	f.Converge(Patience)
}
