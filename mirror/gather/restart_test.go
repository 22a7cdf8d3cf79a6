//go:build !race

package gather

import (
	"math"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

const web = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
  uid: "1"
  generation: 1
  labels: {app: web}
  annotations: {karmada.target/clusters: "m1,m2"}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 25%, maxUnavailable: 25%}}
  template:
    metadata: {labels: {app: web}}
    spec:
      restartPolicy: Always
      schedulerName: default-scheduler
      containers:
      - name: web
        image: registry.example/shop/web:1.27.3
        args: [--listen=:8080, --log-level=info]
        ports: [{containerPort: 8080, name: http, protocol: TCP}]
        env:
        - {name: REGION, value: eu-central-1}
        - {name: PASSWORD, valueFrom: {secretKeyRef: {name: web, key: password}}}
        resources: {requests: {cpu: 100m, memory: 128Mi}, limits: {memory: 256Mi}}
        readinessProbe: {httpGet: {path: /readyz, port: http}, periodSeconds: 5}
        livenessProbe: {httpGet: {path: /livez, port: http}, periodSeconds: 10}
        volumeMounts: [{name: config, mountPath: /etc/web, readOnly: true}]
      volumes: [{name: config, configMap: {name: web, defaultMode: 420}}]
`

// mirrorImages makes the image of one cluster differ.
const mirrorImages = `
apiVersion: policy.karmada.io/v1alpha1
kind: OverridePolicy
metadata: {name: images, namespace: shop}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}]
  overrideRules:
  - targetCluster: {clusterNames: [m1]}
    overriders: {imageOverrider: [{component: Registry, operator: replace, value: registry.mirror.example}]}
`

func parsed(t testing.TB, manifest string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), u); err != nil {
		t.Fatal(err)
	}
	return u
}

// restarted is a source with its Works, as the API server lists them.
type restarted struct {
	source   []byte
	works    [][]byte
	clusters []*state.Cluster
	policies []*state.Policy
}

// newRestarted returns a Deployment on two clusters, whose Works are alike or differ by a variable
// and an override.
func newRestarted(t testing.TB, differs bool) restarted {
	t.Helper()
	r := restarted{clusters: []*state.Cluster{state.NewCluster(sample.Cluster("m1", "")), state.NewCluster(sample.Cluster("m2", ""))}}
	source := parsed(t, web)
	if differs {
		sample.Annotate(source, render.ExpandAnnotation, "true")
		sample.Annotate(source, "host", "$(cluster.name).shop.example.com")
		r.policies = []*state.Policy{state.NewPolicy(parsed(t, mirrorImages))}
	}
	r.source = encoded(t, source)
	v := judge.Decide(r.facts(judge.NewSource(source, render.Wishes{})))
	for _, op := range v.Plan() {
		body, err := op.Body(v)
		if err != nil {
			t.Fatal(err)
		}
		r.works = append(r.works, encoded(t, sample.WorkOf(body)))
	}
	if len(r.works) != len(r.clusters) {
		t.Fatal(v.Refusals)
	}
	return r
}

func (r restarted) facts(s *judge.Source) judge.Facts {
	f := judge.Facts{ID: s.ID, Source: s, Live: true, Policies: r.policies, PoliciesLive: true, Clusters: map[string]judge.ClusterFacts{}}
	for _, c := range r.clusters {
		f.Clusters[c.Name] = clusterFactsOf(c)
	}
	return f
}

func encoded(t testing.TB, u *unstructured.Unstructured) []byte {
	t.Helper()
	raw, err := u.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// restart does what a restart does for the source: it reads the source and its Works, and finds
// nothing to write.
func (r restarted) restart(t testing.TB) {
	source := judge.SourceOf(state.NewObject(decoded(t, r.source)), render.Wishes{})
	f := r.facts(source)
	f.Works = map[string]*state.Work{}
	for _, raw := range r.works {
		w := state.NewWork(decoded(t, raw))
		f.Works[w.Cluster] = w
	}
	if j := judge.On(f); len(j.Plan) > 0 || len(j.Verdict.Targets) != len(r.works) {
		t.Fatal(j.Plan)
	}
}

func decoded(t testing.TB, raw []byte) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	return u
}

// BenchmarkRestart compares what a restart costs for a source with two variants and for one whose
// Works are alike. They take turns, and the fastest turn of each counts: the others were disturbed.
func BenchmarkRestart(b *testing.B) {
	alike, differing := newRestarted(b, false), newRestarted(b, true)
	fastest := func(so time.Duration, r restarted) time.Duration {
		began := time.Now()
		r.restart(b)
		return min(so, time.Since(began))
	}
	one, two := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
	for b.Loop() {
		one, two = fastest(one, alike), fastest(two, differing)
	}
	b.ReportMetric(float64(one), "ns/alike")
	b.ReportMetric(float64(two), "ns/differing")
	b.ReportMetric(float64(two)/float64(one), "differing/alike")
}

// TestCostOfVariants: a source with two variants allocates hardly more at a restart than one whose
// Works are alike.
func TestCostOfVariants(t *testing.T) {
	const most = 1.08
	allocs := func(differs bool) float64 {
		r := newRestarted(t, differs)
		return testing.AllocsPerRun(100, func() { r.restart(t) })
	}
	alike, differing := allocs(false), allocs(true)
	t.Logf("%.0f allocations ÷ %.0f = %.3f", differing, alike, differing/alike)
	if differing > most*alike {
		t.Errorf("two variants take %.0f allocations, none take %.0f: more than %v times as many", differing, alike, most)
	}
}
