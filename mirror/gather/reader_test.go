package gather

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
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

// TestRenews: a Reader after another does not read all Works again to tell in which version an object is, unless that has failed.
func TestRenews(t *testing.T) {
	widgets, widget := schema.GroupVersionResource{Group: "example.io", Version: "v1", Resource: "widgets"}, sample.Asking("1", "m1")
	widget.SetGroupVersionKind(widgets.GroupVersion().WithKind("Widget"))
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		state.ClustersResource: "ClusterList", state.NamespacesResource: "NamespaceList", render.WorksResource: "WorkList", widgets: "WidgetList",
	}, sample.Cluster("m1", ""), sample.Namespace(nil), widget)
	configuration, err := config.Parse([]byte(`{"apiVersion": "mirror.karmada.target/v1alpha1", "kind": "MirrorConfiguration", "resources": [{"group": "example.io", "resource": "widgets"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{{Group: "example.io", Version: "v1"}, {Group: "example.io", Version: "v2"}})
	for _, version := range []string{"v1", "v2"} {
		mapper.Add(schema.GroupVersionKind{Group: "example.io", Version: version, Kind: "Widget"}, meta.RESTScopeNamespace)
	}
	mapping, err := mapper.RESTMapping(schema.GroupKind{Group: "example.io", Kind: "Widget"})
	if err != nil {
		t.Fatal(err)
	}
	failing := errors.New("the list has failed") // once
	client.PrependReactor("list", "works", func(action clienttesting.Action) (bool, runtime.Object, error) {
		isFailing := failing != nil && action.GetNamespace() == metav1.NamespaceAll && action.(clienttesting.ListAction).GetListRestrictions().Labels.String() == render.OurWorks
		err := failing
		if isFailing {
			failing = nil
		}
		return isFailing, nil, err
	})
	var before *Reader
	var listed []int // how often all Works were
	for i := range 4 {
		r, err := NewReader(t.Context(), client, mapper, configuration)
		if err != nil {
			t.Fatal(err)
		}
		r.Renews(before)
		if _, err := r.Facts(t.Context(), SourceRef{Mapping: mapping, Namespace: "shop", Name: "page"}, nil); (err != nil) != (i == 0) {
			t.Fatal(i, err)
		}
		n := 0
		for _, action := range client.Actions() {
			if list, is := action.(clienttesting.ListAction); is && action.GetResource() == render.WorksResource && list.GetListRestrictions().Labels.String() == render.OurWorks {
				n++
			}
		}
		listed = append(listed, n)
		client.ClearActions()
		before = r
	}
	if listed = listed[1:]; listed[1] != listed[0]-1 || listed[2] != listed[1] {
		t.Errorf("all Works were listed %d times", listed)
	}
}

// TestReplicasPathOfTheVersionInForce: where the replicas are depends on the version in which the daemon reads a source.
func TestReplicasPathOfTheVersionInForce(t *testing.T) {
	kind := schema.GroupKind{Group: "example.io", Kind: "Widget"}
	v1, v2 := schema.GroupVersionResource{Group: "example.io", Version: "v1", Resource: "widgets"}, schema.GroupVersionResource{Group: "example.io", Version: "v2", Resource: "widgets"}
	widget := func(version, field string, replicas int64) *unstructured.Unstructured {
		u := sample.Asking("1", "m1")
		u.SetGroupVersionKind(kind.WithVersion(version))
		sample.Annotate(u, render.ReplicasAnnotation, "divide")
		u.Object["spec"] = map[string]any{field: replicas}
		return u
	}
	served := func(version, path string) any {
		return map[string]any{"name": version, "served": true, "subresources": map[string]any{"scale": map[string]any{"specReplicasPath": path}}}
	}
	definition := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"versions": []any{served("v1", ".spec.size"), served("v2", ".spec.count")}}}}
	definition.SetGroupVersionKind(state.DefinitionsResource.GroupVersion().WithKind("CustomResourceDefinition"))
	definition.SetName("widgets.example.io")
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		state.ClustersResource: "ClusterList", state.NamespacesResource: "NamespaceList", render.WorksResource: "WorkList", v1: "WidgetList", v2: "WidgetList",
		state.DefinitionsResource: "CustomResourceDefinitionList", state.AutoscalerResources[state.AutoscalerKind]: "HorizontalPodAutoscalerList",
	}, sample.Cluster("m1", ""), sample.Namespace(nil), widget("v1", "size", 3), widget("v2", "count", 3), definition)
	configuration, err := config.Parse([]byte(`{"apiVersion": "mirror.karmada.target/v1alpha1", "kind": "MirrorConfiguration", "resources": [{"group": "example.io", "resource": "widgets", "version": "v1"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(t.Context(), client, nil, configuration)
	if err != nil {
		t.Fatal(err)
	}
	f, err := r.Facts(t.Context(), SourceRef{Mapping: &meta.RESTMapping{Resource: v2, GroupVersionKind: kind.WithVersion("v2")}, Namespace: "shop", Name: "page"}, nil)
	if err != nil || f.Scale == nil || f.Scale.Replicas != 3 {
		t.Errorf("%+v, %v", f.Scale, err)
	}
}

// TestReadingStops: after a failure, nothing more is sent to an API server that may be in trouble.
func TestReadingStops(t *testing.T) {
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		state.ClustersResource: "ClusterList", state.PoliciesResource: "OverridePolicyList", state.AutoscalerResources[state.AutoscalerKind]: "HorizontalPodAutoscalerList", state.EventsResource: "EventList",
	})
	r, err := NewReader(t.Context(), client, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	client.ClearActions()
	s := &reading{Reader: r, ctx: t.Context(), err: errors.New("the list has failed"), ref: SourceRef{Mapping: &meta.RESTMapping{Resource: schema.GroupVersionResource{Group: "example.io", Version: "v1", Resource: "widgets"}}}}
	s.policiesIn("shop")
	s.autoscalersIn(state.AutoscalerKind, "shop")
	s.appliedIn("karmada-es-m1", sample.Created)
	if _, err := s.replicasPath(sample.Page); err != nil || len(client.Actions()) > 0 {
		t.Errorf("%v, sent: %v", err, client.Actions())
	}
}
