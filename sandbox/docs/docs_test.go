package docs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/google/go-cmp/cmp"
	clusterv1alpha1 "github.com/karmada-io/api/cluster/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/sandbox/build"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

const (
	// pagePatience is how long a page may take, and stepPatience what comes about
	// eventually in it, on a busy machine.
	pagePatience = 5 * time.Minute
	stepPatience = time.Minute
	// host is the member that plays the cluster where the Pods run.
	host = "member2"
)

// pages reads all pages of the repository.
func pages(t *testing.T) (repository string, all []*Page) {
	t.Helper()
	repository, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(repository, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata" || entry.Name() == "vulndb"):
			return filepath.SkipDir
		case filepath.Ext(path) != ".md":
			return nil
		}
		page, err := Read(path)
		if err != nil {
			t.Error(err)
		}
		all = append(all, page)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return repository, all
}

// TestLinks looks whether what the pages refer to is there.
func TestLinks(t *testing.T) {
	_, all := pages(t)
	anchors := map[string][]string{}
	for _, page := range all {
		anchors[page.Path] = page.Anchors
	}
	for _, page := range all {
		for _, link := range page.Links {
			path, anchor, _ := strings.Cut(link.Text, "#")
			target := page.Path
			if path != "" {
				target = filepath.Join(filepath.Dir(page.Path), path)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s:%d: %s is not there", page.Path, link.Line, link.Text)
			}
			if anchor != "" && !slices.Contains(anchors[target], anchor) {
				t.Errorf("%s:%d: %s has no heading %q", page.Path, link.Line, path, anchor)
			}
		}
	}
}

// TestData parses what the pages show of YAML and JSON.
func TestData(t *testing.T) {
	_, all := pages(t)
	for _, page := range all {
		for _, block := range page.Data {
			var object struct{ Kind string }
			err := yaml.Unmarshal([]byte(block.Text), &object)
			if err == nil && object.Kind == config.Kind {
				_, err = config.Parse([]byte(block.Text))
			}
			if err != nil {
				t.Errorf("%s:%d: %v", page.Path, block.Line, err)
			}
		}
	}
}

// TestCommands runs the commands of all pages, one page after the other, on one
// Karmada with karmada-mirror.
func TestCommands(t *testing.T) {
	repository, all := pages(t)
	if t.Failed() {
		t.FailNow()
	}
	w := newWorld(t, repository)
	table := &strings.Builder{}
	rows := tabwriter.NewWriter(table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(rows, "PAGE\tRUN\tLEFT OUT\tTOOK")
	for _, page := range all {
		name, err := filepath.Rel(repository, page.Path)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			ran, reasons := w.run(t, page)
			if ran+len(reasons) == 0 {
				return
			}
			fmt.Fprintf(rows, "%s\t%d\t%d\t%s\n", name, ran, len(reasons), time.Since(began).Round(100*time.Millisecond))
			for _, reason := range reasons {
				fmt.Fprintf(rows, "\t\t\t\t%s\n", reason)
			}
		})
	}
	if err := rows.Flush(); err != nil {
		t.Fatal(err)
	}
	t.Logf("what was run, and what was left out:\n%s", table)
}

// world is what the commands find.
type world struct {
	*karmada.Karmada
	repository, binaries string
	admin                dynamic.Interface
}

func newWorld(t *testing.T, repository string) *world {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	builder, err := build.New(ctx, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	hyperkarmada, err := builder.Hyperkarmada(ctx)
	if err != nil {
		t.Fatal(err)
	}
	program, err := builder.Daemon(ctx)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{repository: repository, binaries: filepath.Join(builder.Cache(), "bin")}
	w.Karmada, err = karmada.Start(ctx, karmada.Options{
		Dir:       t.TempDir(),
		Programs:  karmada.Programs{Hyperkarmada: hyperkarmada, Karmada: builder.KarmadaSources()},
		Progress:  os.Stderr,
		Scheduler: true, // for those who come from policies
		Members: []karmada.Member{
			{Name: "member1", Mode: clusterv1alpha1.Push}, {Name: host, Mode: clusterv1alpha1.Push}, {Name: "member3", Mode: clusterv1alpha1.Pull},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Stop(); err != nil {
			t.Error(err)
		}
	})
	if w.admin, err = dynamic.NewForConfig(w.Config()); err != nil {
		t.Fatal(err)
	}
	w.install(ctx, t, program)
	return w
}

// install makes the Karmada what most pages take for granted: karmada-mirror runs.
func (w *world) install(ctx context.Context, t *testing.T, program string) {
	t.Helper()
	if err := karmada.ApplyKustomization(ctx, w.Config(), filepath.Join(w.repository, "manifests", "karmada")); err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := w.ServiceAccountKubeconfig(ctx, "karmada-system", "karmada-mirror")
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(t.TempDir(), "karmada-mirror.log"))
	if err != nil {
		t.Fatal(err)
	}
	daemon := exec.Command(program, "run", "--kubeconfig", kubeconfig, "--metrics-bind-address", "127.0.0.1:0", "--health-probe-bind-address", "127.0.0.1:0")
	daemon.Stderr = log
	daemon.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(daemon.Process.Signal(syscall.SIGTERM), daemon.Wait()); err != nil {
			t.Errorf("karmada-mirror ended badly: %v", err)
		}
		if text, err := os.ReadFile(log.Name()); t.Failed() {
			t.Logf("the log of karmada-mirror: %v\n%s", err, text)
		}
		_ = log.Close()
	})
}

// run runs a page in a copy of the repository.
func (w *world) run(t *testing.T, page *Page) (ran int, reasons []string) {
	t.Helper()
	if !slices.ContainsFunc(page.Steps, func(s *Step) bool { return s.Skip == "" }) {
		for _, step := range page.Steps {
			reasons = append(reasons, step.Skip)
		}
		return 0, reasons
	}
	before := w.state(t)
	dir := t.TempDir()
	w.copyTo(t, dir)
	ctx, cancel := context.WithTimeout(t.Context(), pagePatience)
	defer cancel()
	shell, err := NewShell(ctx, dir, t.TempDir(), w.environment(dir))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := shell.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, step := range page.Steps {
		if step.Skip != "" {
			reasons = append(reasons, step.Skip)
			continue
		}
		limited, stop := context.WithTimeout(ctx, stepPatience)
		err := shell.Run(limited, step)
		stop()
		if err != nil {
			t.Fatalf("%s:%d:\n%s\n%v", page.Path, step.Line, step.Text, err)
		}
		if !step.Hidden {
			ran++
		}
	}
	w.wantState(ctx, t, before)
	return ran, reasons
}

// copyTo copies what commands refer to; the sandbox's own module is what it is, for
// in another place it would be compiled anew.
func (w *world) copyTo(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{"manifests", "examples"} {
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join(w.repository, name))); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, ".cache"), 0o700); err != nil {
		t.Fatal(err)
	}
	links := map[string]string{
		"Makefile":                   filepath.Join(w.repository, "Makefile"),
		"sandbox":                    filepath.Join(w.repository, "sandbox"),
		".cache/bin":                 w.binaries,
		"bin/kubectl":                filepath.Join(w.binaries, "hyperkarmada"),
		"bin/kubectl-karmada-mirror": filepath.Join(w.binaries, "karmada-mirror"),
		"karmada.config":             w.Kubeconfig(),
		"host.config":                w.MemberKubeconfig(host),
		"member1.config":             w.MemberKubeconfig("member1"),
		"member2.config":             w.MemberKubeconfig(host),
		"member3.config":             w.MemberKubeconfig("member3"),
	}
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

func (w *world) environment(dir string) []string {
	return append(os.Environ(),
		"PATH="+strings.Join([]string{filepath.Join(dir, "bin"), w.binaries, os.Getenv("PATH")}, string(os.PathListSeparator)),
		"KUBECONFIG="+filepath.Join(dir, "karmada.config"),
		"KUBECACHEDIR="+filepath.Join(dir, ".cache", "kube"),
		"HOME="+dir,
		// Where make finds the sandbox's module by a link, the go command is to find it
		// where it is.
		"SHELLOPTS=physical",
		"GOPATH="+goEnv("GOPATH"), "GOCACHE="+goEnv("GOCACHE"), "GOMODCACHE="+goEnv("GOMODCACHE"),
		"KARMADA_MIRROR_SANDBOX="+filepath.Join(dir, ".cache", "sandbox"))
}

// goEnv is a setting of the go command that depends on the home folder.
func goEnv(name string) string {
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// left are the resources of which a page leaves as many as it has found.
var left = []schema.GroupVersionResource{
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
func (w *world) state(t *testing.T) []string {
	t.Helper()
	var state []string
	for _, resource := range left {
		list, err := w.admin.Resource(resource).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range list.Items {
			line := fmt.Sprintf("%s %s/%s", resource.Resource, item.GetNamespace(), item.GetName())
			if resource.Resource == "clusters" {
				line += fmt.Sprint(item.GetLabels())
			}
			state = append(state, line)
		}
	}
	configuration, err := w.admin.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).
		Namespace("karmada-system").Get(t.Context(), "karmada-mirror", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(state)
	return append(state, fmt.Sprint(configuration.Object["data"]))
}

func (w *world) wantState(ctx context.Context, t *testing.T, before []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, stepPatience)
	defer cancel()
	err := w.Wait(ctx, "the sandbox to be as it was before the page", func(context.Context) error {
		if diff := cmp.Diff(before, w.state(t)); diff != "" {
			return fmt.Errorf("-before +after:\n%s", diff)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
