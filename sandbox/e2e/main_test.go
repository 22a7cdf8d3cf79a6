package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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

// push and pull are the members that most tests mirror to.
const (
	push    = "member1"
	push2   = "member2"
	pull    = "member3"
	system  = "karmada-system"
	account = "karmada-mirror"
)

// env is the Karmada that all tests share; few tests put one of their own in its
// place.
var env = &environment{rows: &rows{}}

type environment struct {
	*karmada.Karmada
	daemon     string // path of this test binary, which is the daemon as well
	kubeconfig string // of the daemon's ServiceAccount
	builder    *build.Builder
	admin      dynamic.Interface
	client     kubernetes.Interface
	members    map[string]dynamic.Interface
	rows       *rows // of docs/reliability.md
}

func TestMain(m *testing.M) {
	if os.Getenv(daemonVariable) != "" {
		os.Exit(runDaemon())
	}
	code, err := runTests(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func runTests(m *testing.M) (code int, err error) {
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "karmada-mirror-e2e-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := env.start(ctx, dir, push, push2, pull); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, env.Stop()) }()
	if err := env.install(ctx); err != nil {
		return 0, err
	}
	code = m.Run()
	if page := os.Getenv(pageVariable); page != "" && code == 0 {
		return code, env.rows.write(page)
	}
	return code, nil
}

// start starts a Karmada with these members; the one that is named pull is in pull
// mode.
func (e *environment) start(ctx context.Context, dir string, names ...string) (err error) {
	if e.builder, err = build.New(ctx, os.Stderr); err != nil {
		return err
	}
	hyperkarmada, err := e.builder.Hyperkarmada(ctx)
	if err != nil {
		return err
	}
	if e.daemon, err = os.Executable(); err != nil {
		return err
	}
	var members []karmada.Member
	for _, name := range names {
		mode := clusterv1alpha1.Push
		if name == pull {
			mode = clusterv1alpha1.Pull
		}
		members = append(members, karmada.Member{Name: name, Mode: mode})
	}
	e.members = map[string]dynamic.Interface{}
	for _, name := range names {
		e.members[name] = nil // until it is there
	}
	e.Karmada, err = karmada.Start(ctx, karmada.Options{
		Dir:      dir,
		Programs: karmada.Programs{Hyperkarmada: hyperkarmada, Karmada: e.builder.KarmadaSources()},
		Progress: os.Stderr,
		// For policies, which take sources over from us and give them back.
		Scheduler: true,
		Members:   members,
		// By default the executor makes 40 calls a second to each server, which would
		// take up most of the time. A member that is taken for lost because the machine
		// is busy would make it wait for minutes.
		Flags: map[string][]string{
			karmada.ControllerManager: {
				"--kube-api-qps=400", "--kube-api-burst=800", "--cluster-api-qps=400", "--cluster-api-burst=800",
				"--cluster-failure-threshold=60s", "--cluster-monitor-grace-period=90s",
			},
			karmada.Agent(pull): {"--cluster-failure-threshold=60s", "--cluster-lease-duration=60s"},
		},
	})
	return err
}

// install applies the manifests that users apply.
func (e *environment) install(ctx context.Context) (err error) {
	if err := karmada.ApplyKustomization(ctx, e.Config(), filepath.Join(e.builder.Repository(), "manifests", "karmada")); err != nil {
		return err
	}
	if e.kubeconfig, err = e.ServiceAccountKubeconfig(ctx, system, account); err != nil {
		return err
	}
	if err := e.connect(); err != nil {
		return err
	}
	return e.loosen(ctx)
}

// connect makes the administrators' clients.
func (e *environment) connect() (err error) {
	if e.admin, err = dynamic.NewForConfig(e.Config()); err != nil {
		return err
	}
	if e.client, err = kubernetes.NewForConfig(e.Config()); err != nil {
		return err
	}
	for name := range e.members {
		if e.members[name], err = dynamic.NewForConfig(e.MemberConfig(name)); err != nil {
			return err
		}
	}
	return nil
}

// loosen turns the deletion breaker off, which would remember between tests what
// they throw away, and unbinds the admission policy, which would refuse the mistakes
// that they make. The tests that are about them turn them on.
func (e *environment) loosen(ctx context.Context) error {
	if err := e.client.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Delete(ctx, account, metav1.DeleteOptions{}); err != nil {
		return err
	}
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		configMap, err := e.client.CoreV1().ConfigMaps(system).Get(ctx, account, metav1.GetOptions{})
		if err != nil {
			return err
		}
		text := configMap.Data[config.Key]
		configMap.Data[config.Key] = strings.Replace(text, "works: 50", "works: 0", 1)
		if configMap.Data[config.Key] == text {
			return errors.New("cannot find the breaker's threshold in the default configuration")
		}
		_, err = e.client.CoreV1().ConfigMaps(system).Update(ctx, configMap, metav1.UpdateOptions{})
		return err
	})
}
