package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

// namedNamespace makes a namespace of that name, so that the names of Works in it are
// the same each time.
func namedNamespace(t *testing.T, name string) {
	t.Helper()
	create(t, namespaces, object("v1", "Namespace", "", name, nil))
	t.Cleanup(func() {
		sweep(name)
		_ = env.admin.Resource(namespaces).Delete(context.Background(), name, metav1.DeleteOptions{})
	})
}

// TestStatus lists what is mirrored in every state that it can have.
func TestStatus(t *testing.T) {
	const ns = "status"
	namedNamespace(t, ns)
	create(t, configMaps, configMap(ns, "early", push, "one"))
	wantLine(t, mustKarmadaMirror(t, "status", "cm", "early", "-n", ns), `^ConfigMap/status/early +`+push+` +- +- +- +- +its Work is not there yet$`)

	d := startDaemon(t)
	create(t, configMaps, configMap(ns, "both", push+","+pull, "one"))
	create(t, configMaps, configMap(ns, "broken", "Not A Name", "one"))
	create(t, configMaps, configMap(ns, "nowhere", push+",nowhere", "one"))
	create(t, configMaps, plain(ns, "plain", "one"))
	suspended := configMap(ns, "suspended", push, "one")
	setAnnotation(render.SuspendAnnotation, "true")(suspended)
	create(t, configMaps, suspended)
	// The member has an object of that name that is not Karmada's.
	taken := plain(ns, "taken", "theirs")
	eventually(t, "the namespace in the member", func(ctx context.Context) error {
		_, err := env.members[push].Resource(configMaps).Namespace(ns).Create(ctx, taken, metav1.CreateOptions{})
		return err
	})
	create(t, configMaps, configMap(ns, "taken", push, "ours"))
	for _, name := range []string{"early", "both", "nowhere"} {
		wantInMembers(t, ns, name, "one", push)
	}
	wantInMembers(t, ns, "both", "one", pull)
	status := func(arguments ...string) string {
		return mustKarmadaMirror(t, append([]string{"status"}, arguments...)...)
	}
	eventually(t, "Karmada to report on all", func(context.Context) error {
		output := status("cm", "-n", ns)
		if strings.Count(output, "True") != 4 || !strings.Contains(output, "False") || strings.Contains(output, "not applied it yet") || strings.Count(output, "Healthy") != 4 {
			return errors.New(output)
		}
		return nil
	})
	wantGolden(t, "status", status("cm", "-n", ns))
	wantGolden(t, "status-wide", status("configmaps", "-n", ns, "-o", "wide"))
	wantGolden(t, "status-yaml", status("cm", "both", "-n", ns, "-o", "yaml"))
	var list struct {
		Items []struct{ Cluster, Decision string }
	}
	if err := json.Unmarshal([]byte(status("cm", "both", "-n", ns, "-o", "json")), &list); err != nil || len(list.Items) != 2 || list.Items[1].Cluster != pull || list.Items[1].Decision != "Wanted" {
		t.Errorf("as JSON: %+v, %v", list, err)
	}
	wantLine(t, status("-A"), `^ConfigMap/status/both +`+push)
	wantLine(t, status("-n", ns), `^ConfigMap/status/both +`+push)
	wantLine(t, status("-n", "default"), `^Nothing is mirrored here`)
	wantLine(t, status("cm", "plain", "-n", ns), `^Nothing is mirrored here`)

	// Works whose source is gone while nobody looks after them.
	if err := d.stop(); err != nil {
		t.Fatal(err)
	}
	remove(t, configMaps, ns, "both")
	wantLine(t, status("cm", "-n", ns), `^ConfigMap/status/both +`+push+` +both-\S+ +True .*its Work is about to go: the source does not exist$`)
	wantLine(t, status("cm", "both", "-n", ns), `its Work is about to go`)
	change(t, configMaps, ns, "early", setField("two", "data", "key"))
	wantLine(t, status("cm", "early", "-n", ns), `its Work is not up to date: the content differs$`)

	for name, arguments := range map[string][]string{
		"an unknown resource": {"nothing"}, "a missing object": {"cm", "nothing", "-n", ns}, "an unknown output": {"cm", "-o", "nothing"},
	} {
		if output, err := karmadaMirror(t, append([]string{"status"}, arguments...)...); err == nil || !strings.Contains(output, "nothing") {
			t.Errorf("of %s: %v\n%s", name, err, output)
		}
	}
}

// TestStatusWatch follows one object.
func TestStatusWatch(t *testing.T) {
	startDaemon(t)
	ns := newNamespace(t)
	create(t, configMaps, configMap(ns, "page", push, "one"))
	create(t, configMaps, configMap(ns, "other", push, "one"))
	wantInMembers(t, ns, "page", "one", push)
	command := exec.CommandContext(t.Context(), env.daemon, "status", "cm", "page", "-n", ns, "-w")
	command.Env = append(os.Environ(), daemonVariable+"=1", "KUBECONFIG="+env.Kubeconfig())
	command.Stderr = os.Stderr
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	next := func(pattern string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), "other") {
				t.Errorf("of another object: %s", lines.Text())
			}
			if regexp.MustCompile(pattern).MatchString(lines.Text()) {
				return
			}
		}
		t.Fatalf("there was no line like %q", pattern)
	}
	next(`^SOURCE +CLUSTER +WORK +APPLIED +HEALTH +AGE +MESSAGE$`)
	next(`^ConfigMap/` + ns + `/page +` + push)
	change(t, configMaps, ns, "page", setAnnotation(render.SuspendAnnotation, "true"))
	next(`it is suspended$`)
	change(t, configMaps, ns, "other", setField("two", "data", "key"))
	remove(t, configMaps, ns, "page")
	next(`its Work is gone$`)
	if err := command.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := command.Wait(); err != nil {
		t.Errorf("interrupted, it ended with %v", err)
	}
}

// TestViewer has somebody use the commands who may read the objects of one namespace,
// and is bound to karmada-mirror-viewer.
func TestViewer(t *testing.T) {
	startDaemon(t)
	ns := newNamespace(t)
	t.Cleanup(func() { sweep(ns) })
	create(t, configMaps, configMap(ns, "page", push, "one"))
	wantInMembers(t, ns, "page", "one", push)
	user := "viewer-of-" + ns
	rights := `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: viewer, namespace: ` + ns + `}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: karmada-mirror-default-resources}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: ` + user + `}]
`
	if err := karmada.Apply(t.Context(), env.Config(), []byte(rights)); err != nil {
		t.Fatal(err)
	}
	commands := [][]string{{"status", "cm", "-n", ns}, {"status", "-n", ns}, {"explain", "cm", "page", "-n", ns}, {"diff", "cm", "page", "-n", ns}, {"deletions", "list"}}
	for _, command := range commands {
		output, err := karmadaMirror(t, append(command, "--as", user)...)
		if err == nil || !strings.Contains(output, "ask for the ClusterRole karmada-mirror-viewer") {
			t.Errorf("%v without rights: %v\n%s", command, err, output)
		}
	}
	binding := `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: ` + user + `}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: karmada-mirror-viewer}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: ` + user + `}]
`
	if err := karmada.Apply(t.Context(), env.Config(), []byte(binding)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = env.client.RbacV1().ClusterRoleBindings().Delete(context.Background(), user, metav1.DeleteOptions{})
	})
	for _, command := range commands {
		eventually(t, strings.Join(command, " "), func(context.Context) error {
			if output, err := karmadaMirror(t, append(command, "--as", user)...); err != nil {
				return errors.New(output)
			}
			return nil
		})
	}
	wantLine(t, mustKarmadaMirror(t, "status", "-n", ns, "--as", user), `^ConfigMap/`+ns+`/page +`+push)
}

// TestPlugin has kubectl find the program, and a shell complete it.
func TestPlugin(t *testing.T) {
	ns := newNamespace(t)
	create(t, configMaps, configMap(ns, "page", push, "one"))
	t.Cleanup(func() { sweep(ns) })
	dir := t.TempDir()
	link := func(program, name string) {
		t.Helper()
		if err := os.Symlink(program, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	link(env.daemon, "kubectl-karmada-mirror")
	link(filepath.Join(env.builder.Cache(), "bin", "hyperkarmada"), "kubectl")
	run := func(arguments ...string) string {
		t.Helper()
		command := exec.CommandContext(t.Context(), filepath.Join(dir, arguments[0]), arguments[1:]...)
		command.Env = append(os.Environ(), daemonVariable+"=1", "KUBECONFIG="+env.Kubeconfig(), "PATH="+dir+":"+os.Getenv("PATH"))
		output, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", arguments, err, output)
		}
		return string(output)
	}
	wantLine(t, run("kubectl", "karmada", "mirror", "status", "cm", "-n", ns), `^ConfigMap/`+ns+`/page +`+push)
	wantLine(t, run("kubectl", "karmada", "mirror", "--help"), `^  kubectl karmada mirror \[command\]$`)
	wantLine(t, run("kubectl-karmada-mirror", "__complete", "explain", "deploy"), `^deployments\.apps$`)
	wantLine(t, run("kubectl-karmada-mirror", "__complete", "status", "cm", "-n", ns, "p"), `^page$`)
	for _, shell := range []string{"bash", "zsh", "fish"} {
		wantLine(t, run("kubectl-karmada-mirror", "completion", shell), `__complete`)
	}
}

// kubeconfigAs writes the kubeconfig of somebody with a token.
func kubeconfigAs(t *testing.T, token string) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(env.kubeconfig)
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

// TestPurge deletes what has left the configuration, and nothing else.
func TestPurge(t *testing.T) {
	ns, other := newNamespace(t), newNamespace(t)
	t.Cleanup(func() { sweep(ns); sweep(other) })
	d := startDaemon(t)
	quiesce(t)
	create(t, configMaps, configMap(ns, "page", push+","+push2, "one"))
	create(t, configMaps, configMap(other, "page", push, "one"))
	wantInMembers(t, ns, "page", "one", push, push2)
	wantInMembers(t, other, "page", "one", push)

	purge := func(arguments ...string) (string, error) {
		return karmadaMirror(t, append([]string{"purge", "--resource", "configmaps"}, arguments...)...)
	}
	if output, err := purge(); err == nil || !strings.Contains(output, "take it out of ConfigMap") {
		t.Errorf("of what is configured: %v\n%s", err, output)
	}
	// Another daemon has one of the namespaces.
	second := object("v1", "ConfigMap", system, "second-"+ns, map[string]any{
		"data": map[string]any{"config.yaml": configurationHead + "resources:\n- {resource: configmaps, namespaces: [" + other + "]}\n"},
	})
	create(t, configMaps, second)
	t.Cleanup(func() {
		_ = env.admin.Resource(configMaps).Namespace(system).Delete(context.Background(), second.GetName(), metav1.DeleteOptions{})
	})
	configure(t, resources("deployments.apps"))
	eventually(t, "the daemon to watch ConfigMaps no more", func(context.Context) error {
		if _, err := d.metric(`karmada_mirror_watch_state{resource="configmaps",state="ready"}`); err == nil {
			return errors.New("it does")
		}
		return nil
	})
	output, err := purge("--dry-run")
	if err != nil {
		t.Fatal(err)
	}
	wantLine(t, output, `^ConfigMap/`+ns+`/page: Work karmada-es-`+push+`/page-\S+ would be deleted$`)
	wantLine(t, output, `^2 Works would be deleted in `+push+", "+push2+`\.$`)
	mustWork(t, configMapWork(ns, "page", push))

	remove(t, configMaps, system, second.GetName())
	create(t, configMaps, object("v1", "ConfigMap", system, second.GetName(), map[string]any{
		"data": map[string]any{"config.yaml": configurationHead + "resources: nonsense\n"},
	}))
	if output, err := purge(); err == nil || !strings.Contains(output, "another daemon") {
		t.Errorf("with a configuration that cannot be read: %v\n%s", err, output)
	}
	change(t, configMaps, system, second.GetName(), setField(second.Object["data"].(map[string]any)["config.yaml"], "data", "config.yaml"))

	if output, err = purge(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	wantLine(t, output, `^2 Works deleted in `)
	wantGone(t, configMaps, ns, "page", push, push2)
	wantInMembers(t, other, "page", "one", push)
	if output, err = purge(); err != nil || !strings.Contains(output, "There is no Work of configmaps outside the configuration.") {
		t.Errorf("once more: %v\n%s", err, output)
	}
	if _, err := env.admin.Resource(configMaps).Namespace(ns).Get(t.Context(), "page", metav1.GetOptions{}); err != nil {
		t.Errorf("the source: %v", err)
	}
}

// TestWorkloadStatus has Karmada report how a Deployment is, by push and by pull. What of
// it is stripped moves its generation, which the Work carries, and is not written.
func TestWorkloadStatus(t *testing.T) {
	startDaemon(t)
	quiesce(t)
	ns := newNamespace(t)
	u := object("apps/v1", "Deployment", ns, "web", map[string]any{"spec": map[string]any{
		"replicas": int64(0), // no node runs Pods
		"selector": map[string]any{"matchLabels": map[string]any{"app": "web"}},
		"template": map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"app": "web"}},
			"spec":     map[string]any{"containers": []any{map[string]any{"name": "web", "image": "web"}}},
		},
	}})
	setAnnotation(render.ClustersAnnotation, push+","+pull)(u)
	create(t, deployments, u)
	eventually(t, "Karmada to report on the Deployment", func(context.Context) error {
		if output := mustKarmadaMirror(t, "status", "deploy", "web", "-n", ns); strings.Count(output, "Healthy") != 2 {
			return errors.New(output)
		}
		return nil
	})
	audit := auditFromNow(t)
	change(t, deployments, ns, "web", setAnnotation("kubectl.kubernetes.io/last-applied-configuration", "{}"))
	change(t, deployments, ns, "web", setField(int64(1), "spec", "replicas"))
	eventually(t, "the Works to have the edit's generation", func(ctx context.Context) error {
		for _, cluster := range []string{push, pull} {
			id := render.Identity{Group: "apps", Kind: "Deployment", Namespace: ns, Name: "web"}
			w, err := env.admin.Resource(works).Namespace(render.ExecutionNamespace(cluster)).Get(ctx, id.WorkName(), metav1.GetOptions{})
			if err != nil {
				return err
			}
			manifests, _, _ := unstructured.NestedSlice(w.Object, "spec", "workload", "manifests")
			generation, _, _ := unstructured.NestedString(manifests[0].(map[string]any), "metadata", "annotations", "resourcetemplate.karmada.io/generation")
			if generation != "3" {
				return errors.New(cluster + " has " + generation)
			}
		}
		return nil
	})
	if diff := cmp.Diff(map[string]int{"patch works": 2}, audit.writes(t)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	remove(t, deployments, ns, "web")
	wantGone(t, deployments, ns, "web", push, pull)
}
