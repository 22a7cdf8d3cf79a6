package bench

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/sandbox/build"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

// namespace holds the sources.
const namespace = "bench"

var (
	worksResource    = schema.GroupVersionResource{Group: "work.karmada.io", Version: "v1alpha1", Resource: "works"}
	clustersResource = schema.GroupVersionResource{Group: "cluster.karmada.io", Version: "v1alpha1", Resource: "clusters"}
	policiesResource = schema.GroupVersionResource{Group: "policy.karmada.io", Version: "v1alpha1", Resource: "propagationpolicies"}
	namespaces       = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
)

// world is a Karmada without members. Its Clusters are objects without a cluster behind
// them, because the measurements end with the Work.
type world struct {
	*karmada.Karmada
	Options
	admin      dynamic.Interface
	etcd       *clientv3.Client
	daemon     daemonArm
	earlier    []arm        // the daemon of [Options.Against]
	kubeconfig string       // of the daemon's ServiceAccount
	account    *rest.Config // the same
	// present is the scenario whose sources exist, if nothing has changed them.
	present scenario
	// hyperkarmada has kubectl in it, and home is a folder for what commands keep.
	hyperkarmada, home string
}

// newWorld starts a Karmada of which only the components that serve requests run.
func newWorld(ctx context.Context, builder *build.Builder, dir string, o Options) (w *world, err error) {
	w = &world{Options: o, home: dir}
	programs := karmada.Programs{Karmada: builder.KarmadaSources()}
	if programs.Hyperkarmada, err = builder.Hyperkarmada(ctx); err != nil {
		return nil, err
	}
	w.hyperkarmada, w.daemon.title = programs.Hyperkarmada, "karmada-mirror"
	if w.daemon.program, err = builder.Daemon(ctx); err != nil {
		return nil, err
	}
	if o.Against != "" {
		program, err := builder.DaemonAt(ctx, o.Against)
		if err != nil {
			return nil, err
		}
		w.earlier = []arm{daemonArm{"karmada-mirror at " + o.Against, program}}
	}
	w.Karmada, err = karmada.Start(ctx, karmada.Options{Dir: dir, Programs: programs, Scheduler: true, Progress: o.Out})
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
	if w.etcd, err = clientv3.New(clientv3.Config{Endpoints: []string{w.EtcdURL()}, DialTimeout: 5 * time.Second}); err != nil {
		return fmt.Errorf("cannot reach etcd: %w", err)
	}
	if err := karmada.ApplyKustomization(ctx, w.Config(), filepath.Join(builder.Repository(), "manifests", "karmada")); err != nil {
		return err
	}
	if w.kubeconfig, err = w.ServiceAccountKubeconfig(ctx, "karmada-system", "karmada-mirror"); err != nil {
		return err
	}
	if w.account, err = clientcmd.BuildConfigFromFlags("", w.kubeconfig); err != nil {
		return err
	}
	return w.ensureNamespace(ctx, namespace)
}

// say prints what has just been measured.
func (w *world) say(format string, arguments ...any) {
	fmt.Fprintf(w.Out, "  "+format+"\n", arguments...)
}

func pick[T any](first bool, a, b T) T {
	if first {
		return a
	}
	return b
}

func (w *world) close() error {
	if w.etcd != nil {
		_ = w.etcd.Close() // its server ends next
	}
	return w.Stop()
}

func (w *world) ensureNamespace(ctx context.Context, name string) error {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}}
	_, err := w.admin.Resource(namespaces).Apply(ctx, name, u, metav1.ApplyOptions{FieldManager: "bench"})
	return err
}

func clusterName(i int) string { return fmt.Sprintf("bench-%03d", i) }

// joinClusters replaces all clusters by n new ones, with the namespaces of their Works.
func (w *world) joinClusters(ctx context.Context, n int) error {
	if err := w.wipe(ctx, "cluster.karmada.io/clusters/"); err != nil {
		return err
	}
	for i := range n {
		if err := w.joinCluster(ctx, clusterName(i)); err != nil {
			return err
		}
	}
	return nil
}

// joinCluster creates a Cluster. By its status it serves the mirrored kinds, which Karmada's
// scheduler requires.
func (w *world) joinCluster(ctx context.Context, name string) error {
	if err := w.ensureNamespace(ctx, render.ExecutionNamespace(name)); err != nil {
		return err
	}
	u, err := w.admin.Resource(clustersResource).Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": clustersResource.GroupVersion().String(), "kind": "Cluster", "metadata": map[string]any{"name": name},
		"spec": map[string]any{"syncMode": "Push", "apiEndpoint": "https://127.0.0.1:1"},
	}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	enabled := func(groupVersion, resource, kind string) any {
		return map[string]any{"groupVersion": groupVersion, "resources": []any{map[string]any{"name": resource, "kind": kind}}}
	}
	u.Object["status"] = map[string]any{
		"conditions": []any{map[string]any{
			"type": "Ready", "status": "True", "reason": "Bench", "message": "", "lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
		}},
		"apiEnablements": []any{enabled("v1", "configmaps", "ConfigMap"), enabled("apps/v1", "deployments", "Deployment")},
	}
	_, err = w.admin.Resource(clustersResource).UpdateStatus(ctx, u, metav1.UpdateOptions{})
	return err
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

// provide makes sure that the sources of a scenario exist, and nothing else.
func (w *world) provide(ctx context.Context, s scenario) error {
	if w.present.load.name == s.load.name && w.present.sources == s.sources {
		return w.forget(ctx, propagated...)
	}
	if err := w.reset(ctx); err != nil {
		return err
	}
	w.present = s
	return w.createSources(ctx, s.load, 0, s.sources, allClusters)
}

// reset removes every trace of an earlier run.
func (w *world) reset(ctx context.Context) error {
	w.present = scenario{}
	return w.forget(ctx, append([]string{"configmaps/" + namespace + "/", "deployments/" + namespace + "/"}, propagated...)...)
}

// etcdRoot is the prefix of the API server's keys in etcd; propagated are those of what arms create,
// and stored those of the resources with many objects.
const etcdRoot = "/karmada/"

var (
	propagated = []string{"work.karmada.io/", "policy.karmada.io/", "events/"}
	stored     = map[string]schema.GroupVersionResource{
		"work.karmada.io/works/": worksResource,
		"configmaps/":            configMaps,
		"deployments/":           deployments,
	}
)

// forget wipes objects, and their history in etcd.
func (w *world) forget(ctx context.Context, prefixes ...string) error {
	if err := w.wipe(ctx, prefixes...); err != nil {
		return err
	}
	answer, err := w.etcd.Get(ctx, "/", clientv3.WithLimit(1), clientv3.WithKeysOnly())
	if err != nil {
		return fmt.Errorf("cannot read etcd's revision: %w", err)
	}
	// The API server follows by a watch, which a compaction might cut. Its cache's revision does not
	// tell: all objects that are wiped at once have the same one, which the cache reports as soon as
	// the first is gone.
	for prefix, resource := range stored {
		stored, err := w.etcd.Get(ctx, etcdRoot+prefix, clientv3.WithPrefix(), clientv3.WithCountOnly())
		if err != nil {
			return fmt.Errorf("cannot count the %s in etcd: %w", resource.Resource, err)
		}
		err = until(ctx, time.Minute, "the API server has removed the wiped objects from its cache", func(ctx context.Context) error {
			cached, err := w.admin.Resource(resource).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
			if err == nil && len(cached.Items) != int(stored.Count) {
				err = fmt.Errorf("the cache has %d %s, etcd has %d", len(cached.Items), resource.Resource, stored.Count)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	if _, err := w.etcd.Compact(ctx, answer.Header.Revision, clientv3.WithCompactPhysical()); err != nil {
		return fmt.Errorf("cannot compact etcd: %w", err)
	}
	if _, err := w.etcd.Defragment(ctx, w.EtcdURL()); err != nil {
		return fmt.Errorf("cannot defragment etcd: %w", err)
	}
	return nil
}

// until polls until condition returns nil. It polls more often than [karmada.Karmada.Wait],
// for what is timed.
func until(ctx context.Context, patience time.Duration, what string, condition func(context.Context) error) error {
	var missing error
	err := wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		missing = condition(ctx)
		return missing == nil, nil
	})
	if err != nil {
		return fmt.Errorf("cannot wait until %s: %w: %w", what, cmp.Or(context.Cause(ctx), err), missing)
	}
	return nil
}
