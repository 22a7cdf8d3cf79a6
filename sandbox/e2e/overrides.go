package e2e

import (
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/sandbox/model"
)

// These are Karmada's override policies.
var (
	OverridePolicies        = schema.GroupVersionResource{Group: "policy.karmada.io", Version: "v1alpha1", Resource: "overridepolicies"}
	ClusterOverridePolicies = schema.GroupVersionResource{Group: "policy.karmada.io", Version: "v1alpha1", Resource: "clusteroverridepolicies"}
)

// HonorPolicies is the section of a configuration that honors override policies.
const HonorPolicies = "overridePolicies: Honor\n"

// Overriding makes an override policy, of the form that [model] knows. The kind in its key says
// whether it is cluster-wide.
func Overriding(key model.Key, p *model.Policy) *unstructured.Unstructured {
	overriders := map[string]any{}
	if p.Value != "" {
		overriders["plaintext"] = []any{map[string]any{"path": "/data/key", "operator": "replace", "value": p.Value}}
	}
	if len(p.Labels) > 0 {
		labels := map[string]any{}
		for key, value := range p.Labels {
			labels[key] = value
		}
		overriders["labelsOverrider"] = []any{map[string]any{"operator": "add", "value": labels}}
	}
	rule := map[string]any{"overriders": overriders}
	if len(p.Clusters) > 0 {
		names := make([]any, len(p.Clusters))
		for i, name := range p.Clusters {
			names[i] = name
		}
		rule["targetCluster"] = map[string]any{"clusterNames": names}
	}
	return Object("policy.karmada.io/v1alpha1", key.Kind, key.Namespace, key.Name, map[string]any{"spec": map[string]any{
		"resourceSelectors": []any{map[string]any{"apiVersion": versionOf(p.Kind), "kind": p.Kind}},
		"overrideRules":     []any{rule},
	}})
}

// versionOf is the API version of the kinds that override policies select in tests.
func versionOf(kind string) string {
	if kind == "ConfigMap" {
		return "v1"
	}
	return "apps/v1"
}

// overridingOf converts such an override policy for [model].
func overridingOf(u *unstructured.Unstructured) (model.Key, *model.Policy, error) {
	key := model.Key{Kind: u.GetKind(), Namespace: u.GetNamespace(), Name: u.GetName()}
	selectors, _, _ := unstructured.NestedSlice(u.Object, "spec", "resourceSelectors")
	rules, _, _ := unstructured.NestedSlice(u.Object, "spec", "overrideRules")
	if len(selectors) != 1 || len(rules) != 1 {
		return key, nil, fmt.Errorf("the model does not know policies like %s", key.Name)
	}
	selector, rule := selectors[0].(map[string]any), rules[0].(map[string]any)
	p := &model.Policy{Labels: map[string]string{}}
	p.Kind, _, _ = unstructured.NestedString(selector, "kind")
	p.Clusters, _, _ = unstructured.NestedStringSlice(rule, "targetCluster", "clusterNames")
	plaintext, _, _ := unstructured.NestedSlice(rule, "overriders", "plaintext")
	for _, patch := range plaintext {
		p.Value, _, _ = unstructured.NestedString(patch.(map[string]any), "value")
	}
	overriders, _, _ := unstructured.NestedSlice(rule, "overriders", "labelsOverrider")
	for _, overrider := range overriders {
		labels, _, _ := unstructured.NestedStringMap(overrider.(map[string]any), "value")
		maps.Copy(p.Labels, labels)
	}
	return key, p, nil
}
