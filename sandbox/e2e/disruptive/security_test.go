package disruptive

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"

	"github.com/karmada-target/karmada-mirror/sandbox/karmada"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// hostCluster is the member that plays the cluster where the Pods run.
const hostCluster = Push2

// secured is manifests/host with the component secure-metrics.
var secured = filepath.Join("testdata", "secure-metrics")

// installHost applies a kustomization.
func installHost(t *testing.T, kustomization string) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(Env.MemberConfig(hostCluster))
	if err != nil {
		t.Fatal(err)
	}
	if err := karmada.Apply(t.Context(), Env.MemberConfig(hostCluster), []byte("{apiVersion: v1, kind: Namespace, metadata: {name: "+System+"}}")); err != nil {
		t.Fatal(err)
	}
	if err := karmada.ApplyKustomization(t.Context(), Env.MemberConfig(hostCluster), kustomization); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = client.AppsV1().Deployments(System).Delete(context.Background(), Account, metav1.DeleteOptions{})
	})
	return client
}

// hostToken returns a token of a ServiceAccount of the host cluster, which it creates if
// necessary.
func hostToken(t *testing.T, host kubernetes.Interface, name string) string {
	t.Helper()
	text := fmt.Sprintf("{apiVersion: v1, kind: ServiceAccount, metadata: {name: %s, namespace: %s}}", name, System)
	if err := karmada.Apply(t.Context(), Env.MemberConfig(hostCluster), []byte(text)); err != nil {
		t.Fatal(err)
	}
	request, err := host.CoreV1().ServiceAccounts(System).CreateToken(t.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

// letRead binds a ServiceAccount of the host cluster to the ClusterRole for scrapers.
func letRead(t *testing.T, name string) {
	t.Helper()
	text := fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %[1]s-reads-metrics}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: karmada-mirror-metrics-reader}
subjects: [{kind: ServiceAccount, name: %[1]s, namespace: %[2]s}]
`, name, System)
	if err := karmada.Apply(t.Context(), Env.MemberConfig(hostCluster), []byte(text)); err != nil {
		t.Fatal(err)
	}
}

// hostKubeconfig is what a Pod of the daemon has for the host cluster.
func hostKubeconfig(t *testing.T, host kubernetes.Interface) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(Env.MemberKubeconfig(hostCluster))
	if err != nil {
		t.Fatal(err)
	}
	for name := range config.AuthInfos {
		config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: hostToken(t, host, Account)}
	}
	path := filepath.Join(t.TempDir(), "host.kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// servingFiles are a certificate and its key, in a folder like a mounted Secret.
type servingFiles struct{ cert, key string }

func newServingFiles(t *testing.T) *servingFiles {
	dir := t.TempDir()
	return &servingFiles{filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")}
}

// replace writes a new certificate and returns a pool that trusts only that.
func (f *servingFiles) replace(t *testing.T) *x509.CertPool {
	t.Helper()
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.ParseIP("127.0.0.1")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(f.cert, certificate, 0o600), os.WriteFile(f.key, key, 0o600)); err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(certificate)
	return pool
}

// TestSecureMetrics has a real API server, not Karmada's, authenticate and authorize
// scrapers.
func TestSecureMetrics(t *testing.T) {
	host := installHost(t, secured)
	files := newServingFiles(t)
	trust := files.replace(t)
	kubeconfig := hostKubeconfig(t, host)
	// The program of a release: the race detector makes TLS handshakes slow, and the flood
	// makes many.
	program, err := Env.Builder.Daemon(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d := StartDaemon(t, OtherProgram(program), "--metrics-secure", "--tls-cert-file", files.cert, "--tls-private-key-file", files.key,
		"--authentication-kubeconfig", kubeconfig, "--authorization-kubeconfig", kubeconfig)
	want := func(what string, token string, code int) {
		t.Helper()
		Eventually(t, what, func(ctx context.Context) error {
			got, body, err := d.Scrape(ctx, trust, token)
			if err == nil && (got != code || strings.Contains(body, "karmada_mirror_build_info") != (code == http.StatusOK)) {
				err = fmt.Errorf("the response is %d: %.200s", got, body)
			}
			return err
		})
	}
	scraper, stranger := hostToken(t, host, "prometheus"), hostToken(t, host, "stranger")
	letRead(t, "prometheus")
	want("an anonymous request to be refused", "", http.StatusUnauthorized)
	want("a made-up token to be refused", "made-up", http.StatusUnauthorized)
	want("a stranger to be refused", stranger, http.StatusForbidden)
	want("Prometheus to read", scraper, http.StatusOK)
	karmadas, err := clientcmd.LoadFromFile(Kubeconfig(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, identity := range karmadas.AuthInfos {
		want("a token of the Karmada API server to be refused", identity.Token, http.StatusUnauthorized)
	}
	if err := d.Probe(t.Context(), "/readyz"); err != nil {
		t.Errorf("a probe without a token, as the kubelet's: %v", err)
	}
	response, err := http.Get("http://" + d.Address("metrics") + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusBadRequest {
		t.Errorf("without TLS the response is %d", response.StatusCode)
	}

	trust = files.replace(t)
	want("the new certificate to be served", scraper, http.StatusOK)

	flood(t, d, trust, scraper)

	if err := host.RbacV1().ClusterRoleBindings().Delete(t.Context(), "prometheus-reads-metrics", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	want("Prometheus to be refused without its permission", scraper, http.StatusForbidden)
	if err := host.CoreV1().ServiceAccounts(System).Delete(t.Context(), "prometheus", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	want("a revoked token to be refused", scraper, http.StatusUnauthorized)
	if err := host.RbacV1().ClusterRoleBindings().Delete(t.Context(), "karmada-mirror-auth-delegator", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	want("all to be refused when the daemon may not ask the host cluster", stranger, http.StatusInternalServerError)
	for _, token := range []string{scraper, stranger} {
		if strings.Contains(d.Log(), token) {
			t.Error("a token is in the log")
		}
	}
}

// flood has a Pod send made-up tokens with many threads for some seconds, longer than a
// verdict is remembered. Prometheus, which is another Pod, scrapes every second and must get
// every scrape within its own time limit.
func flood(t *testing.T, d *Daemon, trust *x509.CertPool, scraper string) {
	t.Helper()
	const threads, scrapes, timeout = 80, 15, 10 * time.Second
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var attackers, scraping sync.WaitGroup
	var turnedAway atomic.Int64
	for thread := range threads {
		attackers.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				code, _, err := d.ScrapeFrom(ctx, "127.0.0.2", trust, fmt.Sprintf("made-up-%d-%d", thread, i))
				if err == nil && code == http.StatusTooManyRequests {
					turnedAway.Add(1)
				}
				Pass(t, 50*time.Millisecond)
			}
		})
	}
	for i := range scrapes {
		scraping.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			if code, _, err := d.Scrape(ctx, trust, scraper); err != nil || code != http.StatusOK {
				t.Errorf("scrape %d of %d during the flood: %d, %v", i, scrapes, code, err)
			}
		})
		Pass(t, time.Second)
	}
	scraping.Wait()
	stop()
	attackers.Wait()
	if turnedAway.Load() < threads {
		t.Errorf("%d requests were turned away", turnedAway.Load())
	}
}

// TestPodSecurity has a real API server admit the Pods of the manifests under the Pod
// Security level restricted. It then checks what this level does not require.
func TestPodSecurity(t *testing.T) {
	cases := map[string]struct {
		reason        string
		kustomization string
		tokens        int
	}{
		"Plain":         {"the daemon has nothing to ask the host cluster", filepath.Join(Env.Builder.Repository(), "manifests", "host"), 0},
		"SecureMetrics": {"it asks the host cluster who scrapes", secured, 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			admit := admission(t, installHost(t, c.kustomization))
			pod := podOf(t)
			admitted, err := admit(pod)
			if err != nil {
				t.Fatalf("the Pod is not admitted: %v", err)
			}
			loose := pod.DeepCopy()
			loose.Spec.SecurityContext.RunAsNonRoot = new(false)
			if _, err := admit(loose); err == nil || !strings.Contains(err.Error(), "PodSecurity") {
				t.Errorf("a Pod that may run as root is admitted: %v", err)
			}
			if got := tokensIn(admitted); got != c.tokens {
				t.Errorf("%s: the Pod has %d tokens of the host cluster, not %d", c.reason, got, c.tokens)
			}
			// As a control, the API server adds a token unless something prevents it.
			open := pod.DeepCopy()
			open.Spec.AutomountServiceAccountToken = nil
			if got, err := admit(open); err != nil || tokensIn(got) != 1 {
				t.Errorf("a Pod that does not opt out gets no token: %v", err)
			}
			wantClosedFiles(t, admitted)
		})
	}
}

// admission makes a namespace with the Pod Security level restricted, and returns a
// function that has the API server admit a Pod there. The ServiceAccount there does not
// opt out of tokens.
func admission(t *testing.T, host kubernetes.Interface) func(*corev1.Pod) (*corev1.Pod, error) {
	t.Helper()
	text := `
apiVersion: v1
kind: Namespace
metadata: {name: restricted, labels: {pod-security.kubernetes.io/enforce: restricted, pod-security.kubernetes.io/enforce-version: latest}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: karmada-mirror, namespace: restricted}
`
	Must(t, karmada.Apply(t.Context(), Env.MemberConfig(hostCluster), []byte(text)))
	return func(pod *corev1.Pod) (*corev1.Pod, error) {
		return host.CoreV1().Pods("restricted").Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	}
}

// podOf returns a Pod of the applied Deployment.
func podOf(t *testing.T) *corev1.Pod {
	t.Helper()
	u, err := Env.Member(hostCluster).Resource(Deployments).Namespace(System).Get(t.Context(), Account, metav1.GetOptions{})
	Must(t, err)
	var deployment appsv1.Deployment
	Must(t, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &deployment))
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod"}, Spec: deployment.Spec.Template.Spec}
}

// tokensIn counts the ServiceAccount tokens that a Pod gets.
func tokensIn(pod *corev1.Pod) (tokens int) {
	for _, volume := range pod.Spec.Volumes {
		if volume.Projected == nil {
			continue
		}
		for _, source := range volume.Projected.Sources {
			if source.ServiceAccountToken != nil {
				tokens++
			}
		}
	}
	return tokens
}

// wantClosedFiles checks that nothing is writable, and that only the daemon's group can
// read Secrets.
func wantClosedFiles(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	for _, container := range pod.Spec.Containers {
		if readOnly := container.SecurityContext.ReadOnlyRootFilesystem; readOnly == nil || !*readOnly {
			t.Error("the root file system is writable")
		}
		for _, mount := range container.VolumeMounts {
			if !mount.ReadOnly {
				t.Errorf("%s is writable", mount.MountPath)
			}
		}
	}
	secrets := 0
	for _, volume := range pod.Spec.Volumes {
		if volume.Secret == nil {
			continue
		}
		secrets++
		if mode := volume.Secret.DefaultMode; mode == nil || *mode != 0o440 {
			t.Errorf("the mode of %s is not 0440", volume.Name)
		}
	}
	group := pod.Spec.SecurityContext
	if secrets == 0 || group.FSGroup == nil || group.RunAsGroup == nil || *group.FSGroup != *group.RunAsGroup {
		t.Errorf("%d Secrets are not readable by the daemon's group alone: %v", secrets, group)
	}
}
