package bench

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/karmada-target/karmada-mirror/mirror/gather"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// differing is a Deployment that differs in each cluster: by a variable, and, with the policy below,
// by its image.
var differing = workload{"Deployment that differs", deployments, func(name string) *unstructured.Unstructured {
	u := makeDeployment(name)
	u.SetAnnotations(map[string]string{render.ExpandAnnotation: "true", "host": "$(cluster.name).shop.example.com"})
	return u
}, overrideImages}

var overridePolicies = schema.GroupVersionResource{Group: "policy.karmada.io", Version: "v1alpha1", Resource: "overridepolicies"}

const imagePolicy = `
apiVersion: policy.karmada.io/v1alpha1
kind: OverridePolicy
metadata: {name: images}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}]
  overrideRules:
  - targetCluster: {clusterNames: [%s]}
    overriders: {imageOverrider: [{component: Registry, operator: replace, value: registry.mirror.example}]}
`

// compareDifferences compares with a bare loop that POSTs the same bytes, and restarts with those
// of Works that do not differ.
func compareDifferences(ctx context.Context, w *world, r *report) error {
	s := scenario{differing, pick(w.quick, 100, 1_000), 10}
	c, err := w.compare(ctx, s, bareAndMirror...)
	if err != nil {
		return err
	}
	r.atLeast(fmt.Sprintf("Works/s of %s, with an image override and a variable ÷ those of a bare loop with the same bytes", s), 0.85, c.over(mirrored, bare, rateOver))
	r.atMost("CPU per Work, with an image override and a variable ÷ that of the bare loop", 1.25, c.over(mirrored, bare, cpuOver))
	return w.compareRestarts(ctx, r)
}

// compareRestarts compares restarts with two variants of each object, and with none. It restarts
// with none before and after: whatever slows the machine down by and by counts for both.
func (w *world) compareRestarts(ctx context.Context, r *report) error {
	n := pick(w.quick, 2_000, 25_000)
	took := map[string][]float64{}
	for _, load := range []workload{deployment, differing, deployment} {
		s := scenario{load, n, 2}
		if err := w.mirrorOnce(ctx, s); err != nil {
			return err
		}
		for range w.repetitions {
			toReady, toSync, writes, err := w.restart(ctx, s)
			if err != nil {
				return err
			}
			w.say("restart with %s: ready after %s, everything synced after %s, %d writes", s, toReady, toSync, writes)
			took[load.name] = append(took[load.name], toSync.Seconds())
		}
	}
	ratio := summarize(took[differing.name]).median / summarize(took[deployment.name]).median
	r.atMost(fmt.Sprintf("time until %d objects are synced after a restart, with two variants each ÷ with none", n), 1.3, exactly(ratio))
	return nil
}

// overrideImages replaces the registry on every other cluster.
func overrideImages(ctx context.Context, w *world) error {
	clusters := ""
	for c := 0; c < 10; c += 2 {
		clusters += clusterName(c) + ","
	}
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(fmt.Appendf(nil, imagePolicy, clusters), &u.Object); err != nil {
		return err
	}
	u.SetNamespace(namespace)
	_, err := w.admin.Resource(overridePolicies).Namespace(namespace).Create(ctx, u, metav1.CreateOptions{})
	return err
}

// surroundings are the clusters of a scenario, and the override policies in its namespace.
func (w *world) surroundings(ctx context.Context, s scenario) (clusters []*state.Cluster, policies []*state.Policy, err error) {
	for c := range s.clusters {
		u, err := w.admin.Resource(clustersResource).Get(ctx, clusterName(c), metav1.GetOptions{})
		if err != nil {
			return nil, nil, err
		}
		clusters = append(clusters, state.NewCluster(u))
	}
	list, err := w.admin.Resource(overridePolicies).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		return clusters, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	for i := range list.Items {
		policies = append(policies, state.NewPolicy(&list.Items[i]))
	}
	return clusters, policies, nil
}

// bodiesOf renders the Works of a source as the daemon does.
func bodiesOf(u *unstructured.Unstructured, clusters []*state.Cluster, policies []*state.Policy, each func(cluster string, body []byte) error) error {
	v := judge.Decide(gather.Offline(judge.NewSource(u, render.Wishes{}), clusters, policies))
	if len(v.Refusals) > 0 {
		return fmt.Errorf("cannot render %s: %v", v.ID, v.Refusals)
	}
	for _, op := range judge.Plan(v, nil) {
		body, err := op.Body(v)
		if err == nil {
			err = each(op.Cluster, body)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
