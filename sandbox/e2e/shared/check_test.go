package shared

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/cert"

	"github.com/karmada-target/karmada-mirror/config"
	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
	"github.com/karmada-target/karmada-mirror/simulation/fault"
)

// TestCheck has `check` find what only a real API server says: about connections, certificates
// and tokens, what it serves, and what it lets users do.
func TestCheck(t *testing.T) {
	t.Parallel()
	daemon := "system:serviceaccount:" + System + ":" + Account
	checks(t, []string{"--as", daemon}, `✓ \S+ leads$\n  ✓ it is karmada-mirror .*\n  ✓ it has the configuration in force, since `, true)
	ca := filepath.Join(t.TempDir(), "ca.crt")
	certificate, _, err := cert.GenerateSelfSignedCertKey("localhost", nil, nil)
	Must(t, err)
	WriteFile(t, ca, certificate)
	p := StartProxy(t)
	p.Faults.Inject(fault.Match{Resource: Clusters.Resource}, fault.Refuse(apierrors.NewServiceUnavailable("no endpoints")))
	hangs := StartProxy(t)
	hangs.Faults.Inject(fault.Match{Resource: "selfsubjectreviews"}, fault.Drop())
	configured := func(name, text string) string {
		Create(t, ConfigMaps, Object("v1", "ConfigMap", metav1.NamespaceDefault, name, map[string]any{"data": map[string]any{config.Key: ConfigurationHead + text}}))
		t.Cleanup(func() {
			_ = Env.Admin.Resource(ConfigMaps).Namespace(metav1.NamespaceDefault).Delete(context.Background(), name, metav1.DeleteOptions{})
		})
		return metav1.NamespaceDefault + "/" + name
	}
	widgets := schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
	Must(t, karmada.Apply(t.Context(), Env.Config(), []byte(`
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.check.example.com}
spec: {group: check.example.com, version: v1, groupPriorityMinimum: 1000, versionPriority: 10, insecureSkipTLSVerify: true, service: {namespace: default, name: nothing}}
`)))
	t.Cleanup(func() {
		_ = Env.Admin.Resource(widgets).Delete(context.Background(), "v1.check.example.com", metav1.DeleteOptions{})
	})
	for name, c := range map[string]struct {
		arguments []string
		// want is the finding, and hint the advice given with it.
		want, hint string
	}{
		"nothing listens there":                     {[]string{"--server", "https://127.0.0.1:1"}, `✗ https://127\.0\.0\.1:1 does not answer: .*connection refused`, "is the API server running"},
		"an API server that hangs":                  {[]string{"--kubeconfig", hangs.Kubeconfig}, `✗ \S+ does not answer`, "NetworkPolicy or firewall"},
		"the certificate of another authority":      {[]string{"--certificate-authority", ca}, `✗ \S+ does not answer: .*unknown authority`, "certificate-authority in the kubeconfig"},
		"an address that is not in the certificate": {[]string{"--tls-server-name", "karmada.example.com"}, `✗ \S+ does not answer: .*karmada\.example\.com`, "not in the API server's certificate"},
		"a token that is not valid":                 {[]string{"--kubeconfig", KubeconfigAs(t, Env.AccountKubeconfig, "nonsense")}, `✗ \S+ does not answer: Unauthorized`, "create a new one"},
		"the kubeconfig of a member":                {[]string{"--kubeconfig", Env.MemberKubeconfig(Push)}, `✗ it is not a Karmada API server`, `karmada-apiserver\.config`},
		"karmada-aggregated-apiserver is down":      {[]string{"--kubeconfig", p.Kubeconfig}, `✗ it does not serve Clusters`, "kubectl get apiservice"},
		"another user's kubeconfig":                 {[]string{"--as", "nobody"}, `✗ may not get, list, watch, create, patch, delete, mirror works\.work\.karmada\.io`, "kubeconfig of its ServiceAccount"},
		"a resource that may not be read":           {[]string{"--as", daemon, "--config-map", configured("check-secrets", "resources: [{resource: secrets}]\n")}, `✗ may not get, list, watch secrets`, "aggregate-to-karmada-mirror"},
		"a resource that the daemon may not read":   {[]string{"--config-map", configured("check-daemon", "resources: [{resource: secrets}]\n")}, `✗ may not get, list, watch secrets`, "aggregate-to-karmada-mirror"},
		"another ServiceAccount":                    {[]string{"--service-account", "default/default"}, `✗ may not get, list, watch, create, patch, delete, mirror works\.work\.karmada\.io`, "kubeconfig of its ServiceAccount"},
		"a resource without its group":              {[]string{"--config-map", configured("check-group", "resources: [{resource: deployments}]\n")}, `! deployments is not served: did you mean \{group: "apps", resource: deployments\}\?`, "kubectl api-resources"},
		"a resource that cannot be watched":         {[]string{"--config-map", configured("check-bindings", "resources: [{resource: bindings}]\n")}, `✗ cannot watch "bindings"`, "remove it from the configuration"},
		"a resource that no admission policy sees":  {[]string{"--config-map", configured("check-widgets", "resources: [{group: check.example.com, resource: widgets}]\n")}, `! widgets\.check\.example\.com is served by an aggregated API server`, "authorization"},
		"an installation that may not be made":      {[]string{"--pre", "--as", daemon}, `✗ may not create, patch namespaces`, "install with an administrator's kubeconfig"},
	} {
		t.Run(name, func(t *testing.T) {
			checks(t, c.arguments, c.want+`.*\n {6}.*`+c.hint, false)
		})
	}
}

// checks runs check until it says something, and passes or not; a warning says nothing of that. A request may take longer on a busy machine than check
// waits for one.
func checks(t *testing.T, arguments []string, want string, passes bool) {
	t.Helper()
	isWarning, line := want[0] == '!', regexp.MustCompile(`(?m)^  `+want)
	Eventually(t, "what check must say", func(context.Context) error {
		output, err := KarmadaMirror(t, append([]string{"check"}, arguments...)...)
		if !isWarning && passes != (err == nil) || !line.MatchString(output) {
			return fmt.Errorf("it ends with %v, without %q:\n%s", err, want, output)
		}
		return nil
	})
}

// TestRights checks what the ClusterRoles of the manifests allow. That the daemon's are enough
// is shown by every test; docs/how-to/let-tenants-mirror.md runs commands as a tenant.
func TestRights(t *testing.T) {
	t.Parallel()
	t.Run("Daemon", WantRights)
	t.Run("Viewer", func(t *testing.T) { viewerLooks(t, NewNamespace(t)) })
}

// viewerLooks runs the commands as a user bound to karmada-mirror-viewer, who may read the
// objects of one namespace.
func viewerLooks(t *testing.T, ns string) {
	Create(t, ConfigMaps, ConfigMap(ns, "page", Both, "one"))
	user := "viewer-of-" + ns
	wants := func(command, says string) { // new permissions take a moment
		t.Helper()
		Eventually(t, command+" to say "+says, func(context.Context) error {
			output, err := KarmadaMirror(t, append(strings.Fields(command), "--as", user)...)
			if !strings.Contains(output, says) {
				return errors.Join(err, errors.New(output))
			}
			return nil
		})
	}
	Kubectl(t, "create", "rolebinding", user, "--clusterrole=karmada-mirror-resources", "--user="+user, "-n", ns)
	wants("deletions list", "ask for the ClusterRole karmada-mirror-viewer")
	Kubectl(t, "create", "clusterrolebinding", user, "--clusterrole=karmada-mirror-viewer", "--user="+user)
	for command, says := range map[string]string{"status cm": "2/2", "status": "2/2", "explain cm page": Push + ": Wanted", "deletions list": "No deletion is held."} {
		wants(command+" -n "+ns, says)
	}
}
