package shared

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/cert"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

// onOccasion are metrics that need a write that is denied, a sync that fails, or a status that is written.
var onOccasion = []string{"karmada_mirror_denied_sources", "karmada_mirror_oldest_failure_timestamp_seconds", "karmada_mirror_status_updates_total"}

// TestMonitoring scrapes a leader, and a standby whose token expires: they expose what the
// reference describes.
func TestMonitoring(t *testing.T) {
	t.Parallel()
	ns := NewNamespace(t)
	Create(t, ConfigMaps, ConfigMap(ns, "page", Push, "one"))
	Create(t, ConfigMaps, ConfigMap(ns, "nowhere", "no-such-cluster", "one"))
	WantEvent(t, ns, "nowhere", "UnknownCluster", "no-such-cluster")
	WantInMembers(t, ns, "page", "one", Push)
	Eventually(t, "the propagation", func(ctx context.Context) error {
		_, err := Env.Mirror.Metric(ctx, `karmada_mirror_propagation_duration_seconds_count{resource="configmaps"}`)
		return err
	})
	request, err := Env.Client.CoreV1().ServiceAccounts(System).CreateToken(t.Context(), Account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	Must(t, err)
	standby := StartDaemon(t, DaemonOptions{Kubeconfig: KubeconfigAs(t, Env.AccountKubeconfig, request.Status.Token)})
	for _, series := range []string{WatchState("works.work.karmada.io", "ready"), WatchState("configmaps", "ready"), "karmada_mirror_config_last_reload_successful"} {
		Eventually(t, "the standby to have it as well", standby.WantMetric(series, 1))
	}
	const status = `leader_election_master_status{name="karmada-mirror"}`
	Must(t, Env.Mirror.WantMetric(status, 1)(t.Context()), standby.WantMetric(status, 0)(t.Context()))

	families, err := Env.Mirror.Families(t.Context())
	Must(t, err)
	others, err := standby.Families(t.Context())
	Must(t, err)
	maps.Copy(families, others)
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| (gauge|counter|histogram) ").FindAllStringSubmatch(string(RepositoryFile(t, "docs", "reference", "metrics.md")), -1) {
		if name := row[1]; !slices.Contains(onOccasion, name) && (families[name] == nil || strings.ToLower(families[name].GetType().String()) != row[2]) {
			t.Errorf("no daemon exposes the %s %s", row[2], name)
		}
	}
}

// hostCluster is the member that plays the cluster where the Pods run.
const hostCluster = Pull

// secured is manifests/host with the component secure-metrics.
const secured = "testdata/secure-metrics"

// hostMu is held while a test needs a kustomization of its own there.
var hostMu sync.Mutex

// installHost applies a kustomization there.
func installHost(t *testing.T, kustomization string) kubernetes.Interface {
	t.Helper()
	Must(t, karmada.Apply(t.Context(), Env.MemberConfig(hostCluster), []byte("{apiVersion: v1, kind: Namespace, metadata: {name: "+System+"}}")))
	Must(t, karmada.ApplyKustomization(t.Context(), Env.MemberConfig(hostCluster), kustomization))
	return kubernetes.NewForConfigOrDie(Env.MemberConfig(hostCluster))
}

// hostToken returns a token of a ServiceAccount of the host cluster.
func hostToken(t *testing.T, host kubernetes.Interface, name string) string {
	t.Helper()
	Must(t, karmada.Apply(t.Context(), Env.MemberConfig(hostCluster), fmt.Appendf(nil, "{apiVersion: v1, kind: ServiceAccount, metadata: {name: %s, namespace: %s}}", name, System)))
	request, err := host.CoreV1().ServiceAccounts(System).CreateToken(t.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	Must(t, err)
	return request.Status.Token
}

// newCertificate writes a certificate and its key as a Secret's volume does, and returns a
// pool that trusts only that.
func newCertificate(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.ParseIP("127.0.0.1")}, nil)
	Must(t, err)
	Must(t, os.WriteFile(filepath.Join(dir, "tls.crt"), certificate, 0o600), os.WriteFile(filepath.Join(dir, "tls.key"), key, 0o600))
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(certificate)
	return pool
}

// scrape reads the metrics as Prometheus does.
func scrape(ctx context.Context, d *Daemon, trust *x509.CertPool, token string) (code int, body string, err error) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: trust, MinVersion: tls.VersionTLS12}}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+d.Address("metrics")+"/metrics", nil)
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

// TestSecureMetrics has a real API server, not Karmada's, authenticate and authorize scrapers.
func TestSecureMetrics(t *testing.T) {
	t.Parallel()
	hostMu.Lock()
	host, dir := installHost(t, secured), t.TempDir()
	hostMu.Unlock()
	trust := newCertificate(t, dir)
	kubeconfig := KubeconfigAs(t, Env.MemberKubeconfig(hostCluster), hostToken(t, host, Account)) // as a Pod of the daemon has
	d := StartDaemon(t, DaemonOptions{Flags: []string{                                            // a standby of the shared daemon
		"--metrics-secure", "--tls-cert-file", filepath.Join(dir, "tls.crt"), "--tls-private-key-file", filepath.Join(dir, "tls.key"),
		"--authentication-kubeconfig", kubeconfig, "--authorization-kubeconfig", kubeconfig,
	}})
	want := func(what string, token string, code int) {
		t.Helper()
		Eventually(t, what, func(ctx context.Context) error {
			got, body, err := scrape(ctx, d, trust, token)
			if err == nil && (got != code || strings.Contains(body, "karmada_mirror_build_info") != (code == http.StatusOK)) {
				err = fmt.Errorf("the response is %d: %.200s", got, body)
			}
			return err
		})
	}
	scraper, stranger := hostToken(t, host, "prometheus"), hostToken(t, host, "stranger")
	Must(t, karmada.Apply(t.Context(), Env.MemberConfig(hostCluster), fmt.Appendf(nil, `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: prometheus-reads-metrics}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: karmada-mirror-metrics-reader}
subjects: [{kind: ServiceAccount, name: prometheus, namespace: %s}]
`, System)))
	want("an anonymous request to be refused", "", http.StatusUnauthorized)
	want("a made-up token to be refused", "made-up", http.StatusUnauthorized)
	want("a stranger to be refused", stranger, http.StatusForbidden)
	want("Prometheus to read", scraper, http.StatusOK)
	karmadas, err := clientcmd.LoadFromFile(Env.AccountKubeconfig)
	Must(t, err)
	for _, identity := range karmadas.AuthInfos {
		want("a token of the Karmada API server to be refused", identity.Token, http.StatusUnauthorized)
	}
	Eventually(t, "the daemon to be ready", func(ctx context.Context) error { return d.Probe(ctx, "/readyz") }) // without a token, as the kubelet's
	response, err := http.Get("http://" + d.Address("metrics") + "/metrics")
	Must(t, err)
	response.Body.Close()
	if response.StatusCode != http.StatusBadRequest {
		t.Errorf("without TLS the response is %d", response.StatusCode)
	}
	trust = newCertificate(t, dir)
	want("the new certificate to be served", scraper, http.StatusOK)

	Must(t, host.RbacV1().ClusterRoleBindings().Delete(t.Context(), "prometheus-reads-metrics", metav1.DeleteOptions{}))
	want("Prometheus to be refused without its permission", scraper, http.StatusForbidden)
	Must(t, host.CoreV1().ServiceAccounts(System).Delete(t.Context(), "prometheus", metav1.DeleteOptions{}))
	want("a revoked token to be refused", scraper, http.StatusUnauthorized)
	Must(t, host.RbacV1().ClusterRoleBindings().Delete(t.Context(), "karmada-mirror-auth-delegator", metav1.DeleteOptions{}))
	want("all to be refused when the daemon may not ask the host cluster", stranger, http.StatusInternalServerError)
	if log := d.Log(); strings.Contains(log, scraper) || strings.Contains(log, stranger) {
		t.Error("a token is in the log")
	}
}
