package bench

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/karmada-target/karmada-mirror/render"
)

// workload is a kind of source.
type workload struct {
	name     string
	resource schema.GroupVersionResource
	make     func(name string) *unstructured.Unstructured
}

var (
	configMap1k   = workload{"ConfigMap 1 kB", configMaps, configMapOf(1_000)}
	configMap100k = workload{"ConfigMap 100 kB", configMaps, configMapOf(100_000)}
	deployment    = workload{"Deployment", deployments, makeDeployment}

	configMaps  = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
)

// scenario says what an arm writes.
type scenario struct {
	load              workload
	sources, clusters int
}

func (s scenario) works() int { return s.sources * s.clusters }

func (s scenario) String() string {
	return fmt.Sprintf("%d × %s on %d clusters", s.sources, s.load.name, s.clusters)
}

func configMapOf(size int) func(string) *unstructured.Unstructured {
	content := strings.Repeat("0123456789abcde\n", size/16)
	return func(name string) *unstructured.Unstructured {
		return named(name, map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"page.txt": content}})
	}
}

func named(name string, object map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: object}
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

const deploymentManifest = `
apiVersion: apps/v1
kind: Deployment
spec:
  replicas: 3
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      containers:
      - name: web
        image: registry.example/shop/web:1.27.3
        args: [--listen=:8080, --log-level=info]
        ports: [{containerPort: 8080, name: http}]
        env:
        - {name: REGION, value: eu-central-1}
        - {name: PASSWORD, valueFrom: {secretKeyRef: {name: web, key: password}}}
        resources: {requests: {cpu: 100m, memory: 128Mi}, limits: {memory: 256Mi}}
        readinessProbe: {httpGet: {path: /readyz, port: http}, periodSeconds: 5}
        livenessProbe: {httpGet: {path: /livez, port: http}, periodSeconds: 10}
        volumeMounts: [{name: config, mountPath: /etc/web, readOnly: true}]
        securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true}
      volumes: [{name: config, configMap: {name: web}}]
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: %[1]s}}}
`

func makeDeployment(name string) *unstructured.Unstructured {
	object := map[string]any{}
	if err := yaml.Unmarshal(fmt.Appendf(nil, deploymentManifest, name), &object); err != nil {
		panic(err) // a constant
	}
	return named(name, object)
}

// allClusters is the annotation of a source that is mirrored. All sources have the label that the
// policy selects by, so that all arms write the same.
const (
	allClusters = "bench-*"
	policyLabel = "bench"
)

func sourceName(i int) string { return fmt.Sprintf("object-%05d", i) }

// source makes a source; without clusters, it has no annotation.
func (l workload) source(i int, clusters string) *unstructured.Unstructured {
	u := l.make(sourceName(i))
	u.SetLabels(map[string]string{policyLabel: "true"})
	if clusters != "" {
		u.SetAnnotations(map[string]string{render.ClustersAnnotation: clusters})
	}
	return u
}

// createSources creates n sources.
func (w *world) createSources(ctx context.Context, load workload, n int, clusters string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(inFlight)
	for i := range n {
		group.Go(func() error { return w.create(ctx, load.resource, load.source(i, clusters)) })
	}
	return group.Wait()
}

func (w *world) create(ctx context.Context, resource schema.GroupVersionResource, u *unstructured.Unstructured) error {
	_, err := w.admin.Resource(resource).Namespace(u.GetNamespace()).Create(ctx, u, metav1.CreateOptions{})
	return err
}

// workOf returns the name of a source's Work in a cluster.
func (l workload) workOf(source, cluster string) types.NamespacedName {
	gvk := l.make("any").GroupVersionKind()
	id := render.Identity{Group: gvk.Group, Kind: gvk.Kind, Namespace: namespace, Name: source}
	return types.NamespacedName{Namespace: render.ExecutionNamespace(cluster), Name: id.WorkName()}
}
