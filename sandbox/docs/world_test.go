package docs

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/karmada-target/karmada-mirror/sandbox/command"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
	"github.com/karmada-target/karmada-mirror/sandbox/process"
)

var running = flag.String("sandbox", "", "folder of a running sandbox, such as that of make sandbox-up (default: start one)")

const (
	system  = "karmada-system"
	account = "karmada-mirror"
	// host is the member that stands in for the host cluster.
	host = "member2"
)

// world is the environment that commands run in.
type world struct {
	repository string
	binaries   string // folder
	dir        string // of the sandbox
	config     *rest.Config
	admin      dynamic.Interface
}

func newWorld(t *testing.T, repository string) *world {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	builder, programs, err := command.Programs(ctx, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	program, err := builder.Daemon(ctx)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{repository: repository, binaries: filepath.Join(builder.Cache(), "bin"), dir: *running}
	if w.dir == "" {
		w.dir = t.TempDir()
		k, err := karmada.Start(ctx, karmada.Options{
			Dir:         w.dir,
			Programs:    programs,
			Environment: []string{"GOGC=400"},
			Progress:    os.Stderr,
			Scheduler:   true, // for readers who come from policies
			Members:     command.Members(),
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := errors.Join(k.Err(), k.Stop()); err != nil {
				t.Error(err)
			}
		})
	}
	if w.config, err = clientcmd.BuildConfigFromFlags("", w.kubeconfig("karmada")); err != nil {
		t.Fatal(err)
	}
	w.config.QPS = -1 // the state is read again and again
	if w.admin, err = dynamic.NewForConfig(w.config); err != nil {
		t.Fatal(err)
	}
	w.install(ctx, t, program)
	return w
}

// kubeconfig is the path of the kubeconfig of the Karmada API server or a member.
func (w *world) kubeconfig(server string) string {
	return filepath.Join(w.dir, server+".kubeconfig")
}

// install sets up what most pages assume: a running karmada-mirror.
func (w *world) install(ctx context.Context, t *testing.T, program string) {
	t.Helper()
	// Not by package karmada: its field manager would conflict with the pages'.
	apply := exec.CommandContext(ctx, filepath.Join(w.binaries, "hyperkarmada"), "kubectl", "--kubeconfig", w.kubeconfig("karmada"),
		"apply", "--server-side", "-k", filepath.Join(w.repository, "manifests", "karmada"))
	if output, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("cannot install: %v\n%s", err, output)
	}
	kubeconfig := filepath.Join(t.TempDir(), "karmada-mirror.config")
	if err := karmada.ServiceAccountKubeconfig(ctx, w.kubeconfig("karmada"), system, account, kubeconfig); err != nil {
		t.Fatal(err)
	}
	daemon, err := process.StartDaemon(process.DaemonOptions{
		Program: []string{program}, Kubeconfig: kubeconfig,
		// On a busy machine, kubectl takes more than a second to delete what a page wants
		// held, and the breaker would let the first deletions through.
		Flags: []string{"--deletion-settle-period", "4s"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := daemon.Stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("the log of karmada-mirror:\n%s", daemon.Log())
		}
	})
	err = wait.PollUntilContextCancel(ctx, retryInterval, true, func(context.Context) (bool, error) {
		return daemon.Logged("leading") > 0, nil
	})
	if err != nil {
		t.Fatalf("karmada-mirror does not become the leader: %v", err)
	}
}

// prepare fills a folder with the files that commands refer to. The sandbox module is a
// link, because a copy would be compiled again.
func (w *world) prepare(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{"manifests", "examples"} {
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join(w.repository, name))); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{".cache", "bin"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	links := map[string]string{
		"Makefile":                   filepath.Join(w.repository, "Makefile"),
		"sandbox":                    filepath.Join(w.repository, "sandbox"),
		".cache/bin":                 w.binaries,
		"bin/kubectl":                filepath.Join(w.binaries, "hyperkarmada"),
		"bin/kubectl-karmada-mirror": filepath.Join(w.binaries, "karmada-mirror"),
		"karmada.config":             w.kubeconfig("karmada"),
		"host.config":                w.kubeconfig(host),
	}
	for _, member := range command.Members() {
		links[member.Name+".config"] = w.kubeconfig(member.Name)
	}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// environment returns the environment variables for the commands of a page.
func (w *world) environment(t *testing.T, dir string) []string {
	t.Helper()
	// With the variables of a make that runs this test, a page's make would print its
	// directory.
	inherited := slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "MAKE") || strings.HasPrefix(variable, "MFLAGS=")
	})
	environment := append(inherited,
		"PATH="+strings.Join([]string{filepath.Join(dir, "bin"), w.binaries, os.Getenv("PATH")}, string(os.PathListSeparator)),
		"KUBECONFIG="+filepath.Join(dir, "karmada.config"),
		"KARMADA="+filepath.Join(dir, "karmada.config"),
		"HOST="+filepath.Join(dir, "host.config"),
		"KARMADA_MIRROR_SANDBOX="+filepath.Join(dir, ".cache", "sandbox"),
		// Physical: a bash that enters the sandbox module through a link is where the link
		// leads. Otherwise the go command would take it for another module.
		"SHELLOPTS=physical",
		"HOME="+dir)
	for _, name := range []string{"GOPATH", "GOCACHE", "GOMODCACHE"} { // they depend on HOME
		value, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		environment = append(environment, name+"="+strings.TrimSpace(string(value)))
	}
	return environment
}

// shared are the resources that a page must leave as it found them.
var shared = []schema.GroupVersionResource{
	{Version: "v1", Resource: "namespaces"},
	{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"},
	{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicybindings"},
	{Group: "policy.karmada.io", Version: "v1alpha1", Resource: "clusterpropagationpolicies"},
	{Group: "work.karmada.io", Version: "v1alpha1", Resource: "works"},
	{Group: "cluster.karmada.io", Version: "v1alpha1", Resource: "clusters"},
}

// state is what pages share: names, labels of clusters, and the configuration.
func (w *world) state(ctx context.Context) ([]string, error) {
	var state []string
	for _, resource := range shared {
		list, err := w.admin.Resource(resource).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		for _, item := range list.Items {
			line := fmt.Sprintf("%s %s/%s", resource.Resource, item.GetNamespace(), item.GetName())
			if resource.Resource == "clusters" {
				line += fmt.Sprint(item.GetLabels())
			}
			state = append(state, line)
		}
	}
	configuration, err := w.admin.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace(system).Get(ctx, account, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	slices.Sort(state)
	return append(state, fmt.Sprint(configuration.Object["data"])), nil
}

// wantState waits until the world is as it was before a page.
func (w *world) wantState(ctx context.Context, t *testing.T, before []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, stepPatience)
	defer cancel()
	var difference string
	err := wait.PollUntilContextCancel(ctx, retryInterval, true, func(ctx context.Context) (bool, error) {
		after, err := w.state(ctx)
		difference = cmp.Diff(before, after)
		return difference == "", err
	})
	if err != nil {
		t.Errorf("the page does not leave the sandbox as it found it: %v, -before +after:\n%s", err, difference)
	}
}
