package gather

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	"sigs.k8s.io/yaml"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// TestAssumedPolicy: diff -k examples/differences, where the policy is among the manifests, as in a GitOps repository.
func TestAssumedPolicy(t *testing.T) {
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		state.ClustersResource: "ClusterList", state.NamespacesResource: "NamespaceList", state.PoliciesResource: "OverridePolicyList", state.ClusterPoliciesResource: "ClusterOverridePolicyList",
		render.WorksResource: "WorkList", {Version: "v1", Resource: "configmaps"}: "ConfigMapList",
	}, sample.Cluster("m1", ""), sample.Namespace(nil))
	configuration, err := config.Parse([]byte(`{"apiVersion": "mirror.karmada.target/v1alpha1", "kind": "MirrorConfiguration", "overridePolicies": "Honor", "resources": [{"resource": "configmaps"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(t.Context(), client, nil, configuration)
	if err != nil {
		t.Fatal(err)
	}
	policy, page := &unstructured.Unstructured{}, sample.Asking("1", "m1")
	if err := yaml.Unmarshal([]byte(`
apiVersion: policy.karmada.io/v1alpha1
kind: OverridePolicy
metadata: {name: p, namespace: shop}
spec:
  resourceSelectors: [{apiVersion: v1, kind: ConfigMap}]
  overrideRules: [{overriders: {plaintext: [{path: /data/key, operator: replace, value: overridden}]}}]
`), policy); err != nil {
		t.Fatal(err)
	}
	r.Assume(policy)
	r.Assume(page)
	kind := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	ref := SourceRef{Mapping: &meta.RESTMapping{Resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, GroupVersionKind: kind, Scope: meta.RESTScopeNamespace}, Namespace: "shop", Name: "page"}
	f, err := r.Facts(t.Context(), ref, nil)
	if err != nil {
		t.Fatal(err)
	}
	v := judge.Decide(f)
	if v.Targets["m1"].Decision != judge.Wanted {
		t.Fatal(v.Targets["m1"].Because)
	}
	if got := v.Targets["m1"].Rendering; len(f.Policies) != 1 {
		t.Errorf("the policy that would be applied with the object does not count: %d policies, %v", len(f.Policies), got.Digest())
	}
}
