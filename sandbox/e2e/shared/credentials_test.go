package shared

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// newToken makes a token of the daemon's account in a Secret with this name.
func newToken(t *testing.T, name string) (token string) {
	t.Helper()
	secrets := Env.Client.CoreV1().Secrets(System)
	_, err := secrets.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{corev1.ServiceAccountNameKey: Account}},
		Type:       corev1.SecretTypeServiceAccountToken,
	}, metav1.CreateOptions{})
	Must(t, err)
	t.Cleanup(func() { _ = secrets.Delete(context.Background(), name, metav1.DeleteOptions{}) })
	Eventually(t, "a token", func(ctx context.Context) error {
		secret, err := secrets.Get(ctx, name, metav1.GetOptions{})
		if err == nil && len(secret.Data[corev1.ServiceAccountTokenKey]) == 0 {
			err = errors.New("there is none yet")
		}
		if err == nil {
			token = string(secret.Data[corev1.ServiceAccountTokenKey])
		}
		return err
	})
	return token
}

// TestCredentialsRotated replaces the token of two replicas, and then the certificate and the
// CA of the API server, in files as a Secret's volume does. The token is read again; for a new
// CA, the replicas end to be started again, the standby too.
func TestCredentialsRotated(t *testing.T) {
	t.Parallel()
	p, dir := StartProxy(t), t.TempDir()
	token, authority, kubeconfig := filepath.Join(dir, "token"), filepath.Join(dir, "ca.crt"), filepath.Join(dir, "kubeconfig")
	config, err := clientcmd.LoadFromFile(p.Kubeconfig)
	Must(t, err)
	for _, identity := range config.AuthInfos {
		identity.Token, identity.TokenFile = "", token
	}
	for _, cluster := range config.Clusters {
		WriteFile(t, authority, cluster.CertificateAuthorityData)
		cluster.CertificateAuthorityData, cluster.CertificateAuthority = nil, authority
	}
	Must(t, clientcmd.WriteToFile(*config, kubeconfig))
	old := newToken(t, "old-token")
	WriteFile(t, token, []byte(old))
	own := newInstallation(t)
	start := func() (both []*Daemon) {
		for range 2 {
			both = append(both, StartDaemon(t, DaemonOptions{Kubeconfig: kubeconfig, Flags: own.flags}))
		}
		return both
	}
	replicas := start()
	own.mirrors(t, "before")

	WriteFile(t, token, []byte(newToken(t, "new-token")))
	Must(t, Env.Client.CoreV1().Secrets(System).Delete(t.Context(), "old-token", metav1.DeleteOptions{}))
	WantRefused(t, old)
	own.mirrors(t, "with the new token")

	renewed, err := p.Reissue()
	Must(t, err)
	p.Cut()
	WriteFile(t, authority, renewed)
	for _, d := range replicas {
		d.AwaitReplacement(t)
	}
	start()
	own.mirrors(t, "with the new CA")
}
