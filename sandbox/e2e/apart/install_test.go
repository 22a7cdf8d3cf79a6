package apart

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/sandbox/docs"
	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

const (
	// host is the member that plays the cluster where the Pods run. It has no node, so the
	// tests run the Deployment's command as a process.
	host             = Push2
	rotator          = "karmada-mirror-token-rotator"
	kubeconfigSecret = "karmada-mirror-kubeconfig"
)

// TestInstall follows manifests/README.md word for word on a Karmada of its own: with
// kustomize and then, in the long tests, with Helm.
func TestInstall(t *testing.T) {
	StartOwn(t, karmada.Options{Dir: t.TempDir(), Members: Named(Push, host)})
	s := newShell(t)
	ns := NewNamespace(t)

	s.follow(t, "On the Karmada API server")
	s.follow(t, "The daemon's kubeconfig")
	for _, block := range s.blocks(t, "On the host cluster") { // one overlay over another
		s.run(t, block)
	}
	wantStrictness(t, s)
	WantRights(t)
	wantFlowControl(t)
	daemon, mount := startDeployment(t)
	Create(t, ConfigMaps, ConfigMap(ns, "kustomize", Push, "one"))
	WantInMembers(t, ns, "kustomize", "one", Push)
	createInForeground(t, s, ns)

	rotate(t, s, ns, daemon, mount)
	upgrade := s.blocks(t, "Upgrade")
	applied := strings.NewReplacer("manifests/host", "manifests/overlays/token-rotation/host", "manifests/karmada", "manifests/overlays/token-rotation/karmada")
	s.run(t, applied.Replace(upgrade[0]))
	Create(t, ConfigMaps, ConfigMap(ns, "upgraded", Push, "one"))
	WantInMembers(t, ns, "upgraded", "one", Push)
	wantAlive(t, daemon)
	if err := daemon.Stop(); err != nil {
		t.Error(err)
	}

	uninstall := s.blocks(t, "Uninstall")
	s.run(t, applied.Replace(uninstall[0]))
	s.run(t, applied.Replace(uninstall[2]))
	s.run(t, strings.Replace(uninstall[3], "--uninstalled", "--uninstalled --yes", 1)) // it would ask on a terminal
	s.run(t, uninstall[4])
	wantNothingLeft(t)
	s.run(t, fmt.Sprintf("kubectl --kubeconfig $KARMADA -n %s delete configmap foreground --timeout=30s", ns))
	WantInMembers(t, ns, "kustomize", "one", Push)

	if byHelm {
		wantChartStrictness(t, s)
		installChart(t, s, ns, upgrade[1], uninstall[5])
	}
	s.run(t, uninstall[1])
	WantGone(t, ConfigMaps, ns, "kustomize", Push)
	WantGone(t, ConfigMaps, ns, "helm", Push)
	wantNothingLeft(t)
}

// createInForeground creates an object that gets the daemon's finalizer.
func createInForeground(t *testing.T, s *shell, namespace string) {
	t.Helper()
	s.run(t, "kubectl --kubeconfig $KARMADA apply -f manifests/components/foreground-deletion/clusterrole.yaml -f manifests/components/aggregate-status/clusterrole.yaml")
	page := ConfigMap(namespace, "foreground", Push, "one")
	page.SetAnnotations(map[string]string{render.ClustersAnnotation: Push, render.DeletionAnnotation: "foreground"})
	Create(t, ConfigMaps, page)
	Eventually(t, "the finalizer", func(ctx context.Context) error {
		u, err := Env.Admin.Resource(ConfigMaps).Namespace(namespace).Get(ctx, "foreground", metav1.GetOptions{})
		if err == nil && !slices.Contains(u.GetFinalizers(), render.WorksFinalizer) {
			err = fmt.Errorf("it has %v", u.GetFinalizers())
		}
		return err
	})
}

// installChart does the same with Helm. The daemon must then also take care of the Works
// from before.
func installChart(t *testing.T, s *shell, ns, upgrade, uninstall string) {
	t.Helper()
	blocks := s.blocks(t, "Install with Helm")
	s.run(t, blocks[0])
	s.follow(t, "The daemon's kubeconfig")
	s.run(t, blocks[1])
	WantRights(t)
	wantFlowControl(t)
	daemon, _ := startDeployment(t)
	Create(t, ConfigMaps, ConfigMap(ns, "helm", Push, "one"))
	WantInMembers(t, ns, "helm", "one", Push)
	Change(t, ConfigMaps, ns, "kustomize", SetField("two", "data", "key"))
	WantInMembers(t, ns, "kustomize", "two", Push)
	s.run(t, upgrade)
	Change(t, ConfigMaps, ns, "kustomize", SetField("three", "data", "key"))
	WantInMembers(t, ns, "kustomize", "three", Push)
	if err := daemon.Stop(); err != nil {
		t.Error(err)
	}
	s.run(t, uninstall)
	s.run(t, "kubectl --kubeconfig $HOST -n karmada-system delete secret "+kubeconfigSecret)
	s.run(t, "kubectl --kubeconfig $KARMADA -n karmada-system delete lease karmada-mirror")
}

// rotate switches to tokens that expire, and renews and revokes them while the daemon
// keeps running.
func rotate(t *testing.T, s *shell, ns string, daemon *Daemon, mount string) {
	t.Helper()
	forEver := Bearer(tokenOf(t))
	steps := s.blocks(t, "Tokens that expire")
	s.run(t, steps[0])
	s.run(t, steps[1])
	s.run(t, steps[2])
	wantRotatorRights(t)
	first := tokenOf(t)
	if string(forEver) == first {
		t.Fatal("the token has not changed")
	}
	// Step 4 starts a Pod, but there is no node: this runs its command instead.
	runCronJob(t, s)
	second := tokenOf(t)
	if first == second {
		t.Fatal("the CronJob has not changed the token")
	}
	if lifetime := lifetimeOf(t, second); lifetime < 23*time.Hour || lifetime > 25*time.Hour {
		t.Errorf("a token is valid for %s", lifetime)
	}
	mountSecret(t, kubeconfigSecret, mount)
	s.run(t, steps[4])
	Eventually(t, "the old token to be refused", forEver.Refused)
	Create(t, ConfigMaps, ConfigMap(ns, "rotated", Push, "one"))
	WantInMembers(t, ns, "rotated", "one", Push)

	s.run(t, s.blocks(t, "When a token may have been stolen")[0])
	s.run(t, steps[0])
	s.run(t, steps[1])
	mountSecret(t, kubeconfigSecret, mount)
	Eventually(t, "the stolen token to be refused", Bearer(first).Refused)
	Eventually(t, "all tokens of that time to be refused", Bearer(second).Refused)
	Create(t, ConfigMaps, ConfigMap(ns, "revoked", Push, "one"))
	WantInMembers(t, ns, "revoked", "one", Push)
	wantAlive(t, daemon)
}

// runCronJob runs the CronJob's command with what its Pod would have: the rotator's
// Secret, and its ServiceAccount on the host cluster.
func runCronJob(t *testing.T, s *shell) {
	t.Helper()
	cronJob, err := hostClient(t).BatchV1().CronJobs(System).Get(t.Context(), rotator, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod := cronJob.Spec.JobTemplate.Spec.Template.Spec
	container := pod.Containers[0]
	mount := t.TempDir()
	mountSecret(t, pod.Volumes[0].Secret.SecretName, mount)
	made, err := hostClient(t).CoreV1().ServiceAccounts(System).CreateToken(t.Context(), pod.ServiceAccountName, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	inCluster := filepath.Join(t.TempDir(), "kubeconfig")
	writeKubeconfig(t, Env.MemberKubeconfig(host), inCluster, made.Status.Token)
	script := strings.ReplaceAll(container.Command[2], container.VolumeMounts[0].MountPath, mount)
	command := exec.CommandContext(t.Context(), container.Command[0], container.Command[1], script)
	command.Env = append(s.environment, "KUBECONFIG="+inCluster, "NAMESPACE="+cronJob.Namespace)
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("the CronJob's command fails: %v\n%s", err, out)
	}
}

// writeKubeconfig writes a copy of a kubeconfig that authenticates with a token.
func writeKubeconfig(t *testing.T, from, to, token string) {
	t.Helper()
	config, err := clientcmd.LoadFromFile(from)
	if err != nil {
		t.Fatal(err)
	}
	for name := range config.AuthInfos {
		config.AuthInfos[name].ClientCertificateData, config.AuthInfos[name].ClientKeyData = nil, nil
		config.AuthInfos[name].Token = token
	}
	if err := clientcmd.WriteToFile(*config, to); err != nil {
		t.Fatal(err)
	}
}

func hostClient(t *testing.T) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(Env.MemberConfig(host))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// startDeployment runs the daemon with the arguments of the Deployment on the host
// cluster, and with the Secret that it mounts, in the folder mount.
func startDeployment(t *testing.T) (started *Daemon, mount string) {
	t.Helper()
	deployment, err := hostClient(t).AppsV1().Deployments(System).Get(t.Context(), Account, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod := deployment.Spec.Template.Spec
	mount = t.TempDir()
	mountSecret(t, pod.Volumes[0].Secret.SecretName, mount)
	container := pod.Containers[0]
	if container.Args[0] != "run" {
		t.Fatalf("the Deployment does not run the daemon: %v", container.Args)
	}
	var flags []string
	for _, flag := range container.Args[1:] {
		flags = append(flags, strings.ReplaceAll(flag, container.VolumeMounts[0].MountPath, mount))
	}
	return StartDaemon(t, flags...), mount
}

// mountSecret does what the kubelet does for a Pod.
func mountSecret(t *testing.T, name, dir string) {
	t.Helper()
	secret, err := hostClient(t).CoreV1().Secrets(System).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range secret.Data {
		path := filepath.Join(dir, key)
		if err := os.WriteFile(path+".new", value, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
}

// tokenOf is the daemon's token on the host cluster.
func tokenOf(t *testing.T) string {
	t.Helper()
	secret, err := hostClient(t).CoreV1().Secrets(System).Get(t.Context(), kubeconfigSecret, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(secret.Data["token"]))
}

func lifetimeOf(t *testing.T, token string) time.Duration {
	t.Helper()
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		t.Fatalf("not a token: %d parts", len(parts))
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	var claims struct{ Exp, Iat int64 }
	if err := json.Unmarshal(payload, &claims); err != nil {
		t.Fatal(err)
	}
	return time.Duration(claims.Exp-claims.Iat) * time.Second
}

func wantAlive(t *testing.T, d *Daemon) {
	t.Helper()
	if err := d.Probe(t.Context(), "/readyz"); err != nil {
		t.Errorf("the daemon is no longer ready: %v", err)
	}
}

// wantNothingLeft looks for leftover objects of the manifests on both sides.
func wantNothingLeft(t *testing.T) {
	t.Helper()
	ours := metav1.ListOptions{LabelSelector: "app.kubernetes.io/name in (" + Account + "," + rotator + ")"}
	_, err := Env.Client.RbacV1().ClusterRoles().Get(t.Context(), "karmada-mirror-resources", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) { // it would have no label
		t.Errorf("the aggregated ClusterRole was recreated: %v", err)
	}
	for name, config := range map[string]*rest.Config{"Karmada": Env.Config(), "the host cluster": Env.MemberConfig(host)} {
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		Eventually(t, "nothing to be left on "+name, func(ctx context.Context) error {
			return errors.Join(
				none(client.CoreV1().ServiceAccounts("").List(ctx, ours)),
				none(client.CoreV1().Secrets("").List(ctx, ours)),
				none(client.CoreV1().ConfigMaps("").List(ctx, ours)),
				none(client.CoreV1().Services("").List(ctx, ours)),
				none(client.AppsV1().Deployments("").List(ctx, ours)),
				none(client.BatchV1().CronJobs("").List(ctx, ours)),
				none(client.PolicyV1().PodDisruptionBudgets("").List(ctx, ours)),
				none(client.NetworkingV1().NetworkPolicies("").List(ctx, ours)),
				none(client.SchedulingV1().PriorityClasses().List(ctx, ours)),
				none(client.RbacV1().Roles("").List(ctx, ours)),
				none(client.RbacV1().RoleBindings("").List(ctx, ours)),
				none(client.RbacV1().ClusterRoles().List(ctx, ours)),
				none(client.RbacV1().ClusterRoleBindings().List(ctx, ours)),
				none(client.FlowcontrolV1().FlowSchemas().List(ctx, ours)),
				none(client.FlowcontrolV1().PriorityLevelConfigurations().List(ctx, ours)),
				none(client.AdmissionregistrationV1().ValidatingAdmissionPolicies().List(ctx, ours)),
			)
		})
	}
	// Look them up by name too, because an object may lack the label.
	rotation := filepath.Join(Env.Builder.Repository(), "manifests", "overlays", "token-rotation")
	WantAbsent(t, Env.Config(), Kustomize(t, filepath.Join(rotation, "karmada")))
	WantAbsent(t, Env.MemberConfig(host), Kustomize(t, filepath.Join(rotation, "host")))
}

// none returns an error if a list has items.
func none(list runtime.Object, err error) error {
	if err != nil {
		return err
	}
	items, err := meta.ExtractList(list)
	if err == nil && len(items) > 0 {
		err = fmt.Errorf("there are %d in a %T", len(items), list)
	}
	return err
}

// wantStrictness applies every kustomization again as a dry run. It also applies an
// unknown field, to prove that the server validates.
func wantStrictness(t *testing.T, s *shell) {
	t.Helper()
	for dir, side := range map[string]string{
		"karmada": "KARMADA", "overlays/token-rotation/karmada": "KARMADA",
		"host": "HOST", "overlays/trial": "HOST", "overlays/production": "HOST", "overlays/token-rotation/host": "HOST",
	} {
		s.run(t, fmt.Sprintf("kubectl --kubeconfig $%s apply --server-side --validate=strict --dry-run=server -k manifests/%s", side, dir))
	}
	out, err := s.try(t, `kubectl kustomize manifests/host | sed 's/enableServiceLinks:/enableServiceLink:/' |
		kubectl --kubeconfig $HOST apply --server-side --validate=strict --dry-run=server -f -`)
	if err == nil || !strings.Contains(out, "enableServiceLink: field not declared in schema") {
		t.Errorf("an unknown field is not rejected: %v\n%s", err, out)
	}
}

// wantChartStrictness does the same with the chart, for various values.
func wantChartStrictness(t *testing.T, s *shell) {
	t.Helper()
	for values, side := range map[string]string{
		"--set=side=karmada": "KARMADA", "--set=side=karmada,tokenRotation.enabled=true": "KARMADA",
		"--set=side=host": "HOST", "--set=side=host --values=manifests/chart/values-trial.yaml": "HOST",
		"--set=side=host --values=manifests/chart/values-production.yaml":                                                                           "HOST",
		"--set=side=host,tokenRotation.enabled=true --values=manifests/chart/values-production.yaml":                                                "HOST",
		"--set=side=karmada,users[0].kind=Group,users[0].name=developers,configuration.resources[0].resource=secrets,admissionPolicy.enabled=false": "KARMADA",
		"--set=side=host,networkPolicy.enabled=true,networkPolicy.apiServerPeers[0].ipBlock.cidr=192.0.2.1/32,nodeSelector.a=b,tolerations[0].operator=Exists,image.pullSecrets[0]=x,image.pullPolicy=Always,flags.log-level=debug,priorityClass.name=other,podLabels.a=b,podAnnotations.a=b,metrics.secure=true": "HOST",
	} {
		s.run(t, fmt.Sprintf("helm template karmada-mirror manifests/chart -n karmada-system %s | kubectl --kubeconfig $%s apply --server-side --force-conflicts --validate=strict --dry-run=server -f -", values, side))
	}
}

// wantRotatorRights asks both API servers what the rotator may do.
func wantRotatorRights(t *testing.T) {
	t.Helper()
	onKarmada := map[Question]bool{
		May("create", "", "serviceaccounts/token", System, Account):               true,
		May("create", "", "serviceaccounts/token", System, rotator):               false,
		May("create", "", "serviceaccounts/token", System, "default"):             false,
		May("create", "", "serviceaccounts/token", "default", Account):            false,
		May("get", "", "serviceaccounts", System, Account):                        false,
		May("create", "", "serviceaccounts", System, Account):                     false,
		May("get", "", "secrets", System, rotator):                                false,
		May("list", "", "secrets", System, ""):                                    false,
		May("create", "work.karmada.io", "works", "karmada-es-member1", ""):       false,
		May("create", "rbac.authorization.k8s.io", "rolebindings", System, "any"): false,
	}
	onHost := map[Question]bool{
		May("patch", "", "secrets", System, kubeconfigSecret):       true,
		May("get", "", "secrets", System, kubeconfigSecret):         false,
		May("update", "", "secrets", System, kubeconfigSecret):      false,
		May("delete", "", "secrets", System, kubeconfigSecret):      false,
		May("patch", "", "secrets", System, rotator):                false,
		May("patch", "", "secrets", "default", kubeconfigSecret):    false,
		May("create", "", "secrets", System, ""):                    false,
		May("list", "", "secrets", System, ""):                      false,
		May("create", "", "pods", System, ""):                       false,
		May("create", "", "serviceaccounts/token", System, rotator): false,
	}
	WantAnswers(t, Env.Client, rotator, onKarmada)
	WantAnswers(t, hostClient(t), rotator, onHost)
}

// wantFlowControl sends requests as the daemon, and checks which FlowSchema and priority
// level the API server chose for them.
func wantFlowControl(t *testing.T) {
	t.Helper()
	mirror := level{schema: Account, priority: Account}
	election := level{schema: "karmada-mirror-leader-election", priority: "leader-election"}
	works := "/apis/work.karmada.io/v1alpha1"
	leases := "/apis/coordination.k8s.io/v1/namespaces/karmada-system/leases"
	onlyOurs := "?fieldSelector=metadata.name%3Dkarmada-mirror"
	lease := `{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "karmada-mirror"}}`
	cases := map[string]struct {
		method, path, body string
		want               level
	}{
		"list Works":              {"GET", works + "/works", "", mirror},
		"watch Works":             {"GET", works + "/works?watch=true&timeoutSeconds=1", "", mirror},
		"create a Work":           {"POST", works + "/namespaces/karmada-es-member1/works?dryRun=All", `{"apiVersion": "work.karmada.io/v1alpha1", "kind": "Work", "metadata": {"name": "any"}}`, mirror},
		"list Clusters":           {"GET", "/apis/cluster.karmada.io/v1alpha1/clusters", "", mirror},
		"read the ConfigMap":      {"GET", "/api/v1/namespaces/karmada-system/configmaps/karmada-mirror", "", mirror},
		"discovery":               {"GET", "/apis", "", mirror},
		"read without permission": {"GET", "/api/v1/secrets", "", mirror},
		"read the Lease":          {"GET", leases + "/karmada-mirror", "", election},
		"watch the Lease":         {"GET", leases + onlyOurs + "&watch=true&timeoutSeconds=1", "", election},
		"create the Lease":        {"POST", leases + "?dryRun=All", lease, election},
		"renew the Lease":         {"PUT", leases + "/karmada-mirror?dryRun=All", lease, election},
	}
	uids := flowControlUIDs(t)
	client := asAccount(t, Account)
	for name, c := range cases {
		if got := levelOf(t, client, c.method, c.path, c.body, uids); got != c.want {
			t.Errorf("%s: it is classified as %v, want %v", name, got, c.want)
		}
	}
	another := level{schema: "service-accounts", priority: "workload-low"}
	if got := levelOf(t, asAccount(t, "default"), "GET", works+"/works", "", uids); got != another {
		t.Errorf("another ServiceAccount is classified as %v, want %v", got, another)
	}
	metrics, err := Env.Client.CoreV1().RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// Thirty-two writes with two seats each: see flowcontrol.yaml.
	if want := []byte("apiserver_flowcontrol_nominal_limit_seats{priority_level=\"karmada-mirror\"} 66\n"); !bytes.Contains(metrics, want) {
		t.Errorf("the API server does not have 66 seats for it")
	}
}

type level struct{ schema, priority string }

// flowControlUIDs maps the UIDs, which are in the headers of a response, to names.
func flowControlUIDs(t *testing.T) map[string]string {
	t.Helper()
	names := map[string]string{}
	schemas, err := Env.Client.FlowcontrolV1().FlowSchemas().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range schemas.Items {
		names[string(s.UID)] = s.Name
	}
	levels, err := Env.Client.FlowcontrolV1().PriorityLevelConfigurations().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range levels.Items {
		names[string(l.UID)] = l.Name
	}
	return names
}

// asAccount returns a client with a fresh token of a ServiceAccount.
func asAccount(t *testing.T, name string) *http.Client {
	t.Helper()
	accounts := Env.Client.CoreV1().ServiceAccounts(System)
	_, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	made, err := accounts.CreateToken(t.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(Env.Config())
	config.BearerToken = made.Status.Token
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func levelOf(t *testing.T, client *http.Client, method, path, body string, names map[string]string) level {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, Env.Config().Host+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil {
		t.Error(err)
	}
	return level{
		schema:   names[response.Header.Get("X-Kubernetes-PF-FlowSchema-UID")],
		priority: names[response.Header.Get("X-Kubernetes-PF-PriorityLevel-UID")],
	}
}

// shell runs the commands that the documentation says to type.
type shell struct {
	environment []string
	page        *docs.Page
}

func newShell(t *testing.T) *shell {
	t.Helper()
	bin, home := t.TempDir(), t.TempDir()
	Must(t, os.Symlink(filepath.Join(Env.Builder.Cache(), "bin", "hyperkarmada"), filepath.Join(bin, "kubectl")))
	Must(t, os.Symlink(Env.Daemon, filepath.Join(bin, "karmada-mirror")))
	if byHelm {
		build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(bin, "helm"), "helm.sh/helm/v4/cmd/helm")
		build.Dir = filepath.Join(Env.Builder.Repository(), "tools", "helm")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("cannot build helm: %v\n%s", err, out)
		}
	}
	page, err := docs.Read(filepath.Join(Env.Builder.Repository(), "manifests", "README.md"))
	Must(t, err)
	return &shell{
		page: page,
		environment: []string{
			"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + t.TempDir(),
			"KARMADA=" + Env.Kubeconfig(), "HOST=" + Env.MemberKubeconfig(host), "SERVER=" + Env.Config().Host,
		},
	}
}

// blocks are the commands below a heading of manifests/README.md.
func (s *shell) blocks(t *testing.T, heading string) []string {
	t.Helper()
	var blocks []string
	for _, step := range s.page.Steps {
		if step.Heading == heading && !step.Hidden {
			blocks = append(blocks, step.Text)
		}
	}
	if len(blocks) == 0 {
		t.Fatalf("manifests/README.md has no commands below %q", heading)
	}
	return blocks
}

// follow runs all commands below a heading, in one shell.
func (s *shell) follow(t *testing.T, heading string) {
	t.Helper()
	s.run(t, strings.Join(s.blocks(t, heading), "\n"))
}

func (s *shell) run(t *testing.T, script string) {
	t.Helper()
	if out, err := s.try(t, script); err != nil {
		t.Fatalf("%v\n%s\n%s", err, script, out)
	}
}

func (s *shell) try(t *testing.T, script string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	// The server is the sandbox's.
	script = strings.ReplaceAll(script, "export SERVER=", "export SERVER_OF_THE_EXAMPLE=")
	command := exec.CommandContext(ctx, "sh", "-euc", script)
	command.Dir, command.Env = Env.Builder.Repository(), s.environment
	out, err := command.CombinedOutput()
	return string(out), err
}
