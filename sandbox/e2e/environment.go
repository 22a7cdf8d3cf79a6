package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	clusterv1alpha1 "github.com/karmada-io/api/cluster/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/sandbox/build"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

// Push and Pull are the members that tests mirror to.
const (
	Push = "member1"
	Pull = "member2"
	Both = Push + "," + Pull
)

// System and Account are the namespace and the ServiceAccount of karmada-mirror's
// installation.
const (
	System  = "karmada-system"
	Account = "karmada-mirror"
)

// Unguarded is a label of Namespaces in which the admission policies do not apply.
const Unguarded = "e2e.example/unguarded"

// Env is the Karmada of a package's tests.
var Env *Environment

// Environment is a Karmada.
type Environment struct {
	*karmada.Karmada
	Builder *build.Builder
	// Dir holds the files of the Karmada.
	Dir string
	// Daemon is the path of karmada-mirror with the race detector, and Program that of a release.
	Daemon, Program string
	// AccountKubeconfig is the kubeconfig of the daemon's ServiceAccount.
	AccountKubeconfig string
	// Admin and Client have an administrator's permissions.
	Admin  dynamic.Interface
	Client kubernetes.Interface
	// Mirror is the daemon that all tests share, if there is one.
	Mirror *Daemon
}

// Setup is what the tests of a package share.
type Setup struct {
	// Members of the Karmada; without any, there is no Karmada.
	Members []karmada.Member
	// Flags are added to those of Karmada's components.
	Flags map[string][]string
	// Configuration of the daemon that they share; empty if nothing is to be installed.
	Configuration string
}

// Main is the main function of a package of tests.
func Main(m *testing.M, s Setup) {
	flag.Parse()
	code, err := runTests(m, s)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func runTests(m *testing.M, s Setup) (code int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	if Env, err = compile(ctx); err != nil {
		return 0, err
	}
	if len(s.Members) > 0 {
		if Env.Dir, err = os.MkdirTemp("", "karmada-mirror-e2e-"); err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(Env.Dir)) }()
		if err := Env.Start(ctx, karmada.Options{Dir: Env.Dir, Members: s.Members, Flags: s.Flags}); err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, Env.Stop()) }()
	}
	if s.Configuration != "" {
		if err := Env.share(ctx, s.Configuration); err != nil {
			return 0, err
		}
		defer func() {
			if end := Env.Mirror.end(); end != nil {
				err = errors.Join(err, fmt.Errorf("the shared daemon: %w", end))
			}
			if err != nil || code != 0 {
				fmt.Fprintf(os.Stderr, "the shared daemon's log:\n%s", Env.Mirror.Log())
			}
		}()
	}
	return m.Run(), nil
}

// compile builds the programs of an environment.
func compile(ctx context.Context) (e *Environment, err error) {
	e = &Environment{}
	if e.Builder, err = build.New(ctx, os.Stderr); err != nil {
		return nil, err
	}
	if _, err := e.Builder.Hyperkarmada(ctx); err != nil {
		return nil, err
	}
	if e.Daemon, err = e.Builder.CheckedDaemon(ctx); err != nil {
		return nil, err
	}
	e.Program, err = e.Builder.Daemon(ctx)
	return e, err
}

// Members returns members with a node each, on which Pods become ready: in push mode, except
// [Pull], which is in pull mode.
func Members(names ...string) []karmada.Member {
	var members []karmada.Member
	for _, name := range names {
		mode := clusterv1alpha1.Push
		if name == Pull {
			mode = clusterv1alpha1.Pull
		}
		members = append(members, karmada.Member{Name: name, Mode: mode, Nodes: 1})
	}
	return members
}

// flags make Karmada fit for tests. By default the executor makes 40 calls a second to each
// server, which would take most of the time. And if a member were considered lost because
// the machine is busy, the test would wait for minutes.
func flags() map[string][]string {
	return map[string][]string{
		karmada.ControllerManager: {
			"--kube-api-qps=400", "--kube-api-burst=800", "--cluster-api-qps=400", "--cluster-api-burst=800",
			"--cluster-failure-threshold=15s", "--cluster-monitor-grace-period=60s",
		},
		karmada.Agent(Pull): {"--cluster-failure-threshold=15s", "--cluster-lease-duration=40s"},
	}
}

// Start starts the Karmada, with the programs and flags of tests.
func (e *Environment) Start(ctx context.Context, o karmada.Options) (err error) {
	hyperkarmada, err := e.Builder.Hyperkarmada(ctx)
	if err != nil {
		return err
	}
	o.Programs = karmada.Programs{Hyperkarmada: hyperkarmada, Karmada: e.Builder.KarmadaSources()}
	if o.Programs.APIServer, err = e.Builder.APIServer(ctx); err != nil {
		return err
	}
	if slices.ContainsFunc(o.Members, func(m karmada.Member) bool { return m.Nodes > 0 }) {
		if o.Programs.Kwok, o.Programs.Stages, err = e.Builder.Kwok(ctx); err != nil {
			return err
		}
	}
	o.Progress = os.Stderr
	// Otherwise a seventh of an API server's CPU time would go into garbage collection.
	o.Environment = []string{"GOGC=400"}
	o.Scheduler = true // for policies, which take over our sources and release them again
	added := o.Flags
	o.Flags = flags()
	for component, flags := range added {
		o.Flags[component] = append(o.Flags[component], flags...)
	}
	if e.Karmada, err = karmada.Start(ctx, o); err != nil {
		return err
	}
	e.Admin, err = dynamic.NewForConfig(e.Config())
	if err == nil {
		e.Client, err = kubernetes.NewForConfig(e.Config())
	}
	if err != nil {
		return errors.Join(err, e.Karmada.Stop())
	}
	return nil
}

// Member returns an administrator's client of a member.
func (e *Environment) Member(name string) dynamic.Interface {
	// It only fails for an invalid config, which a sandbox does not make.
	return dynamic.NewForConfigOrDie(e.MemberConfig(name))
}

// Install applies the manifests that users apply, with the components for deletions in the
// foreground and for statuses. The admission policies spare the Namespaces that are
// [Unguarded], where tests may write mistakes.
func (e *Environment) Install(ctx context.Context) (err error) {
	if err := karmada.ApplyKustomization(ctx, e.Config(), filepath.Join(e.Builder.Repository(), "manifests", "karmada")); err != nil {
		return err
	}
	for _, component := range []string{"foreground-deletion", "aggregate-status"} {
		role, err := os.ReadFile(filepath.Join(e.Builder.Repository(), "manifests", "components", component, "clusterrole.yaml"))
		if err == nil {
			err = karmada.Apply(ctx, e.Config(), role)
		}
		if err != nil {
			return err
		}
	}
	spare := []byte(`{"spec":{"matchResources":{"namespaceSelector":{"matchExpressions":[{"key":"` + Unguarded + `","operator":"DoesNotExist"}]}}}}`)
	for _, name := range []string{Account, Account + "-spelling"} {
		_, err := e.Client.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Patch(ctx, name, types.MergePatchType, spare, metav1.PatchOptions{})
		if err != nil {
			return err
		}
	}
	e.AccountKubeconfig, err = e.ServiceAccountKubeconfig(ctx, System, Account)
	return err
}

// Configure replaces the configuration of the installation.
func (e *Environment) Configure(ctx context.Context, text string) error {
	patch, err := json.Marshal(map[string]any{"data": map[string]any{config.Key: text}})
	if err == nil {
		_, err = e.Client.CoreV1().ConfigMaps(System).Patch(ctx, Account, types.MergePatchType, patch, metav1.PatchOptions{})
	}
	return err
}

// share installs karmada-mirror, and starts the daemon that all tests share: where it cannot
// write a byte to any file, and the usual folders do not exist.
func (e *Environment) share(ctx context.Context, configuration string) (err error) {
	if err := e.Install(ctx); err != nil {
		return err
	}
	if err := e.Configure(ctx, configuration); err != nil {
		return err
	}
	const bare = `ulimit -f 0 && cd / && TMPDIR=/nonexistent HOME=/nonexistent exec "$0" "$@"`
	e.Mirror, err = launch(DaemonOptions{
		Program: []string{"sh", "-euc", bare, e.Daemon}, Kubeconfig: e.AccountKubeconfig,
	})
	if err != nil {
		return err
	}
	return e.Wait(ctx, "the shared daemon to lead", Leads(e.Mirror))
}

// RepositoryFile reads a file of the repository.
func RepositoryFile(t *testing.T, elements ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(append([]string{Env.Builder.Repository()}, elements...)...))
	Must(t, err)
	return data
}
