package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
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

// System and Account are where and as whom karmada-mirror is installed.
const (
	System  = "karmada-system"
	Account = "karmada-mirror"
)

// Env is the Karmada of a package's tests. Tests that start one of their own put it in its
// place.
var Env *Environment

// Environment is a Karmada with karmada-mirror's manifests.
type Environment struct {
	*karmada.Karmada
	Builder *build.Builder
	// Daemon is the path of karmada-mirror with the race detector.
	Daemon string
	// AccountKubeconfig is that of the daemon's ServiceAccount.
	AccountKubeconfig string
	// Admin and Client are an administrator's.
	Admin  dynamic.Interface
	Client kubernetes.Interface

	rows *rows
	// works is what a watch tells of all Works of karmada-mirror.
	works *workCache

	mu sync.Mutex
	// scopes and faults are those of tests, by the test's name.
	scopes map[string]*scope
	faults map[string][]*FaultRow
}

// Main is main of a package of tests. With members, there is a Karmada with them for all
// tests; without, each starts one.
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

// compile makes the programs of an environment.
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

// StartOwn puts a Karmada of a test's own in the place of [Env], for the length of the test.
// Nothing is installed on it.
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

// Named are members in push mode, and in pull mode the one that is called so.
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

// flags make Karmada fit for tests. By default the executor makes 40 calls a second to each
// server, which would take up most of the time. A member that is taken for lost because
// the machine is busy would make it wait for minutes.
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
	o.Progress = os.Stderr
	// A seventh of an API server's CPU would go into marking garbage.
	o.Environment = []string{"GOGC=400"}
	o.Scheduler = true // for policies, which take sources over from us and give them back
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

// connect makes the administrators' clients.
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

// Member is an administrator's client of a member.
func (e *Environment) Member(name string) dynamic.Interface {
	// It can only fail for a config that is wrong in itself, which a sandbox does not make.
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
	return e.loosen(ctx)
}

// AdmissionPolicies are those of the manifests.
var AdmissionPolicies = []string{Account, Account + "-spelling"}

// loosen turns the deletion breaker off, which would remember between tests what
// they throw away, and unbinds the admission policies, which would refuse the mistakes
// that they make. The tests that are about them turn them on.
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

// WatchAnew begins the tests' own watch anew, for one that has seen what the API server has
// forgotten shows what is not there.
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
