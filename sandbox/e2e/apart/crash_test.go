package apart

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/render"
	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
	"github.com/karmada-target/karmada-mirror/simulation/fault"
)

// TestCrash kills the daemon just before and just after its writes, in the life of some
// objects: Works, a finalizer, a rollout in waves and its status. The outcome is that of an
// undisturbed daemon, and nothing is written twice.
func TestCrash(t *testing.T) {
	install(t, "- {resource: configmaps}\n- {group: apps, resource: deployments, aggregateStatus: true}\n")
	p, ns := StartProxy(t), NewNamespace(t)
	daemon := &supervised{options: DaemonOptions{
		Program: []string{Env.Program}, Kubeconfig: p.Kubeconfig, Flags: []string{"--leader-elect=false", "--deletion-settle-period", "100ms"},
	}}
	c := &crasher{daemon: daemon}
	kills := p.Faults.Inject(fault.Match{}, c.carry)
	audit := AuditFromNow(t)

	Create(t, ConfigMaps, ConfigMap(ns, "page-0", Both, "one"))
	Create(t, ConfigMaps, ConfigMap(ns, "page-1", Both, "one"))
	held := ConfigMap(ns, "page-held", Push, "one")
	SetAnnotation(render.DeletionAnnotation, "foreground")(held)
	Create(t, ConfigMaps, held)
	web := Asking(Deployment(ns, "web", "nginx:1", 1), Both)
	SetAnnotation(render.WavesAnnotation, Push+";*")(web)
	Create(t, Deployments, web)
	c.settle(t, ns, "nginx:1", map[string]string{"page-0": "one", "page-1": "one", "page-held": "one"}, map[string]string{"page-0": "one", "page-1": "one"})

	Change(t, ConfigMaps, ns, "page-0", SetField("two", "data", "key"))
	Change(t, ConfigMaps, ns, "page-1", SetAnnotation(render.ClustersAnnotation, Pull))
	Remove(t, ConfigMaps, ns, "page-held")
	Kubectl(t, "-n", ns, "set", "image", "deployment/web", "web=nginx:2")
	c.settle(t, ns, "nginx:2", map[string]string{"page-0": "two"}, map[string]string{"page-0": "two", "page-1": "one"})
	daemon.eventually(t, "the finalizer to go", func(ctx context.Context) error {
		_, err := Env.Client.CoreV1().ConfigMaps(ns).Get(ctx, "page-held", metav1.GetOptions{})
		return Absent(err)
	})

	Remove(t, ConfigMaps, ns, "page-0")
	Change(t, ConfigMaps, ns, "page-1", DropAnnotations)
	Remove(t, Deployments, ns, "web")
	c.settle(t, ns, "", map[string]string{}, map[string]string{})
	kills.Remove()
	if daemon.starts < 6 {
		t.Errorf("the daemon was started only %d times", daemon.starts)
	}
	t.Logf("the daemon was started %d times", daemon.starts)

	push, pull := " "+render.ExecutionNamespace(Push), " "+render.ExecutionNamespace(Pull)
	for name, most := range map[string]map[string]int{
		ConfigMapWork(ns, "page-0", Push).Name:    {"create" + push: 1, "create" + pull: 1, "patch" + push: 1, "patch" + pull: 1, "delete" + push: 1, "delete" + pull: 1},
		ConfigMapWork(ns, "page-1", Push).Name:    {"create" + push: 1, "create" + pull: 1, "delete" + push: 1, "delete" + pull: 1},
		ConfigMapWork(ns, "page-held", Push).Name: {"create" + push: 1, "delete" + push: 1},
		deploymentWork(ns): {"create" + push: 1, "create" + pull: 1, "patch" + push: 2, // another daemon may have to wake the canary
			"patch" + pull: 1, "delete" + push: 1, "delete" + pull: 1},
	} {
		writes := audit.WorkWrites(t, name)
		for _, write := range writes {
			if most[write]--; most[write] < 0 {
				t.Errorf("Work %s: too many of %q in %q", name, write, writes)
			}
		}
		if i, j := slices.Index(writes, "patch"+push), slices.Index(writes, "patch"+pull); name == deploymentWork(ns) && i > j {
			t.Errorf("the second wave comes first: %q", writes)
		}
	}
}

// crasher kills a daemon at one in crashEvery of its writes, just before and just after in turn.
type crasher struct {
	daemon *supervised

	mu      sync.Mutex
	writes  int
	isAfter bool // the next time
	dead    *Daemon
}

var errDead = errors.New("the daemon is dead")

// carry carries out a request, unless it kills the daemon first.
func (c *crasher) carry(r *http.Request, next http.RoundTripper, _ <-chan struct{}) (*http.Response, error) {
	counts := r.Method != http.MethodGet && !strings.HasSuffix(r.URL.Path, "/events")
	if counts && !c.spares(false) {
		return nil, errDead
	}
	answer, err := next.RoundTrip(r)
	if err == nil && counts && !c.spares(true) {
		_ = answer.Body.Close()
		return nil, errDead
	}
	return answer, err
}

// spares reports whether the daemon lives on, when a write is about to be carried out or, if
// isDone, has been.
func (c *crasher) spares(isDone bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead == c.daemon.Daemon {
		return isDone // what the dead daemon has sent is not carried out
	}
	if isDone != c.isAfter {
		return true
	}
	if c.writes++; c.writes%crashEvery != 0 {
		return true
	}
	c.isAfter, c.dead = !c.isAfter, c.daemon.Daemon
	_ = c.dead.KillNow()
	return false
}

// settle waits until the members have these pages, and an image of the Deployment or no
// Deployment.
func (c *crasher) settle(t *testing.T, ns, image string, onPush, onPull map[string]string) {
	t.Helper()
	for member, want := range map[string]map[string]string{Push: onPush, Pull: onPull} {
		c.daemon.eventually(t, "the objects in "+member, func(ctx context.Context) error {
			got, err := values(ctx, member, ns)
			if err != nil {
				return err
			}
			if !maps.Equal(got, want) {
				return fmt.Errorf("there are %v, not %v", got, want)
			}
			u, err := Env.Member(member).Resource(Deployments).Namespace(ns).Get(ctx, "web", metav1.GetOptions{})
			if image == "" {
				return Absent(err)
			}
			if err != nil {
				return err
			}
			return hasRolled(u, image)
		})
	}
	if image != "" {
		c.daemon.eventually(t, "the status of the source", func(ctx context.Context) error {
			u, err := Env.Admin.Resource(Deployments).Namespace(ns).Get(ctx, "web", metav1.GetOptions{})
			if err != nil {
				return err
			}
			if n, _, _ := unstructured.NestedInt64(u.Object, "status", "updatedReplicas"); n != 2 {
				return fmt.Errorf("%d replicas are updated", n)
			}
			return nil
		})
	}
}

// hasRolled returns an error unless a Deployment of one replica has rolled out an image.
func hasRolled(u *unstructured.Unstructured, image string) error {
	available, _, _ := unstructured.NestedInt64(u.Object, "status", "availableReplicas")
	if text := fmt.Sprint(u.Object["spec"]); available != 1 || !strings.Contains(text, "image:"+image+" ") {
		return fmt.Errorf("%d replicas are available of %s", available, text)
	}
	return nil
}

func deploymentWork(ns string) string {
	return render.Identity{Group: "apps", Kind: "Deployment", Namespace: ns, Name: "web"}.WorkName()
}
