package mirror

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/mirror/gather"
	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/watch"
)

const (
	policiesAt   = "/apis/policy.karmada.io/v1alpha1/namespaces/shop/overridepolicies"
	policySettle = 30 * time.Second
)

// settingPolicy sets a key of all ConfigMaps to the name of the policy.
func settingPolicy(name, key string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"resourceSelectors": []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}},
		"overrideRules": []any{map[string]any{"overriders": map[string]any{"plaintext": []any{
			map[string]any{"path": "/data/" + key, "operator": "add", "value": "from-" + name},
		}}}},
	}}}
	u.SetAPIVersion("policy.karmada.io/v1alpha1")
	u.SetKind("OverridePolicy")
	u.SetNamespace(sample.Page.Namespace)
	u.SetName(name)
	u.SetUID("of-policy")
	u.SetResourceVersion("5")
	return u
}

// policyList is the answer to a live list of OverridePolicies.
func policyList(version string, policies ...*unstructured.Unstructured) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("policy.karmada.io/v1alpha1")
	list.SetKind("OverridePolicyList")
	list.SetResourceVersion(version)
	for _, p := range policies {
		list.Items = append(list.Items, *p)
	}
	return list
}

// honoring is a server with override policies, of which some are in the cache.
func honoring(t *testing.T, cached ...*unstructured.Unstructured) *apiServer {
	s := newAPIServer(t)
	s.events = map[schema.GroupVersionResource]chan any{state.PoliciesResource: make(chan any)}
	s.served[state.PoliciesResource.GroupResource()] = []watch.Served{{Resource: state.PoliciesResource, Kind: schema.GroupKind{Group: state.PoliciesResource.Group, Kind: "OverridePolicy"}, Namespaced: true}}
	s.served[state.ClusterPoliciesResource.GroupResource()] = []watch.Served{{Resource: state.ClusterPoliciesResource, Kind: schema.GroupKind{Group: state.PoliciesResource.Group, Kind: "ClusterOverridePolicy"}}}
	s.list(state.PoliciesResource, cached...)
	return s
}

const honor = `{"apiVersion": "mirror.karmada.target/v1alpha1", "kind": "MirrorConfiguration", "overridePolicies": "Honor",
	"resources": [{"resource": "configmaps"}, {"group": "example.io", "version": "v1", "resource": "widgets"}]}`

// overridden is the Work of a source as policies have made it.
func overridden(t *testing.T, source *unstructured.Unstructured, policies ...*unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	files := gather.NewFiles(nil, []*state.Cluster{state.NewCluster(sample.Cluster("m1", ""))}, append(policies, source))
	j := judge.On(files.Facts(gather.IdentityOf(source)))
	body, err := j.Plan[0].Body(j.Verdict)
	if err != nil {
		t.Fatal(err)
	}
	return sample.WorkOf(body)
}

// planned is what a sync of a source would write now.
func planned(t *testing.T, c *Controller, id render.Identity) (body string, left time.Duration) {
	t.Helper()
	j, err := c.look(t.Context(), c.caches.Facts(id))
	if err != nil {
		t.Fatal(err)
	}
	j, left, err = c.confirmLoss(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range j.Plan {
		b, err := op.Body(j.Verdict)
		if err != nil {
			t.Fatal(err)
		}
		body += string(b)
	}
	return body, left
}

// TestLossConfirmsAnother: a source lost policy c half a minute ago, and policy a, which the watch has not shown
// yet, just now, maybe together with the source. Each loss has a time of its own.
func TestLossConfirmsAnother(t *testing.T) {
	a, gone := settingPolicy("a", "replicas"), settingPolicy("c", "other")
	s := honoring(t, a)
	page := sample.Asking("1", "m1")
	page.SetResourceVersion("5")
	s.list(configMaps, page)
	s.list(render.WorksResource, overridden(t, page, a, gone))
	s.reply(policiesAt, policyList("100"))
	s.reply("/apis/policy.karmada.io/v1alpha1/clusteroverridepolicies", nil)
	clock := newFakeClock()
	c := newControllerOf(t, s, honor, clock)
	c.DeletionSettle = policySettle
	if body, left := planned(t, c, sample.Page); body != "" || left != policySettle {
		t.Fatalf("%s left, and it writes %s", left, body)
	}
	clock.Step(policySettle)
	body, left := planned(t, c, sample.Page)
	if body != "" && !strings.Contains(body, "from-a") {
		t.Errorf("%s left: policy a is undone, although the source has not lacked it for %s: %s", left, policySettle, body)
	}
}

// TestLossWithItsDefinition: policies that have gone with their definition have ten minutes to come back after it.
func TestLossWithItsDefinition(t *testing.T) {
	for name, tc := range map[string]struct {
		age, source time.Duration // before the policy is found missing
		terminating bool
		known       string // the UID of the definition that this process has known
		want        time.Duration
	}{
		"Older":       {time.Hour, time.Minute, false, "1", 0},
		"Younger":     {time.Second, time.Minute, false, "1", 10*time.Minute - policySettle},
		"Another":     {time.Second, 0, false, "0", 10*time.Minute - policySettle}, // and the source was recreated since
		"Terminating": {time.Hour, time.Minute, true, "1", 10*time.Minute - policySettle},
	} {
		s := honoring(t)
		page, definition := sample.Asking("1", "m1"), &unstructured.Unstructured{}
		page.SetResourceVersion("5")
		clock := newFakeClock()
		page.SetCreationTimestamp(metav1.NewTime(clock.Now().Add(-tc.source)))
		s.list(configMaps, page)
		work := overridden(t, page, settingPolicy("a", "replicas"))
		s.list(render.WorksResource, work) // which is written later, as when it is suspended
		definition.SetGroupVersionKind(state.DefinitionsResource.GroupVersion().WithKind("CustomResourceDefinition"))
		definition.SetName("overridepolicies.policy.karmada.io")
		definition.SetCreationTimestamp(metav1.NewTime(clock.Now().Add(-tc.age)))
		definition.SetUID(types.UID(tc.known))
		s.list(state.DefinitionsResource, definition.DeepCopy())
		if definition.SetUID("1"); tc.terminating {
			definition.SetDeletionTimestamp(new(metav1.NewTime(clock.Now())))
		}
		s.reply("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/overridepolicies.policy.karmada.io", definition)
		s.reply(policiesAt, policyList("100"))
		c := newControllerOf(t, s, honor, clock)
		c.DeletionSettle = policySettle
		planned(t, c, sample.Page)
		clock.Step(policySettle)
		if body, left := planned(t, c, sample.Page); left != tc.want || (body == "") != (tc.want > 0) {
			t.Errorf("%s: %s left, and it writes %q", name, left, body)
		}
		clock.Step(10 * time.Minute)
		if body, left := planned(t, c, sample.Page); !tc.terminating && (left > 0 || body == "") {
			t.Errorf("%s: %s left at last", name, left)
		}
	}
}

// TestOldList: policy a was replaced by policy b. The list that was made for another source lacks b, but the cache
// has it by now.
func TestOldList(t *testing.T) {
	a, b := settingPolicy("a", "replicas"), settingPolicy("b", "replicas")
	s := honoring(t)
	page, other := sample.Asking("1", "m1"), sample.Asking("2", "m1")
	other.SetName("other")
	for _, u := range []*unstructured.Unstructured{page, other} {
		u.SetResourceVersion("5")
	}
	s.list(configMaps, page, other)
	s.list(render.WorksResource, overridden(t, page, a), overridden(t, other, a))
	s.reply(policiesAt, policyList("100"))
	clock := newFakeClock()
	c := newControllerOf(t, s, honor, clock)
	c.DeletionSettle = policySettle
	another := render.Identity{Kind: "ConfigMap", Namespace: "shop", Name: "other"}
	for _, id := range []render.Identity{sample.Page, another} {
		if body, left := planned(t, c, id); body != "" || left != policySettle {
			t.Fatalf("%s left, and it writes %s", left, body)
		}
	}
	clock.Step(policySettle)
	if body, _ := planned(t, c, another); body == "" || strings.Contains(body, "from-") {
		t.Fatalf("the loss is not confirmed: %s", body)
	}
	b.SetResourceVersion("101")
	s.reply(policiesAt, policyList("101", b))
	s.events[state.PoliciesResource] <- map[string]any{"type": "ADDED", "object": b}
	eventually(t, "policy b", func() bool { return len(c.caches.Facts(sample.Page).Policies) == 1 })
	if body, _ := planned(t, c, sample.Page); !strings.Contains(body, "from-b") {
		t.Errorf("policy b is in the cache, but does not count: %s", body)
	}
}
