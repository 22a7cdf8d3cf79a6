package cli

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

const (
	reviewsPath = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
	tokenPath   = "/api/v1/namespaces/karmada-system/secrets/karmada-mirror"
)

// withToken returns a server that has the daemon's token.
func withToken() map[string]any {
	return map[string]any{
		workAPIPath: workAPI(),
		reviewsPath: authenticationv1.SelfSubjectReview{TypeMeta: metav1.TypeMeta{Kind: "SelfSubjectReview", APIVersion: "authentication.k8s.io/v1"}},
		tokenPath: corev1.Secret{
			TypeMeta: metav1.TypeMeta{Kind: "Secret", APIVersion: "v1"}, Type: corev1.SecretTypeServiceAccountToken,
			Data: map[string][]byte{corev1.ServiceAccountTokenKey: []byte("of-the-secret")},
		},
	}
}

// TestKubeconfig creates one in each form.
func TestKubeconfig(t *testing.T) {
	from := serve(t, withToken(), nil)
	output, err := execute("kubeconfig", "--kubeconfig", from, "--daemon-server", "https://karmada:5443")
	if err != nil {
		t.Fatal(err)
	}
	made, err := clientcmd.Load([]byte(output))
	if err != nil {
		t.Fatal(err)
	}
	if cluster := made.Clusters["karmada"]; len(cluster.CertificateAuthorityData) == 0 || made.AuthInfos["karmada-mirror"].Token != "of-the-secret" || cluster.Server != "https://karmada:5443" || made.CurrentContext != "karmada" {
		t.Errorf("printed:\n%s", output)
	}

	output, err = execute("kubeconfig", "--kubeconfig", from, "-o", "secret", "--name", "another")
	if err != nil {
		t.Fatal(err)
	}
	var secret corev1.Secret
	namespace, document, _ := strings.Cut(output, "---\n")
	if err := yaml.Unmarshal([]byte(document), &secret); err != nil || !strings.Contains(namespace, "kind: Namespace") {
		t.Fatalf("%v:\n%s", err, output)
	}
	if secret.Name != "another" || secret.Namespace != "karmada-system" || string(secret.Data["token"]) != "of-the-secret" || strings.Contains(string(secret.Data["kubeconfig"]), "of-the-secret") {
		t.Errorf("the Secret:\n%s", output)
	}

	dir, token := filepath.Join(t.TempDir(), "mirror"), filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("of-the-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	arguments := []string{"kubeconfig", "--kubeconfig", from, "--directory", dir, "--token-file", token}
	if output, err := execute(arguments...); err != nil || strings.Contains(output, "of-the-file") {
		t.Fatalf("%v: %s", err, output)
	}
	written, err := os.ReadFile(filepath.Join(dir, "token"))
	if info, statErr := os.Stat(filepath.Join(dir, "token")); err != nil || statErr != nil || string(written) != "of-the-file" || info.Mode().Perm() != 0o600 {
		t.Errorf("the token is %q: %v, %v", written, err, statErr)
	}
	connection, err := clientcmd.BuildConfigFromFlags("", filepath.Join(dir, "kubeconfig"))
	if err != nil || connection.BearerTokenFile != filepath.Join(dir, "token") {
		t.Errorf("the kubeconfig gives %+v: %v", connection, err)
	}
	if _, err := execute(arguments...); err == nil {
		t.Error("existing files are overwritten")
	}
}

// TestKubeconfigServerName proves that the created kubeconfig keeps the CA and the TLS server name.
func TestKubeconfigServerName(t *testing.T) {
	from := serve(t, withToken(), nil)
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.NewReplacer("https://127.0.0.1", "https://localhost", "certificate-authority-data", "tls-server-name: example.com, certificate-authority-data").Replace(string(text))
	if err := os.WriteFile(from, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	output, err := execute("kubeconfig", "--kubeconfig", from)
	if err != nil {
		t.Fatal(err)
	}
	made := filepath.Join(t.TempDir(), "made")
	if err := os.WriteFile(made, []byte(output), 0o600); err != nil {
		t.Fatal(err)
	}
	if output, err := execute("kubeconfig", "--kubeconfig", made); err != nil {
		t.Errorf("the created kubeconfig does not reach the API server: %v, %s", err, output)
	}
}

func TestKubeconfigRefuses(t *testing.T) {
	without := func(missing ...string) string {
		paths := withToken()
		for _, path := range missing {
			delete(paths, path)
		}
		return serve(t, paths, nil)
	}
	paths := withToken()
	paths[tokenPath] = corev1.Secret{TypeMeta: metav1.TypeMeta{Kind: "Secret", APIVersion: "v1"}, Type: corev1.SecretTypeOpaque}
	opaque := serve(t, paths, nil)
	unknown := serve(t, nil, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	empty := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(empty, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	good := serve(t, withToken(), nil)
	cases := map[string]struct {
		reason    string
		arguments []string
		want      string
	}{
		"Host":      {"it is the host cluster's, and applying the manifests there would be wrong", []string{"--kubeconfig", without(tokenPath, workAPIPath)}, "it is not a Karmada API server"},
		"NoSecret":  {"nothing is installed", []string{"--kubeconfig", without(tokenPath)}, "kubectl apply --server-side -k manifests/karmada"},
		"Opaque":    {"it is a Secret of another type", []string{"--kubeconfig", opaque}, "not a ServiceAccount token"},
		"Refused":   {"the API server does not know the token", []string{"--kubeconfig", without(reviewsPath)}, "rejects the token"},
		"Unknown":   {"the API server does not know the user", []string{"--kubeconfig", unknown}, "token or certificate in the kubeconfig is not valid"},
		"Empty":     {"a file without a token", []string{"--kubeconfig", good, "--token-file", empty}, "there is no token"},
		"Insecure":  {"nothing verifies the API server", []string{"--kubeconfig", good, "--insecure-skip-tls-verify"}, "insecure-skip-tls-verify"},
		"Output":    {"an unknown form", []string{"--kubeconfig", good, "-o", "json"}, "want kubeconfig or secret"},
		"BothForms": {"two forms", []string{"--kubeconfig", good, "-o", "secret", "--directory", t.TempDir()}, "either"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			output, err := execute(append([]string{"kubeconfig"}, c.arguments...)...)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(output, "of-the-secret") {
				t.Errorf("%s: error %v does not say %q; printed: %s", c.reason, err, c.want, output)
			}
		})
	}
}
