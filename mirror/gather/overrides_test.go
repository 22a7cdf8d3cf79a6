package gather

import (
	"slices"
	"testing"

	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/yaml"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/memory"
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

// TestLossAgainstOldList: the list that shows whether an override is lost may have been made for another
// source, so it takes at least as long as such a list is used.
func TestLossAgainstOldList(t *testing.T) {
	clock := clocktesting.NewFakeClock(sample.Created)
	c := NewCaches(Options{Clock: clock, Memory: memory.New(clock), Logger: zap.NewNop()})
	if _, left, err := c.ConfirmLoss(t.Context(), judge.Facts{ID: sample.Page}, map[string][]string{"m1": {"OverridePolicy/x"}}, 0); err != nil || left != recentPeriod {
		t.Errorf("%s left, %v", left, err)
	}
}
