package bench

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	clusterv1alpha1 "github.com/karmada-io/api/cluster/v1alpha1"
	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/sandbox/build"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

const (
	// namespace holds the sources.
	namespace = "bench"
	// inParallel is how many requests the set-up has in flight.
	inParallel = 16
	// defaultRepetitions lets the whole benchmark finish in 25 minutes on 2 cores.
	defaultRepetitions = 3
)

var (
	worksResource    = schema.GroupVersionResource{Group: "work.karmada.io", Version: "v1alpha1", Resource: "works"}
	clustersResource = schema.GroupVersionResource{Group: "cluster.karmada.io", Version: "v1alpha1", Resource: "clusters"}
	namespaces       = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
)

// world is a Karmada without members. Its Clusters are objects without a cluster behind
// them, because the measurements end with the Work; only rollouts need members.
type world struct {
	*karmada.Karmada
	admin      dynamic.Interface
	metadata   metadata.Interface
	etcd       *clientv3.Client
	daemon     string // path of the program
	earlier    string // path of the program of [Options.Against]
	kubeconfig string // of the daemon's ServiceAccount
	out        io.Writer
	// quick means a short run with rough figures.
	quick       bool
	repetitions int
	profiles    string
	versions    string // of Karmada and Kubernetes
	repository  string // folder
	disk        string // file system of etcd's data
	profiled    int    // daemons so far
	// environment is that of daemons, besides this process's own.
	environment []string
	// present identifies the existing sources, if nothing has changed them, and made their
	// Works.
	present batch
	made    allWorks
}

// newWorld starts a Karmada of which only the components that serve requests run. With nodes,
// members that join may have some.
func newWorld(ctx context.Context, builder *build.Builder, dir string, o Options, nodes bool) (w *world, err error) {
	w = &world{
		out: o.Out, quick: o.Quick, repetitions: cmp.Or(o.Repetitions, defaultRepetitions), profiles: o.Profiles,
		versions: builder.Versions(), repository: builder.Repository(),
	}
	if w.disk, err = describeDisk(dir); err != nil {
		return nil, err
	}
	programs := karmada.Programs{Karmada: builder.KarmadaSources()}
	if programs.Hyperkarmada, err = builder.Hyperkarmada(ctx); err != nil {
		return nil, err
	}
	if nodes {
		if programs.Kwok, programs.Stages, err = builder.Kwok(ctx); err != nil {
			return nil, err
		}
	}
	if w.daemon, err = builder.Daemon(ctx); err != nil {
		return nil, err
	}
	if o.Against != "" {
		if w.earlier, err = builder.DaemonAt(ctx, o.Against); err != nil {
			return nil, err
		}
	}
	if w.profiles != "" {
		if err := os.MkdirAll(w.profiles, 0o755); err != nil {
			return nil, err
		}
	}
	w.Karmada, err = karmada.Start(ctx, karmada.Options{
		Dir:       dir,
		Programs:  programs,
		Scheduler: true,
		Progress:  o.Out,
	})
	if err != nil {
		return nil, err
	}
	return w, w.prepare(ctx, builder)
}

func (w *world) prepare(ctx context.Context, builder *build.Builder) (err error) {
	for _, name := range []string{karmada.ControllerManager, karmada.Scheduler} {
		if err := w.Component(name).Stop(); err != nil {
			return err
		}
	}
	if w.admin, err = dynamic.NewForConfig(w.Config()); err != nil {
		return err
	}
	if w.metadata, err = metadata.NewForConfig(w.Config()); err != nil {
		return err
	}
	if w.etcd, err = clientv3.New(clientv3.Config{Endpoints: []string{w.EtcdURL()}, DialTimeout: 5 * time.Second}); err != nil {
		return fmt.Errorf("cannot reach etcd: %w", err)
	}
	if err := karmada.ApplyKustomization(ctx, w.Config(), filepath.Join(builder.Repository(), "manifests", "karmada")); err != nil {
		return err
	}
	if w.kubeconfig, err = w.ServiceAccountKubeconfig(ctx, "karmada-system", "karmada-mirror"); err != nil {
		return err
	}
	if err := w.defineWidgets(ctx); err != nil {
		return err
	}
	return w.ensureNamespace(ctx, namespace)
}

// say prints what has just been measured.
func (w *world) say(format string, arguments ...any) {
	fmt.Fprintf(w.out, "  "+format+"\n", arguments...)
}

func pick[T any](first bool, a, b T) T {
	if first {
		return a
	}
	return b
}

// removeWebhooks makes the API server stop calling Karmada's webhooks.
func (w *world) removeWebhooks(ctx context.Context) error {
	for _, resource := range []string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations"} {
		gvr := schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: resource}
		if err := w.admin.Resource(gvr).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) close() error {
	if w.etcd != nil {
		_ = w.etcd.Close() // its server ends next
	}
	return w.Stop()
}

func (w *world) ensureNamespace(ctx context.Context, name string) error {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion("v1")
	u.SetKind("Namespace")
	u.SetName(name)
	return ignoreExists(w.admin.Resource(namespaces).Create(ctx, u, metav1.CreateOptions{}))
}

func ignoreExists(_ *unstructured.Unstructured, err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func clusterName(i int) string { return fmt.Sprintf("bench-%03d", i) }

// joinClusters replaces all clusters by n new ones, with the namespaces of their Works. By
// their status they serve the mirrored kinds, which Karmada's scheduler requires.
func (w *world) joinClusters(ctx context.Context, n int) error {
	w.made = allWorks{}
	if err := w.wipe(ctx, "cluster.karmada.io/clusters/"); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(inParallel)
	for i := range n {
		group.Go(func() error { return w.joinCluster(ctx, clusterName(i)) })
	}
	return group.Wait()
}

func (w *world) joinCluster(ctx context.Context, name string) error {
	if err := w.ensureNamespace(ctx, render.ExecutionNamespace(name)); err != nil {
		return err
	}
	cluster := &clusterv1alpha1.Cluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: clustersResource.GroupVersion().String(), Kind: "Cluster"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       clusterv1alpha1.ClusterSpec{SyncMode: clusterv1alpha1.Push, APIEndpoint: "https://127.0.0.1:1"},
	}
	created, err := w.putCluster(ctx, cluster, w.admin.Resource(clustersResource).Create)
	if err != nil {
		return err
	}
	cluster.ResourceVersion = created.GetResourceVersion()
	cluster.Status = clusterv1alpha1.ClusterStatus{
		Conditions: []metav1.Condition{{
			Type: clusterv1alpha1.ClusterConditionReady, Status: metav1.ConditionTrue, Reason: "Bench", LastTransitionTime: metav1.Now(),
		}},
		APIEnablements: []clusterv1alpha1.APIEnablement{
			{GroupVersion: "v1", Resources: []clusterv1alpha1.APIResource{{Name: "configmaps", Kind: "ConfigMap"}}},
			{GroupVersion: "apps/v1", Resources: []clusterv1alpha1.APIResource{{Name: "deployments", Kind: "Deployment"}}},
			{GroupVersion: widgets.GroupVersion().String(), Resources: []clusterv1alpha1.APIResource{{Name: widgets.Resource, Kind: widgetKind}}},
		},
	}
	_, err = w.putCluster(ctx, cluster, func(ctx context.Context, u *unstructured.Unstructured, _ metav1.CreateOptions, _ ...string) (*unstructured.Unstructured, error) {
		return w.admin.Resource(clustersResource).UpdateStatus(ctx, u, metav1.UpdateOptions{})
	})
	return err
}

func (w *world) putCluster(ctx context.Context, cluster *clusterv1alpha1.Cluster,
	put func(context.Context, *unstructured.Unstructured, metav1.CreateOptions, ...string) (*unstructured.Unstructured, error),
) (*unstructured.Unstructured, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(cluster)
	if err != nil {
		return nil, err
	}
	return put(ctx, &unstructured.Unstructured{Object: fields}, metav1.CreateOptions{})
}

// wipe deletes objects in etcd itself, by the prefix of their keys, because no controller
// would remove their finalizers.
func (w *world) wipe(ctx context.Context, prefixes ...string) error {
	for _, prefix := range prefixes {
		if _, err := w.etcd.Delete(ctx, etcdRoot+prefix, clientv3.WithPrefix()); err != nil {
			return fmt.Errorf("cannot wipe %q: %w", prefix, err)
		}
	}
	return nil
}

// reset removes every trace of an earlier run: sources, Works, policies, bindings, and the
// history in etcd.
func (w *world) reset(ctx context.Context) error {
	w.present = batch{}
	return w.forget(ctx, "work.karmada.io/", "policy.karmada.io/", "events/",
		"configmaps/"+namespace+"/", "deployments/"+namespace+"/", widgets.Group+"/")
}

// provide makes sure that a batch of sources exists, with what belongs to the workload, and
// nothing else.
func (w *world) provide(ctx context.Context, b batch, load workload) error {
	if w.present == b {
		if err := w.forget(ctx, "work.karmada.io/", "policy.karmada.io/", "events/"); err != nil {
			return err
		}
		return load.addTo(ctx, w)
	}
	if err := w.reset(ctx); err != nil {
		return err
	}
	if err := load.addTo(ctx, w); err != nil {
		return err
	}
	if err := w.createSources(ctx, load, 0, b.n, b.mark); err != nil {
		return err
	}
	if b.mark != labelled { // Karmada's detector writes to what it propagates
		w.present = b
	}
	return nil
}

// etcdRoot is the prefix of the API server's keys in etcd, and stored holds those of the
// resources with many objects.
const etcdRoot = "/karmada/"

var stored = map[string]schema.GroupVersionResource{
	"work.karmada.io/works/": worksResource,
	"configmaps/":            configMaps,
	"deployments/":           deployments,
	widgets.Group + "/":      widgets,
}

// forget wipes objects, and their history in etcd.
func (w *world) forget(ctx context.Context, prefixes ...string) error {
	w.made = allWorks{}
	if err := w.wipe(ctx, prefixes...); err != nil {
		return err
	}
	// The API server follows by a watch, which a compaction might cut.
	for prefix, resource := range stored {
		if err := w.awaitForgotten(ctx, resource, prefix); err != nil {
			return err
		}
	}
	answer, err := w.etcd.Get(ctx, "/", clientv3.WithLimit(1), clientv3.WithKeysOnly())
	if err != nil {
		return fmt.Errorf("cannot read etcd's revision: %w", err)
	}
	if _, err := w.etcd.Compact(ctx, answer.Header.Revision, clientv3.WithCompactPhysical()); err != nil {
		return fmt.Errorf("cannot compact etcd: %w", err)
	}
	if _, err := w.etcd.Defragment(ctx, w.EtcdURL()); err != nil {
		return fmt.Errorf("cannot defragment etcd: %w", err)
	}
	return nil
}

// awaitForgotten waits until the API server's cache has as many objects as etcd. The cache's
// revision does not tell: all objects that are wiped at once have the same revision, which the
// cache reports as soon as the first is gone.
func (w *world) awaitForgotten(ctx context.Context, resource schema.GroupVersionResource, prefix string) error {
	stored, err := w.etcd.Get(ctx, etcdRoot+prefix, clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil {
		return fmt.Errorf("cannot count the %s in etcd: %w", resource.Resource, err)
	}
	return until(ctx, "the API server has removed the wiped objects from its cache", func(ctx context.Context) error {
		cached, err := w.metadata.Resource(resource).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err == nil && len(cached.Items) != int(stored.Count) {
			err = fmt.Errorf("the cache has %d %s, etcd has %d", len(cached.Items), resource.Resource, stored.Count)
		}
		return err
	})
}

// until polls until condition returns nil. It polls more often than [karmada.Karmada.Wait],
// for what is timed.
func until(ctx context.Context, what string, condition func(context.Context) error) error {
	var missing error
	err := wait.PollUntilContextTimeout(ctx, 5*time.Millisecond, 10*time.Minute, true, func(ctx context.Context) (bool, error) {
		missing = condition(ctx)
		return missing == nil, nil
	})
	if err != nil {
		return fmt.Errorf("cannot wait until %s: %w: %w", what, cmp.Or(context.Cause(ctx), err), missing)
	}
	return nil
}
