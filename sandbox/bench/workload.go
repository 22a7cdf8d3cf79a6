package bench

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

// workload is a kind of source.
type workload struct {
	name     string
	resource schema.GroupVersionResource
	make     func(name string) *unstructured.Unstructured
	// add creates what else belongs to it; nil for nothing.
	add func(context.Context, *world) error
}

func (l workload) addTo(ctx context.Context, w *world) error {
	if l.add == nil {
		return nil
	}
	return l.add(ctx, w)
}

var (
	configMap1k   = workload{"ConfigMap 1 kB", configMaps, configMapOf(1_000), nil}
	configMap100k = workload{"ConfigMap 100 kB", configMaps, configMapOf(100_000), nil}
	deployment    = workload{"Deployment", deployments, makeDeployment, nil}
	widget        = workload{"custom resource", widgets, makeWidget, nil}

	configMaps  = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	widgets     = schema.GroupVersionResource{Group: "bench.karmada.target", Version: "v1", Resource: "widgets"}
)

const widgetKind = "Widget"

// batch identifies sources that belong together.
type batch struct {
	load string
	n    int
	mark mark
}

// allWorks identifies the Works of a batch.
type allWorks struct {
	of       batch
	clusters int
}

func (s scenario) batch(m mark) batch { return batch{s.load.name, s.sources, m} }

func configMapOf(size int) func(string) *unstructured.Unstructured {
	content := strings.Repeat("0123456789abcde\n", size/16)
	return func(name string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"page.txt": content}}}
		u.SetAPIVersion("v1")
		u.SetKind("ConfigMap")
		u.SetNamespace(namespace)
		u.SetName(name)
		return u
	}
}

// deploymentImage is the image of a new Deployment.
const deploymentImage = "registry.example/shop/web:1.27.3"

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
        image: %[2]s
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
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(fmt.Appendf(nil, deploymentManifest, name, deploymentImage), &u.Object); err != nil {
		panic(err) // a constant
	}
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

const widgetDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.bench.karmada.target}
spec:
  group: bench.karmada.target
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: bench}
rules:
- {apiGroups: [bench.karmada.target], resources: [widgets], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: bench}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: bench}
subjects: [{kind: ServiceAccount, name: karmada-mirror, namespace: karmada-system}]
`

// defineWidgets creates the custom resource, and lets karmada-mirror read it.
func (w *world) defineWidgets(ctx context.Context) error {
	if err := karmada.Apply(ctx, w.Config(), []byte(widgetDefinition)); err != nil {
		return err
	}
	return until(ctx, "the custom resource is served", func(ctx context.Context) error {
		_, err := w.admin.Resource(widgets).List(ctx, metav1.ListOptions{Limit: 1})
		return err
	})
}

func makeWidget(name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"size": int64(3), "colour": "green", "parts": []any{map[string]any{"name": "handle", "count": int64(2)}},
	}}}
	u.SetAPIVersion(widgets.GroupVersion().String())
	u.SetKind(widgetKind)
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

func sourceName(i int) string { return fmt.Sprintf("object-%05d", i) }

// createSources creates n sources, numbered from first on.
func (w *world) createSources(ctx context.Context, load workload, first, n int, m mark) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(inParallel)
	for i := first; i < first+n; i++ {
		group.Go(func() error {
			u := load.make(sourceName(i))
			m.put(u)
			_, err := w.admin.Resource(load.resource).Namespace(namespace).Create(ctx, u, metav1.CreateOptions{})
			return err
		})
	}
	return group.Wait()
}
