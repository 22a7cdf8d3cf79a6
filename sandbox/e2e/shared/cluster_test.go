package shared

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	clusterv1alpha1 "github.com/karmada-io/api/cluster/v1alpha1"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// leaver and returner are members besides those that most tests mirror to: leaver leaves
// and joins again, returner goes away and comes back.
const leaver, returner = "leaver", "returner"

// goesAway is held by the test that has returner away.
var goesAway sync.Mutex

func TestClusterThatJoinsAndLeaves(t *testing.T) {
	const late = "latecomer"
	ns := Isolate(t)
	d := StartDaemon(t)
	Create(t, ConfigMaps, ConfigMap(ns, "named", Push+","+late, "one"))
	Create(t, ConfigMaps, ConfigMap(ns, "glob", "member*,late*,!"+Push2, "one"))
	WantInMembers(t, ns, "named", "one", Push)
	WantInMembers(t, ns, "glob", "one", Push, Pull)
	WantEvent(t, ns, "named", "UnknownCluster")

	Must(t, join(t.Context(), late))
	hasten(t, late, ns)
	WantInMembers(t, ns, "named", "one", late)
	WantInMembers(t, ns, "glob", "one", late)
	WantGone(t, ConfigMaps, ns, "glob", Push2)

	audit := AuditFromNow(t)
	Must(t, unjoin(t.Context(), late))
	Eventually(t, "the Works of the cluster to be deleted", func(ctx context.Context) error {
		list, err := Env.Admin.Resource(Works).Namespace(render.ExecutionNamespace(late)).List(ctx, metav1.ListOptions{})
		if err == nil && len(list.Items) > 0 {
			err = fmt.Errorf("there are %d", len(list.Items))
		}
		return err
	})
	Change(t, ConfigMaps, ns, "named", SetField("two", "data", "key"))
	WantInMembers(t, ns, "named", "two", Push)
	Eventually(t, "the series of the cluster to be removed", func(context.Context) error {
		_, body, err := d.Get(t.Context(), "metrics", "/metrics")
		if err == nil && strings.Contains(body, fmt.Sprintf("member_cluster=%q", late)) {
			err = errors.New("there are some")
		}
		return err
	})
	for what, count := range audit.Writes(t) {
		if what != "patch works" {
			t.Errorf("the daemon did %q %d times while a cluster left", what, count)
		}
	}
}

// TestClusterGone makes a cluster leave for a while and join again. Karmada, not the
// daemon, deletes the cluster's Works.
func TestClusterGone(t *testing.T) {
	const gone = 10 * time.Second
	ns := Isolate(t)
	StartDaemon(t)
	CreatePages(t, ns, Push+","+leaver, 10)
	WantSources(t, ns)
	f := NewFault(t, fmt.Sprintf("A Cluster deleted for %s", gone), ns)
	f.Note = "Karmada deletes its Works with it, and they are recreated"
	Must(t, unjoin(t.Context(), leaver))
	Pass(t, gone)
	WantSources(t, ns)
	f.WantNoDeletes()
	Must(t, join(t.Context(), leaver))
	f.Heal()
	hasten(t, leaver, ns)
	f.Converge(Patience)
}

// TestFleet mirrors many objects to all clusters of a fleet, while three join and one of
// them leaves.
func TestFleet(t *testing.T) {
	const objects = fleetObjects
	ns := Isolate(t)
	StartDaemon(t)
	audit := AuditFromNow(t)
	var fleet errgroup.Group
	fleet.Go(func() error { return errors.Join(join(t.Context(), "fleet-1"), unjoin(t.Context(), "fleet-1")) })
	fleet.Go(func() error { return errors.Join(join(t.Context(), "fleet-2"), join(t.Context(), "fleet-3")) })
	for i := range objects {
		Create(t, ConfigMaps, ConfigMap(ns, fmt.Sprintf("page-%d", i), "fleet-*", "one"))
		Pass(t, 30*time.Millisecond)
	}
	if err := fleet.Wait(); err != nil {
		t.Fatal(err)
	}
	Within(t, 3*time.Minute, "the Works", func(ctx context.Context) error { return Disagreement(ctx, ns, ConfigMaps) })
	for _, name := range []string{"fleet-2", "fleet-3"} {
		hasten(t, name, ns)
		Within(t, 3*time.Minute, "the objects in "+name, func(ctx context.Context) error {
			list, err := Env.Member(name).Resource(ConfigMaps).Namespace(ns).List(ctx, metav1.ListOptions{FieldSelector: AllPages})
			if err == nil && len(list.Items) != objects {
				err = fmt.Errorf("there are %d", len(list.Items))
			}
			return err
		})
	}
	created := map[string]int{}
	for _, r := range audit.Requests(t) {
		cluster, _ := render.ClusterOf(r.ObjectRef.Namespace)
		switch {
		case !strings.HasPrefix(cluster, "fleet-") || r.ObjectRef.Resource != "works" || r.Verb == "get":
		case r.Verb == "create" && r.Succeeded():
			created[cluster]++
		case cluster == "fleet-1" && r.Verb != "delete": // it left while Works were being created for it
		case r.Verb == "create" && r.ResponseStatus.Code == http.StatusNotFound: // Karmada creates the namespace after the Cluster
		case r.Verb == "patch" && (r.Succeeded() || r.ResponseStatus.Code == http.StatusConflict): // wakes Works that were written before the cluster was ready
		default:
			t.Errorf("the daemon did %s %s/%s, and got %d", r.Verb, r.ObjectRef.Namespace, r.ObjectRef.Name, r.ResponseStatus.Code)
		}
	}
	if created["fleet-2"] != objects || created["fleet-3"] != objects {
		t.Errorf("created Works: %v", created)
	}
	t.Logf("%d Works were created for the cluster that left", created["fleet-1"])
}

// hasten waits until Karmada has brought a Namespace to a cluster that has just joined,
// and changes the Namespace now and then. While any cluster is leaving, syncing a
// Namespace to all of them fails: Karmada retries each after up to 1000 s, and all
// together at most ten times a second. A changed Namespace is retried at once.
func hasten(t *testing.T, member, namespace string) {
	t.Helper()
	const interval = 10 * time.Second
	changed := time.Now()
	Eventually(t, "Namespace "+namespace+" in "+member, func(ctx context.Context) error {
		_, err := Env.Member(member).Resource(Namespaces).Get(ctx, namespace, metav1.GetOptions{})
		if err != nil && time.Since(changed) > interval {
			changed = time.Now()
			Change(t, Namespaces, "", namespace, SetAnnotation("e2e/hastened", changed.String()))
		}
		return err
	})
}

// fleetPatience is for one cluster: on an idle machine, Karmada takes a minute to join it,
// and another to delete its Works when it leaves.
const fleetPatience = 5 * time.Minute

func join(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, fleetPatience)
	defer cancel()
	return Env.Join(ctx, karmada.Member{Name: name, Mode: clusterv1alpha1.Push})
}

func unjoin(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, fleetPatience)
	defer cancel()
	return Env.Unjoin(ctx, name)
}
