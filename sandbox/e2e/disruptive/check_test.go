package disruptive

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"

	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/sandbox/fault"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// TestCheck checks a correct installation, with the daemon's permissions.
func TestCheck(t *testing.T) {
	StartDaemon(t)
	output := MustKarmadaMirror(t, "check", "--as", User(t))
	WantGolden(t, "check", output)
	WantGolden(t, "check-pre", MustKarmadaMirror(t, "check", "--pre"))
	output, err := KarmadaMirror(t, "check", "--pre", "--as", User(t))
	if err == nil {
		t.Errorf("the daemon has the permissions to install itself:\n%s", output)
	}
	WantLine(t, output, `✗ may not get, create, patch secrets in namespace karmada-system\n +install with an administrator's kubeconfig`)
}

// behindProxy returns the kubeconfig of an API server with a fault.
func behindProxy(match fault.Match, f fault.Fault) func(*testing.T) []string {
	return func(t *testing.T) []string {
		p := StartProxy(t)
		rule := p.Inject(match, f)
		t.Cleanup(rule.Remove)
		return []string{"--kubeconfig", p.Kubeconfig()}
	}
}

// withConfiguration returns the name of a ConfigMap of the test's own.
func withConfiguration(text string, more ...string) func(*testing.T) []string {
	return func(t *testing.T) []string {
		name := "check-" + utilrand.String(5)
		Create(t, ConfigMaps, Object("v1", "ConfigMap", metav1.NamespaceDefault, name, map[string]any{"data": map[string]any{"config.yaml": ConfigurationHead + text}}))
		t.Cleanup(func() {
			_ = Env.Admin.Resource(ConfigMaps).Namespace(metav1.NamespaceDefault).Delete(context.Background(), name, metav1.DeleteOptions{})
		})
		return append(more, "--config-map", metav1.NamespaceDefault+"/"+name)
	}
}

// withUnaggregated impersonates a user who may read a configuration, but not list ClusterRoles:
// the ClusterRole that would let them read ConfigMaps is not aggregated for them.
func withUnaggregated(t *testing.T) []string {
	const user = "check-unaggregated"
	bindings := Env.Client.RbacV1().RoleBindings(metav1.NamespaceDefault)
	_, err := bindings.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
	}, metav1.CreateOptions{})
	Must(t, err)
	t.Cleanup(func() { _ = bindings.Delete(context.Background(), user, metav1.DeleteOptions{}) })
	return withConfiguration("resources: [{resource: configmaps}]\n", "--as", user)(t)
}

// withDefault makes a Namespace with a default.
func withDefault(name string) func(*testing.T) []string {
	return func(t *testing.T) []string {
		namespace := Object("v1", "Namespace", "", name, nil)
		namespace.SetAnnotations(map[string]string{render.ClustersAnnotation: Push})
		Create(t, Namespaces, namespace)
		t.Cleanup(func() {
			_ = Env.Admin.Resource(Namespaces).Delete(context.Background(), name, metav1.DeleteOptions{})
		})
		return nil
	}
}

// withAggregatedEdit grants ClusterRole edit what Karmada's own installation grants it.
func withAggregatedEdit(t *testing.T) []string {
	const name = "check-karmada-edit"
	Must(t, karmada.Apply(t.Context(), Env.Config(), []byte(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: `+name+`, labels: {rbac.authorization.k8s.io/aggregate-to-edit: "true"}}
rules:
- {apiGroups: [policy.karmada.io], resources: [propagationpolicies], verbs: [create]}
`)))
	t.Cleanup(func() {
		_ = Env.Client.RbacV1().ClusterRoles().Delete(context.Background(), name, metav1.DeleteOptions{})
	})
	Eventually(t, "the rights to be aggregated", func(ctx context.Context) error {
		role, err := Env.Client.RbacV1().ClusterRoles().Get(ctx, "edit", metav1.GetOptions{})
		if err == nil && !slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.APIGroups, "policy.karmada.io") }) {
			err = errors.New("they are not")
		}
		return err
	})
	return nil
}

// withAggregatedAPI has another API server serve a configured resource.
func withAggregatedAPI(t *testing.T) []string {
	const name = "v1.check.example.com"
	Must(t, karmada.Apply(t.Context(), Env.Config(), []byte(`
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: `+name+`}
spec: {group: check.example.com, version: v1, groupPriorityMinimum: 1000, versionPriority: 10, insecureSkipTLSVerify: true, service: {namespace: default, name: nothing}}
`)))
	t.Cleanup(func() {
		_ = Env.Admin.Resource(state.APIServicesResource).Delete(context.Background(), name, metav1.DeleteOptions{})
	})
	return withConfiguration("resources: [{group: check.example.com, resource: widgets}]\n")(t)
}

func with(arguments ...string) func(*testing.T) []string {
	return func(*testing.T) []string { return arguments }
}

// TestCheckFinds breaks the set-up, one thing at a time.
func TestCheckFinds(t *testing.T) {
	const stale = "check-finds-stale"
	old := `
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: ` + stale + `, namespace: karmada-system}
spec: {holderIdentity: mirror-0, leaseDurationSeconds: 15, renewTime: "2024-01-01T00:00:00.000000Z"}
`
	if err := karmada.Apply(t.Context(), Env.Config(), []byte(old)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = Env.Client.CoordinationV1().Leases(System).Delete(context.Background(), stale, metav1.DeleteOptions{})
	})
	clusterResource := schema.GroupResource{Group: Clusters.Group, Resource: Clusters.Resource}

	cases := map[string]struct {
		arguments func(*testing.T) []string
		// want is the finding, and hint the advice given with it.
		want, hint string
		// passes says that the finding is only a warning, so that check succeeds.
		passes bool
	}{
		"nothing listens there":                         {arguments: with("--server", "https://127.0.0.1:1"), want: `✗ https://127\.0\.0\.1:1 does not answer: .*connection refused`, hint: "is the API server running"},
		"an API server that hangs":                      {arguments: behindProxy(fault.Match{Resource: "selfsubjectreviews"}, fault.Drop()), want: `✗ \S+ does not answer`, hint: "NetworkPolicy or firewall"},
		"the certificate of another authority":          {arguments: anotherAuthority, want: `✗ \S+ does not answer: .*unknown authority`, hint: "certificate-authority in the kubeconfig"},
		"an address that is not in the certificate":     {arguments: with("--tls-server-name", "karmada.example.com"), want: `✗ \S+ does not answer: .*karmada\.example\.com`, hint: "not in the API server's certificate"},
		"a token that is not valid":                     {arguments: func(t *testing.T) []string { return []string{"--kubeconfig", kubeconfigAs(t, "nonsense")} }, want: `✗ \S+ does not answer: Unauthorized`, hint: "create a new one"},
		"the kubeconfig of a member":                    {arguments: func(*testing.T) []string { return []string{"--kubeconfig", Env.MemberKubeconfig(Push)} }, want: `✗ it is not a Karmada API server`, hint: `karmada-apiserver\.config`},
		"no kubeconfig":                                 {arguments: with("--kubeconfig", "/nonexistent"), want: `✗ cannot load the kubeconfig`, hint: `\$KUBECONFIG`},
		"karmada-aggregated-apiserver is down":          {arguments: behindProxy(fault.Match{Group: Clusters.Group, Resource: Clusters.Resource}, fault.Refuse(apierrors.NewServiceUnavailable("no endpoints"))), want: `✗ it does not serve Clusters`, hint: "kubectl get apiservice"},
		"karmada-controller-manager is down":            {arguments: behindProxy(fault.Match{Verb: "get", Resource: "namespaces", Name: "karmada-es-" + Push}, fault.Refuse(apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "karmada-es-"+Push))), want: `✗ namespace karmada-es-` + Push + ` of cluster`, hint: "is karmada-controller-manager running"},
		"no cluster has joined":                         {arguments: behindProxy(fault.Match{Group: clusterResource.Group, Resource: clusterResource.Resource}, fault.EmptyList()), want: `! no cluster has joined`, hint: "karmadactl join"},
		"another user's kubeconfig":                     {arguments: with("--as", "nobody"), want: `✗ may not get, list, watch, create, patch, delete works\.work\.karmada\.io`, hint: "kubeconfig of its ServiceAccount"},
		"no ConfigMap":                                  {arguments: with("--config-map", System+"/nothing"), want: `✗ ConfigMap karmada-system/nothing is missing`, hint: "--config-map"},
		"a mistake in the ConfigMap":                    {arguments: withConfiguration("resources: [{resource: secrets, namespace: [a]}]\n"), want: `✗ ConfigMap .* unknown field "resources\[0\]\.namespace"`, hint: "karmada-mirror validate"},
		"a resource that may not be read":               {arguments: withConfiguration("resources: [{resource: secrets}]\n", "--as", User(t)), want: `✗ may not get, list, watch secrets`, hint: "aggregate-to-karmada-mirror"},
		"a ClusterRole that was not aggregated":         {arguments: withUnaggregated, want: `✗ may not get, list, watch configmaps$`, hint: `ClusterRole karmada-mirror-default-resources grants it, but has not been aggregated`},
		"a typo in a resource":                          {arguments: withConfiguration("resources: [{group: apps, resource: deployment}]\n"), want: `! deployment\.apps is not served: did you mean \{group: "apps", resource: deployments\}\?`, hint: "kubectl api-resources"},
		"a resource without its group":                  {arguments: withConfiguration("resources: [{resource: deployments}]\n"), want: `! deployments is not served: did you mean \{group: "apps", resource: deployments\}\?`, hint: "kubectl api-resources"},
		"a short name":                                  {arguments: withConfiguration("resources: [{resource: cm}]\n"), want: `! cm is not served: did you mean \{group: "", resource: configmaps\}\?`, hint: "kubectl api-resources"},
		"misspelled annotations are not rejected":       {arguments: with(), want: `! misspelled annotations are ignored`, hint: "manifests/karmada", passes: true},
		"a resource that cannot be watched":             {arguments: withConfiguration("resources: [{resource: bindings}]\n"), want: `✗ cannot watch "bindings"`, hint: "remove it from the configuration"},
		"the daemon has never run":                      {arguments: with("--leader-elect-resource-name", "nothing"), want: `✗ no replica leads: Lease \S+ is missing`, hint: "get pods"},
		"the daemon no longer runs":                     {arguments: with("--leader-elect-resource-name", stale), want: `✗ no replica leads: mirror-0 last renewed the Lease \S+ ago`, hint: "and their logs"},
		"a Namespace that would empty members":          {arguments: withDefault("check-unprotected"), want: `! .*\bcheck-unprotected\b`, hint: "deletion-protected=Always", passes: true},
		"tenants who need no annotation":                {arguments: withAggregatedEdit, want: `! anyone with ClusterRole (edit|admin) can propagate anything`, hint: "let-tenants-mirror", passes: true},
		"a resource that no admission policy sees":      {arguments: withAggregatedAPI, want: `! widgets\.check\.example\.com is served by an aggregated API server`, hint: "authorization"},
		"a rule that owners choose by a label":          {arguments: withConfiguration("resources: []\nauthorization: [{namespaceSelector: {matchLabels: {tier: gold}}}]\n"), want: `! authorization\[0\]\.namespaceSelector: anyone who may label`, hint: "let-tenants-mirror", passes: true},
		"anyone who may annotate may mirror everywhere": {arguments: with(), want: `! mirroring permissions are not enforced`, hint: "authorization", passes: true},
	}
	StartDaemon(t)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			output, err := KarmadaMirror(t, append([]string{"check"}, c.arguments(t)...)...)
			if warned := c.want[:len("!")] == "!"; !warned && err == nil {
				t.Errorf("it passes")
			}
			if c.passes && err != nil {
				t.Errorf("it does not pass: %v", err)
			}
			if !regexp.MustCompile(`(?m)^  ` + c.want + `.*\n {6}.*` + c.hint).MatchString(output) {
				t.Errorf("it does not find %q with %q:\n%s", c.want, c.hint, output)
			}
		})
	}
}

// TestValidateAgainstCluster checks resources against what the API server serves.
func TestValidateAgainstCluster(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	for text, want := range map[string]string{
		"resources: [{resource: cm}]\n":                                        `cm: did you mean {group: "", resource: configmaps}?`,
		"resources: [{resource: deployments}]\n":                               `deployments: did you mean {group: "apps", resource: deployments}?`,
		"resources: [{group: example.io, resource: nothings}]\n":               "the API server does not serve nothings.example.io",
		"resources: [{group: apps, version: v1, resource: deployments}]\n":     "",
		"resources: [{group: apps, version: v9, resource: deployments}]\n":     "the API server does not serve deployments.apps, apps/v9",
		"resources: [{resource: configmaps}, {group: batch, resource: job}]\n": `did you mean {group: "batch", resource: jobs}?`,
	} {
		Must(t, os.WriteFile(file, []byte(ConfigurationHead+text), 0o600))
		MustKarmadaMirror(t, "validate", "-f", file)
		output, err := KarmadaMirror(t, "validate", "-f", file, "--against-cluster")
		if (err == nil) != (want == "") || !strings.Contains(output, want) {
			t.Errorf("%s%v\n%s", text, err, output)
		}
	}
}

func anotherAuthority(t *testing.T) []string {
	t.Helper()
	certificate, _, err := cert.GenerateSelfSignedCertKey("localhost", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(path, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"--certificate-authority", path}
}

// kubeconfigAs writes a kubeconfig that authenticates with a token.
func kubeconfigAs(t *testing.T, token string) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(Kubeconfig(t))
	if err != nil {
		t.Fatal(err)
	}
	for name := range config.AuthInfos {
		config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: token}
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}
