package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	clusterv1alpha1 "github.com/karmada-io/api/cluster/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/sandbox/build"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

// Push and Pull are the members that most tests mirror to.
const (
	Push  = "member1"
	Push2 = "member2"
	Pull  = "member3"
	Both  = Push + "," + Pull
)

// System and Account are the namespace and the ServiceAccount of karmada-mirror's
// installation.
const (
	System  = "karmada-system"
	Account = "karmada-mirror"
)

// Env is the Karmada of a package's tests. Tests that start their own replace it.
var Env *Environment

// Environment is a Karmada with karmada-mirror's manifests.
type Environment struct {
	*karmada.Karmada
	Builder *build.Builder
	// Daemon is the path of karmada-mirror with the race detector.
	Daemon string
	// AccountKubeconfig is the kubeconfig of the daemon's ServiceAccount.
	AccountKubeconfig string
	// Admin and Client have an administrator's permissions.
	Admin  dynamic.Interface
	Client kubernetes.Interface

	rows *rows
	// works caches all Works of karmada-mirror from a watch.
	works *workCache

	mu sync.Mutex
	// scopes and faults are by test name.
	scopes map[string]*scope
	faults map[string][]*FaultRow
}

// Main is the main function of a package of tests. With members, all tests share a Karmada
// with them; without, each test starts one.
func Main(m *testing.M, members ...string) {
	flag.Parse()
	code, err := runTests(m, members)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func runTests(m *testing.M, members []string) (code int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "karmada-mirror-e2e-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if Env, err = compile(ctx); err != nil {
		return 0, err
	}
	if len(members) > 0 {
		if err := Env.Start(ctx, karmada.Options{Dir: dir, Members: Named(members...)}); err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, Env.Stop()) }()
		if err := Env.Install(ctx); err != nil {
			return 0, err
		}
	}
	if code = m.Run(); code == 0 {
		return code, Env.rows.save()
	}
	return code, nil
}

// compile builds the programs of an environment.
func compile(ctx context.Context) (e *Environment, err error) {
	e = &Environment{rows: &rows{}}
	if e.Builder, err = build.New(ctx, os.Stderr); err != nil {
		return nil, err
	}
	if _, err := e.Builder.Hyperkarmada(ctx); err != nil {
		return nil, err
	}
	e.Daemon, err = e.Builder.CheckedDaemon(ctx)
	return e, err
}

// StartOwn replaces [Env] with a Karmada of the test's own until the test ends. Nothing is
// installed on it.
func StartOwn(t *testing.T, o karmada.Options) {
	t.Helper()
	before := Env
	t.Cleanup(func() { Env = before })
	Env = &Environment{Builder: before.Builder, Daemon: before.Daemon, rows: before.rows}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	Must(t, Env.Start(ctx, o))
	t.Cleanup(func() {
		if err := Env.Stop(); err != nil {
			t.Error(err)
		}
	})
}

// Named returns members in push mode, except [Pull], which is in pull mode.
func Named(names ...string) []karmada.Member {
	var members []karmada.Member
	for _, name := range names {
		mode := clusterv1alpha1.Push
		if name == Pull {
			mode = clusterv1alpha1.Pull
		}
		members = append(members, karmada.Member{Name: name, Mode: mode})
	}
	return members
}

// WithNodes gives members a node each, on which Pods become ready.
func WithNodes(members []karmada.Member) []karmada.Member {
	for i := range members {
		members[i].Nodes = 1
	}
	return members
}

// flags make Karmada fit for tests. By default the executor makes 40 calls a second to
// each server, which would take most of the time. And if a member were considered lost
// because the machine is busy, the test would wait for minutes.
var flags = map[string][]string{
	karmada.ControllerManager: {
		"--kube-api-qps=400", "--kube-api-burst=800", "--cluster-api-qps=400", "--cluster-api-burst=800",
		"--cluster-failure-threshold=15s", "--cluster-monitor-grace-period=60s",
	},
	karmada.Agent(Pull): {"--cluster-failure-threshold=15s", "--cluster-lease-duration=40s"},
}

// Start starts the Karmada, with the programs and flags of tests.
func (e *Environment) Start(ctx context.Context, o karmada.Options) (err error) {
	hyperkarmada, err := e.Builder.Hyperkarmada(ctx)
	if err != nil {
		return err
	}
	o.Programs = karmada.Programs{Hyperkarmada: hyperkarmada, Karmada: e.Builder.KarmadaSources()}
	if slices.ContainsFunc(o.Members, func(m karmada.Member) bool { return m.Nodes > 0 }) {
		if o.Programs.Kwok, o.Programs.Stages, err = e.Builder.Kwok(ctx); err != nil {
			return err
		}
	}
	o.Progress = os.Stderr
	// Otherwise a seventh of an API server's CPU time would go into garbage collection.
	o.Environment = []string{"GOGC=400"}
	o.Scheduler = true // for policies, which take over our sources and release them again
	if o.Flags == nil {
		o.Flags = flags
	}
	e.Karmada, err = karmada.Start(ctx, o)
	if err != nil {
		return err
	}
	if err := e.connect(); err != nil {
		return errors.Join(err, e.Karmada.Stop())
	}
	return nil
}

// connect makes the administrator's clients.
func (e *Environment) connect() (err error) {
	e.scopes, e.faults = map[string]*scope{}, map[string][]*FaultRow{}
	if e.Admin, err = dynamic.NewForConfig(e.Config()); err != nil {
		return err
	}
	if e.Client, err = kubernetes.NewForConfig(e.Config()); err != nil {
		return err
	}
	e.works = watchWorks(e.Admin)
	return nil
}

// Member returns an administrator's client of a member.
func (e *Environment) Member(name string) dynamic.Interface {
	// It only fails for an invalid config, which a sandbox does not make.
	return dynamic.NewForConfigOrDie(e.MemberConfig(name))
}

// Stop ends the Karmada.
func (e *Environment) Stop() error {
	e.works.stop()
	return e.Karmada.Stop()
}

// Install applies the manifests that users apply.
func (e *Environment) Install(ctx context.Context) (err error) {
	if err := karmada.ApplyKustomization(ctx, e.Config(), filepath.Join(e.Builder.Repository(), "manifests", "karmada")); err != nil {
		return err
	}
	if e.AccountKubeconfig, err = e.ServiceAccountKubeconfig(ctx, System, Account); err != nil {
		return err
	}
	if err := e.grant(ctx, "foreground-deletion"); err != nil {
		return err
	}
	return e.loosen(ctx)
}

// grant gives the daemon the rights of a component of the manifests.
func (e *Environment) grant(ctx context.Context, component string) error {
	role, err := os.ReadFile(e.ClusterRole(component))
	if err != nil {
		return err
	}
	return karmada.Apply(ctx, e.Config(), role)
}

// ClusterRole is the file of the ClusterRole of a component of the manifests.
func (e *Environment) ClusterRole(component string) string {
	return filepath.Join(e.Builder.Repository(), "manifests", "components", component, "clusterrole.yaml")
}

// GrantStatus allows the daemon to write the statuses of sources.
func GrantStatus(t *testing.T) {
	t.Helper()
	Must(t, Env.grant(t.Context(), "aggregate-status"))
}

// AdmissionPolicies are the policies in the manifests.
var AdmissionPolicies = []string{Account, Account + "-spelling"}

// loosen turns the deletion breaker off, which would count the deletions of earlier tests,
// and unbinds the admission policies, which would refuse the tests' deliberate mistakes.
// Tests of the breaker and the policies turn them on.
func (e *Environment) loosen(ctx context.Context) error {
	for _, name := range AdmissionPolicies {
		if err := e.Client.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		configMap, err := e.Client.CoreV1().ConfigMaps(System).Get(ctx, Account, metav1.GetOptions{})
		if err != nil {
			return err
		}
		text := configMap.Data[config.Key]
		configMap.Data[config.Key] = strings.Replace(text, "works: 50", "works: 0", 1)
		if configMap.Data[config.Key] == text {
			return errors.New("cannot find the breaker's threshold in the default configuration")
		}
		_, err = e.Client.CoreV1().ConfigMaps(System).Update(ctx, configMap, metav1.UpdateOptions{})
		return err
	})
}

// WatchAnew restarts the tests' own watch after a restore: a watch that has seen objects
// that the API server has since forgotten would keep showing them.
func (e *Environment) WatchAnew() {
	e.works.stop()
	e.works = watchWorks(e.Admin)
}

// RepositoryFile reads a file of the repository.
func RepositoryFile(t *testing.T, elements ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(append([]string{Env.Builder.Repository()}, elements...)...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}
