package shared

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
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// TestStatus lists mirrored objects in every state that they can have.
func TestStatus(t *testing.T) {
	const ns = "status" // a fixed name, so that the names of Works are the same each time
	Isolate(t, ns)
	Create(t, ConfigMaps, ConfigMap(ns, "early", Push, "one"))
	WantLine(t, MustKarmadaMirror(t, "status", "cm", "early", "-n", ns), `^ConfigMap/status/early +`+Push+` +- +- +- +- +- +its Work does not exist yet$`)

	d := StartDaemon(t)
	Create(t, ConfigMaps, ConfigMap(ns, "both", Push+","+Pull, "one"))
	Create(t, ConfigMaps, ConfigMap(ns, "broken", "Not A Name", "one"))
	Create(t, ConfigMaps, ConfigMap(ns, "nowhere", Push+",nowhere", "one"))
	Create(t, ConfigMaps, Plain(ns, "plain", "one"))
	suspended := ConfigMap(ns, "suspended", Push, "one")
	SetAnnotation(render.SuspendAnnotation, "true")(suspended)
	Create(t, ConfigMaps, suspended)
	// The member already has an object with this name that is not Karmada's.
	taken := Plain(ns, "taken", "theirs")
	Eventually(t, "the namespace in the member", func(ctx context.Context) error {
		_, err := Env.Member(Push).Resource(ConfigMaps).Namespace(ns).Create(ctx, taken, metav1.CreateOptions{})
		return err
	})
	Create(t, ConfigMaps, ConfigMap(ns, "taken", Push, "ours"))
	for _, name := range []string{"early", "both", "nowhere"} {
		WantInMembers(t, ns, name, "one", Push)
	}
	WantInMembers(t, ns, "both", "one", Pull)
	status := func(arguments ...string) string {
		return MustKarmadaMirror(t, append([]string{"status"}, arguments...)...)
	}
	Eventually(t, "Karmada to report on all", func(context.Context) error {
		output := status("cm", "-n", ns)
		if strings.Count(output, "True") != 5 || !strings.Contains(output, "False") || strings.Contains(output, "not applied it yet") || strings.Count(output, "Healthy") != 5 {
			return errors.New(output)
		}
		return nil
	})
	WantGolden(t, "status", status("cm", "-n", ns))
	WantGolden(t, "status-wide", status("configmaps", "-n", ns, "-o", "wide"))
	WantGolden(t, "status-yaml", status("cm", "both", "-n", ns, "-o", "yaml"))
	var list struct {
		Items []struct {
			Cluster, Decision string
			Clusters          *struct{ Total, Applied, Healthy int }
		}
	}
	if err := json.Unmarshal([]byte(status("cm", "both", "-n", ns, "-o", "json")), &list); err != nil || len(list.Items) != 3 || list.Items[2].Cluster != Pull || list.Items[2].Decision != "Wanted" {
		t.Errorf("as JSON: %+v, %v", list, err)
	} else if sum := list.Items[0]; sum.Cluster != "" || sum.Clusters == nil || *sum.Clusters != (struct{ Total, Applied, Healthy int }{2, 2, 2}) || list.Items[1].Clusters != nil {
		t.Errorf("the sum as JSON: %+v, then %+v", sum, list.Items[1])
	}
	WantLine(t, status("-A"), `^NAMESPACE +SOURCE `)
	WantLine(t, status("-A"), `^status +ConfigMap/status/both +2/2 `)
	WantGolden(t, "status-failed", status("-n", ns, "--failed"))
	if names := status("-n", ns, "--failed", "-o", "name"); names != "ConfigMap/status/broken\nConfigMap/status/nowhere\nConfigMap/status/taken\n" {
		t.Errorf("the names of failed objects:\n%s", names)
	}
	MustKarmadaMirror(t, append([]string{"explain"}, strings.Fields(status("-n", ns, "-o", "name"))...)...)
	if names := status("-n", ns, "--member", Pull, "-o", "name"); names != "ConfigMap/status/both\n" {
		t.Errorf("the names of objects in %s:\n%s", Pull, names)
	}
	Change(t, ConfigMaps, ns, "early", func(u *unstructured.Unstructured) { u.SetLabels(map[string]string{"team": "web"}) })
	if names := status("-n", ns, "-l", "team=web", "-o", "name"); names != "ConfigMap/status/early\n" {
		t.Errorf("the names of objects with a label:\n%s", names)
	}
	Create(t, Secrets, func() *unstructured.Unstructured {
		u := Object("v1", "Secret", ns, "secret", nil)
		u.SetAnnotations(map[string]string{render.ClustersAnnotation: Push})
		return u
	}())
	if all, one := status("secret", "-n", ns), status("secret", "secret", "-n", ns); all != one || !strings.Contains(one, "not among the resources") {
		t.Errorf("status of a resource, and of one object of it:\n%s\n%s", all, one)
	}
	WantLine(t, status("-n", ns), `^ConfigMap/status/both +`+Push)
	WantLine(t, status("-n", "default"), `^Nothing is mirrored here`)
	WantLine(t, status("cm", "plain", "-n", ns), `^Nothing is mirrored here`)

	// The source of these Works is deleted while no daemon runs.
	d.MustStop(t)
	Remove(t, ConfigMaps, ns, "both")
	WantLine(t, status("cm", "-n", ns), `^ConfigMap/status/both +`+Push+` +both-\S+ +- +True .*its Work is about to be removed: the source does not exist$`)
	WantLine(t, status("cm", "both", "-n", ns), `its Work is about to be removed`)
	Change(t, ConfigMaps, ns, "early", SetField("two", "data", "key"))
	WantLine(t, status("cm", "early", "-n", ns), `its Work is out of date: the content differs$`)

	for name, arguments := range map[string][]string{
		"an unknown resource": {"nothing"}, "a missing object": {"cm", "nothing", "-n", ns}, "an unknown output": {"cm", "-o", "nothing"},
	} {
		if output, err := KarmadaMirror(t, append([]string{"status"}, arguments...)...); err == nil || !strings.Contains(output, "nothing") {
			t.Errorf("with %s: %v\n%s", name, err, output)
		}
	}
}

// statusWatch is a command that follows.
type statusWatch struct {
	t       *testing.T
	command *exec.Cmd
	lines   *bufio.Scanner
	// silent is what no line may name.
	silent string
}

func watchStatus(t *testing.T, silent string, arguments ...string) *statusWatch {
	t.Helper()
	command := exec.CommandContext(t.Context(), Env.Daemon, append([]string{"status", "-w"}, arguments...)...)
	command.Env = append(os.Environ(), "KUBECONFIG="+Env.Kubeconfig())
	command.Stderr = os.Stderr
	stdout, err := command.StdoutPipe()
	Must(t, err)
	Must(t, command.Start())
	return &statusWatch{t: t, command: command, lines: bufio.NewScanner(stdout), silent: silent}
}

// next waits for a line.
func (w *statusWatch) next(pattern string) {
	w.t.Helper()
	for w.lines.Scan() {
		if strings.Contains(w.lines.Text(), w.silent) {
			w.t.Errorf("a line about another object: %s", w.lines.Text())
		}
		if regexp.MustCompile(pattern).MatchString(w.lines.Text()) {
			return
		}
	}
	w.t.Fatalf("no line matches %q", pattern)
}

func (w *statusWatch) interrupt() {
	w.t.Helper()
	Must(w.t, w.command.Process.Signal(syscall.SIGINT))
	if err := w.command.Wait(); err != nil {
		w.t.Errorf("interrupted, it ended with %v", err)
	}
}

// TestStatusWatch follows one object, and its source as well as its Works.
func TestStatusWatch(t *testing.T) {
	ns := Isolate(t)
	StartDaemon(t)
	Create(t, ConfigMaps, ConfigMap(ns, "page", Push, "one"))
	Create(t, ConfigMaps, ConfigMap(ns, "other", Push, "one"))
	WantInMembers(t, ns, "page", "one", Push)
	w := watchStatus(t, "other", "cm", "page", "-n", ns)
	w.next(`^SOURCE +CLUSTER +WORK +READY +APPLIED +HEALTH +AGE +MESSAGE$`)
	w.next(`^ConfigMap/` + ns + `/page +` + Push)
	Change(t, ConfigMaps, ns, "page", SetAnnotation(render.ClustersAnnotation, "Not A Name")) // no Work changes
	w.next(`^ConfigMap/` + ns + `/page +` + Push + ` .*True .*InvalidAnnotation: `)
	Change(t, ConfigMaps, ns, "page", SetAnnotation(render.ClustersAnnotation, Push+","+Pull))
	w.next(`^ConfigMap/` + ns + `/page +2/2 +- +- +True +Healthy`)
	Change(t, ConfigMaps, ns, "page", SetAnnotation(render.SuspendAnnotation, "true"))
	w.next(`it is suspended$`)
	Change(t, ConfigMaps, ns, "other", SetField("two", "data", "key"))
	Remove(t, ConfigMaps, ns, "page")
	w.next(`its Work was deleted$`)
	w.interrupt()
}

// TestStatusWatchResource follows a resource, in which objects come and go.
func TestStatusWatchResource(t *testing.T) {
	ns := Isolate(t)
	StartDaemon(t)
	w := watchStatus(t, "plain", "cm", "-n", ns)
	Create(t, ConfigMaps, Plain(ns, "plain", "one"))
	Create(t, ConfigMaps, ConfigMap(ns, "broken", "Not A Name", "one"))
	w.next(`^ConfigMap/` + ns + `/broken +- .*InvalidAnnotation: `)
	Create(t, ConfigMaps, ConfigMap(ns, "page", Push, "one"))
	w.next(`^ConfigMap/` + ns + `/page +` + Push + ` .*True +Healthy`)
	Change(t, ConfigMaps, ns, "plain", SetField("two", "data", "key"))
	Change(t, ConfigMaps, ns, "broken", SetAnnotation(render.ClustersAnnotation, Push))
	w.next(`^ConfigMap/` + ns + `/broken +` + Push + ` .*True +Healthy`)
	Remove(t, ConfigMaps, ns, "page")
	w.next(`^ConfigMap/` + ns + `/page +` + Push + ` .*its Work was deleted$`)
	w.interrupt()
}

// TestViewer has a user run the commands who may read the objects of one namespace, and is
// bound to karmada-mirror-viewer.
func TestViewer(t *testing.T) {
	ns := Isolate(t)
	StartDaemon(t)
	Create(t, ConfigMaps, ConfigMap(ns, "page", Push, "one"))
	WantInMembers(t, ns, "page", "one", Push)
	user := "viewer-of-" + ns
	rights := `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: viewer, namespace: ` + ns + `}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: karmada-mirror-default-resources}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: ` + user + `}]
`
	if err := karmada.Apply(t.Context(), Env.Config(), []byte(rights)); err != nil {
		t.Fatal(err)
	}
	if output, err := KarmadaMirror(t, "deletions", "list", "--as", user); err == nil || !strings.Contains(output, "ask for the ClusterRole karmada-mirror-viewer") {
		t.Errorf("without permissions: %v\n%s", err, output)
	}
	binding := `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: ` + user + `}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: karmada-mirror-viewer}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: ` + user + `}]
`
	if err := karmada.Apply(t.Context(), Env.Config(), []byte(binding)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = Env.Client.RbacV1().ClusterRoleBindings().Delete(context.Background(), user, metav1.DeleteOptions{})
	})
	for _, command := range [][]string{{"status", "cm", "-n", ns}, {"status", "-n", ns}, {"explain", "cm", "page", "-n", ns}, {"diff", "cm", "page", "-n", ns}, {"deletions", "list"}} {
		Eventually(t, strings.Join(command, " "), func(context.Context) error {
			if output, err := KarmadaMirror(t, append(command, "--as", user)...); err != nil || strings.Contains(output, "may not read") {
				return errors.New(output)
			}
			return nil
		})
	}
	WantLine(t, MustKarmadaMirror(t, "status", "-n", ns, "--as", user), `^ConfigMap/`+ns+`/page +`+Push)
}

// TestTenantLooks has a user run the commands who may read only their namespace; then also
// what all tenants may see; then also the Works of one cluster.
func TestTenantLooks(t *testing.T) {
	ns := Isolate(t)
	StartDaemon(t)
	Create(t, ConfigMaps, ConfigMap(ns, "page", Push+","+Push2, "one"))
	WantInMembers(t, ns, "page", "one", Push)
	WantInMembers(t, ns, "page", "one", Push2)
	user := rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "tenant-of-" + ns}
	bind := func(namespace, role string) {
		t.Helper()
		name := user.Name + "-" + role
		bindings := Env.Client.RbacV1().RoleBindings(namespace)
		_, err := bindings.Create(t.Context(), &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, Subjects: []rbacv1.Subject{user},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role}}, metav1.CreateOptions{})
		Must(t, err)
		t.Cleanup(func() { _ = bindings.Delete(context.Background(), name, metav1.DeleteOptions{}) })
	}
	as := func(arguments ...string) (string, error) {
		return KarmadaMirror(t, append(arguments, "--as", user.Name, "--config-map", System+"/"+Account)...)
	}
	wait := func(what string, lines ...string) {
		t.Helper()
		Eventually(t, what, func(context.Context) error {
			output, err := as("status", "cm", "-n", ns)
			for _, line := range lines {
				if !regexp.MustCompile("(?m)" + line).MatchString(output) {
					err = errors.Join(err, errors.New(output))
				}
			}
			return err
		})
	}

	if output, err := as("status", "cm", "-n", ns); err == nil || !strings.Contains(output, "forbidden") {
		t.Errorf("a user without permissions: %v\n%s", err, output)
	}
	bind(ns, "view")
	wait("a tenant to see their own objects", `^ConfigMap/`+ns+`/page +`+Push+` +- .*you may not read its Work$`,
		`^You may not read the Clusters; the daemon's configuration; the Works: anything that depends on this is not shown\.$`)
	output, err := as("explain", "cm/page", "-n", ns)
	Must(t, err)
	WantLine(t, output, `^`+Push+`: Wanted$`)
	WantLine(t, output, `^  Work: +you may not read it$`)
	if output, err := as("status", "-n", ns); err == nil || !strings.Contains(output, "give a TYPE") {
		t.Errorf("status without a type needs the configuration: %v\n%s", err, output)
	}
	if output, err := as("wait", "cm/page", "-n", ns); err == nil || !strings.Contains(output, "may not read") {
		t.Errorf("wait needs permission to read the Works: %v\n%s", err, output)
	}

	BindClusterRole(t, "karmada-mirror-tenant", user)
	wait("a tenant to see the clusters", `^You may not read the Works: `)
	bind(render.ExecutionNamespace(Push), "karmada-mirror-viewer")
	wait("the Works of a cluster", `^ConfigMap/`+ns+`/page +`+Push+` +page-\S+ +- +True `, `^ConfigMap/`+ns+`/page +`+Push2+` +- .*you may not read its Work$`,
		`^You may not read the Works for [^:]*`+Push2+`[^:]*: `)
	Create(t, ConfigMaps, ConfigMap(ns, "own", Push, "one"))
	if output, err := as("wait", "cm/own", "-n", ns); err != nil {
		t.Errorf("wait, with permission to read all Works of the object: %v\n%s", err, output)
	}
	if output, err := as("wait", "cm/page", "-n", ns); err == nil || !strings.Contains(output, "may not read the Works for "+Push2) {
		t.Errorf("wait needs permission to read all Works of the object: %v\n%s", err, output)
	}
	// The permissions of all tenants do not allow reading another tenant's objects.
	other := ns + "-other"
	makeTestNamespace(t, other)
	Create(t, ConfigMaps, ConfigMap(other, "page", Push2, "theirs"))
	for _, command := range [][]string{{"status", "cm", "-n", other}, {"explain", "cm/page", "-n", other}, {"diff", "cm/page", "-n", other}} {
		if output, err := as(command...); err == nil || strings.Contains(output, "page-") {
			t.Errorf("%v shows another tenant's objects: %v\n%s", command, err, output)
		}
	}
}

// TestOtherCluster runs commands with kubeconfigs that are not the Karmada API server's.
func TestOtherCluster(t *testing.T) {
	Isolate(t)
	for _, command := range [][]string{
		{"status"}, {"explain", "cm/page"}, {"diff", "-A"}, {"wait", "cm/page"}, {"kubeconfig"}, {"deletions", "list"}, {"purge", "--resource", "configmaps"},
	} {
		output, err := KarmadaMirror(t, append(command, "--kubeconfig", Env.MemberKubeconfig(Push))...)
		if err == nil || !strings.Contains(output, "it is not a Karmada API server") || !strings.Contains(output, "karmada-apiserver.config") {
			t.Errorf("%v on a member: %v\n%s", command, err, output)
		}
		output, err = KarmadaMirror(t, append(command, "--server", "https://127.0.0.1:1")...)
		if err == nil || !strings.Contains(output, "is the address in the kubeconfig right") {
			t.Errorf("%v where nothing answers: %v\n%s", command, err, output)
		}
	}
}

// TestPlugin has kubectl find the program, and a shell complete it.
func TestPlugin(t *testing.T) {
	ns := Isolate(t)
	Create(t, ConfigMaps, ConfigMap(ns, "page", Push, "one"))
	dir := t.TempDir()
	link := func(program, name string) {
		t.Helper()
		if err := os.Symlink(program, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	link(Env.Daemon, "kubectl-karmada-mirror")
	link(filepath.Join(Env.Builder.Cache(), "bin", "hyperkarmada"), "kubectl")
	run := func(arguments ...string) string {
		t.Helper()
		command := exec.CommandContext(t.Context(), filepath.Join(dir, arguments[0]), arguments[1:]...)
		command.Env = append(os.Environ(), "KUBECONFIG="+Env.Kubeconfig(), "PATH="+dir+":"+os.Getenv("PATH"))
		output, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", arguments, err, output)
		}
		return string(output)
	}
	WantLine(t, run("kubectl", "karmada", "mirror", "status", "cm", "-n", ns), `^ConfigMap/`+ns+`/page +`+Push)
	WantLine(t, run("kubectl", "karmada", "mirror", "--help"), `^  kubectl karmada mirror \[command\]$`)
	WantLine(t, run("kubectl-karmada-mirror", "__complete", "explain", "deploy"), `^deployments\.apps$`)
	for want, words := range map[string][]string{
		`page`: {"status", "cm", "-n", ns, "p"}, `cm/page`: {"explain", "-n", ns, "cm/p"}, regexp.QuoteMeta(ns): {"status", "-n", ns[:len(ns)-1]},
		`wide`: {"status", "-o", "w"}, `json`: {"explain", "-o", "j"}, `healthy`: {"wait", "--for", "h"}, Push: {"status", "--member", Push[:3]},
		`deployments\.apps`: {"deletions", "list", "--resource", "deploy"}, `secrets`: {"purge", "--resource", "secr"},
	} {
		WantLine(t, run(append([]string{"kubectl-karmada-mirror", "__complete"}, words...)...), `^`+want+`$`)
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		WantLine(t, run("kubectl-karmada-mirror", "completion", shell), `__complete`)
	}
}

// TestWorkloadStatus has Karmada report the status of a Deployment, in push and pull mode.
// An edit of stripped fields changes the generation that the Work carries, but does not
// cause a write.
func TestWorkloadStatus(t *testing.T) {
	ns := Isolate(t)
	Configure(t, Resources(t, "deployments.apps"))
	StartDaemon(t)
	u := Object("apps/v1", "Deployment", ns, "web", map[string]any{"spec": map[string]any{
		"replicas": int64(0), // no node runs Pods
		"selector": map[string]any{"matchLabels": map[string]any{"app": "web"}},
		"template": map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"app": "web"}},
			"spec":     map[string]any{"containers": []any{map[string]any{"name": "web", "image": "web"}}},
		},
	}})
	SetAnnotation(render.ClustersAnnotation, Push+","+Pull)(u)
	Create(t, Deployments, u)
	Eventually(t, "Karmada to report on the Deployment", func(context.Context) error {
		if output := MustKarmadaMirror(t, "status", "deploy", "web", "-n", ns); strings.Count(output, "Healthy") != 3 {
			return errors.New(output)
		}
		return nil
	})
	output := MustKarmadaMirror(t, "status", "deploy", "web", "-n", ns)
	WantLine(t, output, `^Deployment\.apps/`+ns+`/web +2/2 +- +0/0 +True +Healthy`)
	WantLine(t, output, `^Deployment\.apps/`+ns+`/web +`+Pull+` +web-\S+ +0/0 +True +Healthy`)
	audit := AuditFromNow(t)
	Change(t, Deployments, ns, "web", SetAnnotation("kubectl.kubernetes.io/last-applied-configuration", "{}"))
	Change(t, Deployments, ns, "web", SetField(int64(1), "spec", "replicas"))
	Eventually(t, "the Works to have the edit's generation", func(ctx context.Context) error {
		for _, cluster := range []string{Push, Pull} {
			id := render.Identity{Group: "apps", Kind: "Deployment", Namespace: ns, Name: "web"}
			w, err := Env.Admin.Resource(Works).Namespace(render.ExecutionNamespace(cluster)).Get(ctx, id.WorkName(), metav1.GetOptions{})
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
	if diff := cmp.Diff(map[string]int{"patch works": 2}, audit.Writes(t)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	Remove(t, Deployments, ns, "web")
	WantGone(t, Deployments, ns, "web", Push, Pull)
}
