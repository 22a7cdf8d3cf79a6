package apart

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/sandbox/docs"
	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

const (
	// host is the member that plays the cluster where the Pods run. Its Pods run nothing: the
	// test runs the Deployment's command as a process.
	host             = Pull
	rotator          = "karmada-mirror-token-rotator"
	kubeconfigSecret = "karmada-mirror-kubeconfig"
)

// TestInstall follows manifests/README.md word for word: with kustomize and then, in the long
// tests, with Helm.
func TestInstall(t *testing.T) {
	s := newShell(t)
	uninstall := s.blocks(t, "Uninstall")
	s.run(t, strings.Replace(uninstall[2], "karmada-mirror-resources", "karmada-mirror-resources --ignore-not-found", 1)) // other tests install it, too
	s.run(t, uninstall[4])
	ns := NewNamespace(t)

	s.follow(t, "On the Karmada API server")
	s.follow(t, "The daemon's kubeconfig")
	s.run(t, "kubectl --kubeconfig $HOST apply -k manifests/host") // on the client side, which the next ones take over
	for _, block := range s.blocks(t, "On the host cluster") {     // one overlay over another
		s.run(t, block)
	}
	wantStrictness(t, s)
	WantRights(t)
	wantFlowControl(t)
	daemon, mount := startDeployment(t)
	Create(t, ConfigMaps, ConfigMap(ns, "kustomize", Push, "one"))
	WantInMembers(t, ns, "kustomize", "one", Push)
	s.run(t, "kubectl --kubeconfig $KARMADA apply -f manifests/components/foreground-deletion/clusterrole.yaml -f manifests/components/aggregate-status/clusterrole.yaml")
	page := ConfigMap(ns, "foreground", Push, "one")
	SetAnnotation(render.DeletionAnnotation, "foreground")(page)
	Create(t, ConfigMaps, page)
	Eventually(t, "the finalizer", HasFinalizer(ConfigMaps, ns, "foreground"))

	rotate(t, s, ns, mount)
	upgrade := s.blocks(t, "Upgrade")
	applied := strings.NewReplacer("manifests/host", "manifests/overlays/token-rotation/host", "manifests/karmada", "manifests/overlays/token-rotation/karmada")
	s.run(t, applied.Replace(upgrade[0]))
	Create(t, ConfigMaps, ConfigMap(ns, "upgraded", Push, "one"))
	WantInMembers(t, ns, "upgraded", "one", Push)
	Must(t, daemon.Probe(t.Context(), "/readyz"), daemon.Stop()) // the same process all the time

	s.run(t, applied.Replace(uninstall[0]))
	s.run(t, applied.Replace(uninstall[2]))
	s.run(t, strings.Replace(uninstall[3], "--uninstalled", "--uninstalled --yes", 1)) // it would ask on a terminal
	s.run(t, uninstall[4])
	wantNothingLeft(t, s)
	s.run(t, fmt.Sprintf("kubectl --kubeconfig $KARMADA -n %s delete configmap foreground --timeout=180s", ns))
	WantInMembers(t, ns, "kustomize", "one", Push)
	if byHelm {
		installChart(t, s, ns, upgrade[1], uninstall[5])
	}
	s.run(t, uninstall[1])
	WantGone(t, ConfigMaps, ns, "kustomize", Push)
	wantNothingLeft(t, s)
}

// installChart does the same with Helm. The daemon must then also take care of the Works from
// before.
func installChart(t *testing.T, s *shell, ns, upgrade, uninstall string) {
	t.Helper()
	// That it makes the same objects as kustomize is tested in tools/helm; these are other values.
	const values = "--set=side=host,networkPolicy.enabled=true,networkPolicy.apiServerPeers[0].ipBlock.cidr=192.0.2.1/32,nodeSelector.a=b,tolerations[0].operator=Exists,image.pullSecrets[0]=x,image.pullPolicy=Always,flags.log-level=debug,priorityClass.name=other,podLabels.a=b,podAnnotations.a=b,metrics.secure=true"
	s.run(t, "helm template karmada-mirror manifests/chart -n karmada-system "+values+" | kubectl --kubeconfig $HOST apply --server-side --force-conflicts --validate=strict --dry-run=server -f -")
	blocks := s.blocks(t, "Install with Helm")
	s.run(t, blocks[0])
	s.follow(t, "The daemon's kubeconfig")
	s.run(t, blocks[1])
	WantRights(t)
	wantFlowControl(t)
	daemon, _ := startDeployment(t)
	for value, change := range map[string]string{"two": "true", "three": upgrade} {
		s.run(t, change)
		Change(t, ConfigMaps, ns, "kustomize", SetField(value, "data", "key"))
		WantInMembers(t, ns, "kustomize", value, Push)
	}
	Must(t, daemon.Stop())
	s.run(t, uninstall)
	s.run(t, "kubectl --kubeconfig $HOST -n karmada-system delete secret "+kubeconfigSecret)
	s.run(t, "kubectl --kubeconfig $KARMADA -n karmada-system delete lease karmada-mirror")
}

// rotate switches to tokens that expire, and renews and revokes them while the daemon keeps
// running.
func rotate(t *testing.T, s *shell, ns, mount string) {
	t.Helper()
	forEver, steps := tokenOf(t), s.blocks(t, "Tokens that expire")
	for _, step := range steps[:3] {
		s.run(t, step)
	}
	wantRotatorRights(t)
	first := tokenOf(t)
	// Step 4 starts a Pod, which runs nothing here: this runs its command instead.
	runCronJob(t, s)
	second := tokenOf(t)
	if forEver == first || first == second {
		t.Fatal("the token has not changed")
	}
	if lifetime := lifetimeOf(t, second); lifetime < 23*time.Hour || lifetime > 25*time.Hour {
		t.Errorf("a token is valid for %s", lifetime)
	}
	mountSecret(t, kubeconfigSecret, mount)
	s.run(t, steps[4])
	WantRefused(t, forEver)
	Create(t, ConfigMaps, ConfigMap(ns, "rotated", Push, "one"))
	WantInMembers(t, ns, "rotated", "one", Push)

	s.run(t, s.blocks(t, "When a token may have been stolen")[0])
	s.run(t, steps[0])
	s.run(t, steps[1])
	mountSecret(t, kubeconfigSecret, mount)
	WantRefused(t, first)
	WantRefused(t, second)
	Create(t, ConfigMaps, ConfigMap(ns, "revoked", Push, "one"))
	WantInMembers(t, ns, "revoked", "one", Push)
}

// runCronJob runs the CronJob's command with what its Pod would have: the rotator's Secret, and
// its ServiceAccount on the host cluster.
func runCronJob(t *testing.T, s *shell) {
	t.Helper()
	cronJob, err := hostClient().BatchV1().CronJobs(System).Get(t.Context(), rotator, metav1.GetOptions{})
	Must(t, err)
	pod := cronJob.Spec.JobTemplate.Spec.Template.Spec
	container, mount := pod.Containers[0], t.TempDir()
	mountSecret(t, pod.Volumes[0].Secret.SecretName, mount)
	made, err := hostClient().CoreV1().ServiceAccounts(System).CreateToken(t.Context(), pod.ServiceAccountName, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	Must(t, err)
	script := strings.ReplaceAll(container.Command[2], container.VolumeMounts[0].MountPath, mount)
	command := exec.CommandContext(t.Context(), container.Command[0], container.Command[1], script)
	command.Env = append(s.environment, "KUBECONFIG="+KubeconfigAs(t, Env.MemberKubeconfig(host), made.Status.Token), "NAMESPACE="+cronJob.Namespace)
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("the CronJob's command fails: %v\n%s", err, out)
	}
}

func hostClient() kubernetes.Interface { return kubernetes.NewForConfigOrDie(Env.MemberConfig(host)) }

// startDeployment runs the daemon with the arguments of the Deployment on the host cluster, and
// with the Secret that it mounts, in the folder mount.
func startDeployment(t *testing.T) (started *Daemon, mount string) {
	t.Helper()
	deployment, err := hostClient().AppsV1().Deployments(System).Get(t.Context(), Account, metav1.GetOptions{})
	Must(t, err)
	pod := deployment.Spec.Template.Spec
	container := pod.Containers[0]
	mount = t.TempDir()
	mountSecret(t, pod.Volumes[0].Secret.SecretName, mount)
	if container.Args[0] != "run" {
		t.Fatalf("the Deployment does not run the daemon: %v", container.Args)
	}
	var flags []string
	for _, flag := range container.Args[1:] {
		flags = append(flags, strings.ReplaceAll(flag, container.VolumeMounts[0].MountPath, mount))
	}
	return StartDaemon(t, DaemonOptions{Flags: flags}), mount
}

// mountSecret does what the kubelet does for a Pod.
func mountSecret(t *testing.T, name, dir string) {
	t.Helper()
	secret, err := hostClient().CoreV1().Secrets(System).Get(t.Context(), name, metav1.GetOptions{})
	Must(t, err)
	for key, value := range secret.Data {
		path := filepath.Join(dir, key)
		WriteFile(t, path+".new", value)
		Must(t, os.Rename(path+".new", path))
	}
}

// tokenOf is the daemon's token on the host cluster.
func tokenOf(t *testing.T) string {
	t.Helper()
	secret, err := hostClient().CoreV1().Secrets(System).Get(t.Context(), kubeconfigSecret, metav1.GetOptions{})
	Must(t, err)
	return strings.TrimSpace(string(secret.Data["token"]))
}

func lifetimeOf(t *testing.T, token string) time.Duration {
	t.Helper()
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		t.Fatalf("not a token: %d parts", len(parts))
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	Must(t, err)
	var claims struct{ Exp, Iat int64 }
	Must(t, json.Unmarshal(payload, &claims))
	return time.Duration(claims.Exp-claims.Iat) * time.Second
}

// wantNothingLeft looks for leftover objects of the manifests on both sides, by label and, because
// an object may lack the label, by name.
func wantNothingLeft(t *testing.T, s *shell) {
	t.Helper()
	const kinds = "serviceaccounts,secrets,configmaps,services,deployments,cronjobs,poddisruptionbudgets,networkpolicies,priorityclasses,roles,rolebindings,clusterroles,clusterrolebindings,flowschemas,prioritylevelconfigurations,validatingadmissionpolicies"
	for side, dir := range map[string]string{"KARMADA": "karmada", "HOST": "host"} {
		for _, script := range []string{
			fmt.Sprintf("kubectl --kubeconfig $%s get %s -A -o name -l 'app.kubernetes.io/name in (karmada-mirror, karmada-mirror-token-rotator)'", side, kinds),
			fmt.Sprintf("kubectl --kubeconfig $%s get --ignore-not-found -o name -k manifests/overlays/token-rotation/%s | grep -v ^namespace/ || true", side, dir),
		} {
			Eventually(t, "nothing to be left by "+script, func(context.Context) error {
				out, err := s.try(t, script)
				if err == nil && strings.Contains(out, "/") {
					err = errors.New(out)
				}
				return err
			})
		}
	}
}

// wantStrictness applies every kustomization again as a dry run. It also applies an unknown
// field, to prove that the server validates.
func wantStrictness(t *testing.T, s *shell) {
	t.Helper()
	installPrometheusOperator(t)
	for dir, side := range map[string]string{
		"karmada": "KARMADA", "overlays/token-rotation/karmada": "KARMADA",
		"host": "HOST", "overlays/trial": "HOST", "overlays/production": "HOST", "overlays/token-rotation/host": "HOST", "monitoring": "HOST",
	} {
		s.run(t, fmt.Sprintf("kubectl --kubeconfig $%s apply --server-side --validate=strict --dry-run=server -k manifests/%s", side, dir))
	}
	for dir, field := range map[string]string{"host": "enableServiceLinks", "monitoring": "endpoints"} {
		out, err := s.try(t, fmt.Sprintf(`kubectl kustomize manifests/%s | sed 's/%s:/%sX:/' | kubectl --kubeconfig $HOST apply --server-side --validate=strict --dry-run=server -f -`, dir, field, field))
		if err == nil || !strings.Contains(out, field+"X: field not declared in schema") {
			t.Errorf("an unknown field is not rejected: %v\n%s", err, out)
		}
	}
}

// installPrometheusOperator makes the host cluster serve ServiceMonitors and PrometheusRules
// with the operator's own definitions. The module is not in go.mod, because nothing imports it.
func installPrometheusOperator(t *testing.T) {
	t.Helper()
	download := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", "github.com/prometheus-operator/prometheus-operator@v0.85.0")
	download.Dir = t.TempDir()
	output, err := download.Output()
	Must(t, err)
	var module struct{ Dir string }
	Must(t, json.Unmarshal(output, &module))
	for _, plural := range []string{"servicemonitors", "prometheusrules"} {
		definition := filepath.Join(module.Dir, "example", "prometheus-operator-crd", "monitoring.coreos.com_"+plural+".yaml")
		Kubectl(t, "--kubeconfig", Env.MemberKubeconfig(host), "apply", "--server-side", "-f", definition)
		served := schema.GroupVersionResource{Group: "monitoring.coreos.com", Version: "v1", Resource: plural}
		Eventually(t, "the definitions to be served", func(ctx context.Context) error {
			_, err := Env.Member(host).Resource(served).List(ctx, metav1.ListOptions{})
			return err
		})
	}
}

// wantRotatorRights asks both API servers what the rotator may do.
func wantRotatorRights(t *testing.T) {
	t.Helper()
	WantAnswers(t, Env.Client, rotator, map[string]bool{
		"create serviceaccounts/token karmada-system karmada-mirror":               true,
		"create serviceaccounts/token karmada-system karmada-mirror-token-rotator": false,
		"create serviceaccounts/token karmada-system default":                      false,
		"create serviceaccounts/token default karmada-mirror":                      false,
		"get serviceaccounts karmada-system karmada-mirror":                        false,
		"create serviceaccounts karmada-system karmada-mirror":                     false,
		"get secrets karmada-system karmada-mirror-token-rotator":                  false,
		"list secrets karmada-system -":                                            false,
		"create works.work.karmada.io karmada-es-member1 -":                        false,
		"create rolebindings.rbac.authorization.k8s.io karmada-system any":         false,
	})
	WantAnswers(t, hostClient(), rotator, map[string]bool{
		"patch secrets karmada-system karmada-mirror-kubeconfig":                   true,
		"get secrets karmada-system karmada-mirror-kubeconfig":                     false,
		"update secrets karmada-system karmada-mirror-kubeconfig":                  false,
		"delete secrets karmada-system karmada-mirror-kubeconfig":                  false,
		"patch secrets karmada-system karmada-mirror-token-rotator":                false,
		"patch secrets default karmada-mirror-kubeconfig":                          false,
		"create secrets karmada-system -":                                          false,
		"list secrets karmada-system -":                                            false,
		"create pods karmada-system -":                                             false,
		"create serviceaccounts/token karmada-system karmada-mirror-token-rotator": false,
	})
}

// wantFlowControl sends requests as ServiceAccounts, and checks which FlowSchema the API server
// chose for them.
func wantFlowControl(t *testing.T) {
	t.Helper()
	names := Kubectl(t, "get", "flowschemas", "-o", `jsonpath={range .items[*]}{.metadata.uid} {.metadata.name} {.spec.priorityLevelConfiguration.name}{"\n"}{end}`)
	const lease = "/apis/coordination.k8s.io/v1/namespaces/karmada-system/leases/karmada-mirror"
	for request, want := range map[string]string{
		Account + " /apis/work.karmada.io/v1alpha1/works":           "karmada-mirror karmada-mirror",
		Account + " /apis/cluster.karmada.io/v1alpha1/clusters":     "karmada-mirror karmada-mirror",
		Account + " /api/v1/namespaces/karmada-system/configmaps/x": "karmada-mirror karmada-mirror",
		Account + " " + lease:                          "karmada-mirror-leader-election leader-election",
		"default /apis/work.karmada.io/v1alpha1/works": "service-accounts workload-low",
	} {
		account, path, _ := strings.Cut(request, " ")
		said, _ := TryKubectl(t, "get", "--raw", path, "-v=8", "--as=system:serviceaccount:"+System+":"+account) // which may not be there
		uid := regexp.MustCompile(`(?i)x-kubernetes-pf-flowschema-uid: \[?"?([-0-9a-f]+)`).FindStringSubmatch(said)
		if uid == nil || !strings.Contains(names, uid[1]+" "+want+"\n") {
			t.Errorf("%s: it is classified as %v, want %s of:\n%s", request, uid, want, names)
		}
	}
	// Thirty-two writes with two seats each: see flowcontrol.yaml.
	if want := `apiserver_flowcontrol_nominal_limit_seats{priority_level="karmada-mirror"} 66`; !strings.Contains(Kubectl(t, "get", "--raw", "/metrics"), want+"\n") {
		t.Error("the API server does not have 66 seats for it")
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
	Must(t, os.Symlink(Env.Program, filepath.Join(bin, "karmada-mirror")))
	if byHelm {
		build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(bin, "helm"), "helm.sh/helm/v4/cmd/helm")
		build.Dir = filepath.Join(Env.Builder.Repository(), "tools", "helm")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("cannot build helm: %v\n%s", err, out)
		}
	}
	page, err := docs.Read(filepath.Join(Env.Builder.Repository(), "manifests", "README.md"))
	Must(t, err)
	return &shell{page: page, environment: []string{
		"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + t.TempDir(),
		"KARMADA=" + Env.Kubeconfig(), "HOST=" + Env.MemberKubeconfig(host), "SERVER=" + Env.Config().Host,
	}}
}

// blocks are the commands below a heading of manifests/README.md.
func (s *shell) blocks(t *testing.T, heading string) (blocks []string) {
	t.Helper()
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
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	// The server is the sandbox's.
	script = strings.ReplaceAll(script, "export SERVER=", "export SERVER_OF_THE_EXAMPLE=")
	command := exec.CommandContext(ctx, "sh", "-euc", script)
	command.Dir, command.Env = Env.Builder.Repository(), s.environment
	out, err := command.CombinedOutput()
	return string(out), err
}
