package gather

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
)

// TestPoliciesOfOthers: a policy that cannot select a source, readable or not, is no fact about it. Nothing asks for a
// sync when it comes and goes.
func TestPoliciesOfOthers(t *testing.T) {
	unreadable := `, overrideRules: [{overriders: {xmlOverrider: []}}]`
	for spec, counts := range map[string]bool{
		`resourceSelectors: [{apiVersion: v1, kind: ConfigMap}]`:                                                                 true,
		`resourceSelectors: [{apiVersion: v1, kind: ConfigMap, name: page, labelSelector: {matchLabels: {a: b}}}]` + unreadable:  true,
		`resourceSelectors: [{apiVersion: v1, kind: ConfigMap, name: other}]`:                                                    false,
		`resourceSelectors: [{apiVersion: v1, kind: ConfigMap, name: other, labelSelector: {matchLabels: {a: b}}}]` + unreadable: false,
		`resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}, {apiVersion: v1, kind: Secret, name: page}]`:               false,
		`resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}, {apiVersion: v1, kind: ConfigMap, name: page}]`:            true,
	} {
		policy := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(`{apiVersion: policy.karmada.io/v1alpha1, kind: OverridePolicy, metadata: {name: p, namespace: shop}, spec: {`+spec+`}}`), policy); err != nil {
			t.Fatal(err)
		}
		f := judge.Facts{ID: sample.Page}
		addSelecting(&f, slices.Values([]*state.Policy{state.NewPolicy(policy)}))
		if (len(f.Policies) == 1) != counts {
			t.Errorf("%s: %d policies", spec, len(f.Policies))
		}
	}
}
