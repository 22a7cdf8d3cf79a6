package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	clusterv1alpha1 "github.com/karmada-io/api/cluster/v1alpha1"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

func TestClusterThatJoinsAndLeaves(t *testing.T) {
	const late = "member4"
	d := startDaemon(t)
	quiesce(t)
	ns := newNamespace(t)
	create(t, configMaps, configMap(ns, "named", push+","+late, "one"))
	create(t, configMaps, configMap(ns, "glob", "member*,!"+push2, "one"))
	wantInMembers(t, ns, "named", "one", push)
	wantInMembers(t, ns, "glob", "one", push, pull)
	wantEvent(t, ns, "named", "UnknownCluster")

	if err := join(t.Context(), late); err != nil {
		t.Fatal(err)
	}
	leaveAfterFailure(t, late)
	members, err := dynamic.NewForConfig(env.MemberConfig(late))
	if err != nil {
		t.Fatal(err)
	}
	env.members[late] = members
	wantInMembers(t, ns, "named", "one", late)
	wantInMembers(t, ns, "glob", "one", late)
	wantGone(t, configMaps, ns, "glob", push2)

	audit := auditFromNow(t)
	if err := unjoin(t.Context(), late); err != nil {
		t.Fatal(err)
	}
	delete(env.members, late)
	eventually(t, "the Works of the cluster to go", func(ctx context.Context) error {
		list, err := env.admin.Resource(works).Namespace(render.ExecutionNamespace(late)).List(ctx, metav1.ListOptions{})
		if err == nil && len(list.Items) > 0 {
			err = fmt.Errorf("there are %d", len(list.Items))
		}
		return err
	})
	change(t, configMaps, ns, "named", setField("two", "data", "key"))
	wantInMembers(t, ns, "named", "two", push)
	eventually(t, "the series of the cluster to go", func(context.Context) error {
		_, body, err := d.get("metrics", "/metrics")
		if err == nil && strings.Contains(body, fmt.Sprintf("member_cluster=%q", late)) {
			err = errors.New("there are some")
		}
		return err
	})
	for what, count := range audit.writes(t) {
		if what != "patch works" {
			t.Errorf("the daemon did %q %d times while a cluster left", what, count)
		}
	}
}

// leaveAfterFailure has a cluster leave that a failed test would leave behind.
func leaveAfterFailure(t *testing.T, name string) {
	t.Cleanup(func() {
		if t.Failed() {
			_ = unjoin(context.Background(), name) // it may have left
		}
	})
}

// testClusterGone has a cluster leave for a minute and join again. What Karmada
// deletes with it is Karmada's doing.
func testClusterGone(t *testing.T) {
	const guest = "guest"
	ns := newNamespace(t)
	startDaemon(t, slice(t, ns)...)
	if err := join(t.Context(), guest); err != nil {
		t.Fatal(err)
	}
	leaveAfterFailure(t, guest)
	ids := createPages(t, ns, push+","+guest, 10)
	wantSources(t, ns)
	f := newFault(t, "A Cluster gone for a minute", ns)
	f.only(ids, push, guest)
	f.note = "its Works go with it by Karmada's hand, and are made again"
	if err := unjoin(t.Context(), guest); err != nil {
		t.Fatal(err)
	}
	pass(t, time.Minute)
	wantSources(t, ns)
	f.wantNoDeletes()
	if err := join(t.Context(), guest); err != nil {
		t.Fatal(err)
	}
	f.heal()
	f.converge(patience)
	if err := unjoin(t.Context(), guest); err != nil {
		t.Fatal(err)
	}
}

// TestExecutionNamespaceTerminating deletes the namespace of a cluster's Works
// under the daemon's hands.
func TestExecutionNamespaceTerminating(t *testing.T) {
	startDaemon(t)
	quiesce(t)
	ns := newNamespace(t)
	createPages(t, ns, both, 5)
	create(t, configMaps, configMap(ns, "other", push2, "one"))
	wantSources(t, ns)
	f := newFault(t, "The execution namespace of a cluster terminating, then made again", ns)
	execution := render.ExecutionNamespace(push2)
	keeper := object("v1", "ConfigMap", execution, "keeper", nil)
	keeper.SetFinalizers([]string{"test.example/keep"})
	create(t, configMaps, keeper)
	t.Cleanup(func() { // the namespace must not terminate for ever
		_, _ = env.admin.Resource(configMaps).Namespace(execution).Patch(context.Background(), "keeper", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	})
	remove(t, namespaces, "", execution)
	eventually(t, "the Works in it to go", func(ctx context.Context) error {
		_, err := getWork(ctx, configMapWork(ns, "other", push2))
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there: %v", err)
	})
	change(t, configMaps, ns, "page-0", setAnnotation(render.ClustersAnnotation, push+","+push2))
	f.allow(render.Identity{Kind: "ConfigMap", Namespace: ns, Name: "page-0"}, pull)
	create(t, configMaps, configMap(ns, "late", both+","+push2, "one"))
	wantInMembers(t, ns, "late", "one", push, pull)
	f.wantNoDeletes()
	change(t, configMaps, execution, "keeper", func(u *unstructured.Unstructured) { u.SetFinalizers(nil) })
	eventually(t, "the namespace to go", func(ctx context.Context) error {
		_, err := env.admin.Resource(namespaces).Get(ctx, execution, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there: %v", err)
	})
	// Karmada makes it again when it next looks at the cluster.
	change(t, clusters, "", push2, setAnnotation("looked", "at"))
	eventually(t, "the namespace to be there", func(ctx context.Context) error {
		_, err := env.admin.Resource(namespaces).Get(ctx, execution, metav1.GetOptions{})
		return err
	})
	f.heal()
	f.converge(2 * patience)
}

// testFleet has 500 objects mirrored to all clusters of a fleet; meanwhile three join and
// one of them leaves.
func testFleet(t *testing.T) {
	const objects = 500
	ns := newNamespace(t)
	startDaemon(t, slice(t, ns)...)
	for _, name := range []string{"fleet-1", "fleet-2", "fleet-3"} {
		leaveAfterFailure(t, name)
	}
	audit := auditFromNow(t)
	var fleet errgroup.Group
	fleet.Go(func() error {
		return errors.Join(join(t.Context(), "fleet-1"), join(t.Context(), "fleet-2"), unjoin(t.Context(), "fleet-1"), join(t.Context(), "fleet-3"))
	})
	for i := range objects {
		create(t, configMaps, configMap(ns, fmt.Sprintf("page-%d", i), "fleet-*", "one"))
		pass(t, 30*time.Millisecond)
	}
	if err := fleet.Wait(); err != nil {
		t.Fatal(err)
	}
	within(t, 3*time.Minute, "the Works", func(ctx context.Context) error { return disagreement(ctx, ns, configMaps) })
	for _, name := range []string{"fleet-2", "fleet-3"} {
		members, err := dynamic.NewForConfig(env.MemberConfig(name))
		if err != nil {
			t.Fatal(err)
		}
		within(t, 3*time.Minute, "the objects in "+name, func(ctx context.Context) error {
			list, err := members.Resource(configMaps).Namespace(ns).List(ctx, metav1.ListOptions{FieldSelector: allPages})
			if err == nil && len(list.Items) != objects {
				err = fmt.Errorf("there are %d", len(list.Items))
			}
			return err
		})
	}
	created := map[string]int{}
	for _, r := range audit.requests(t) {
		cluster, _ := render.ClusterOf(r.ObjectRef.Namespace)
		switch {
		case !strings.HasPrefix(cluster, "fleet-") || r.ObjectRef.Resource != "works" || r.Verb == "get":
		case r.Verb == "create" && r.succeeded():
			created[cluster]++
		case cluster == "fleet-1": // it went while Works were made for it
		case r.Verb == "create" && r.ResponseStatus.Code == http.StatusNotFound: // Karmada makes the namespace after the Cluster
		case r.Verb == "patch" && (r.succeeded() || r.ResponseStatus.Code == http.StatusConflict): // wakes what was written before the cluster was ready
		default:
			t.Errorf("the daemon did %s %s/%s, and got %d", r.Verb, r.ObjectRef.Namespace, r.ObjectRef.Name, r.ResponseStatus.Code)
		}
	}
	if created["fleet-2"] != objects || created["fleet-3"] != objects {
		t.Errorf("so many Works were created: %v", created)
	}
	t.Logf("%d Works were created for the cluster that left", created["fleet-1"])
	sweep(ns)
	for _, name := range []string{"fleet-2", "fleet-3"} {
		if err := unjoin(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
}

// fleetPatience is for one cluster: Karmada takes a minute to join one, and another to
// delete the Works of one that leaves, on a machine that has nothing else to do.
const fleetPatience = 5 * time.Minute

func join(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, fleetPatience)
	defer cancel()
	return env.Join(ctx, karmada.Member{Name: name, Mode: clusterv1alpha1.Push})
}

func unjoin(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, fleetPatience)
	defer cancel()
	return env.Unjoin(ctx, name)
}
