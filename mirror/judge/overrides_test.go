package judge

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// overridePolicy sets the data of ConfigMaps on some clusters; all if there are none.
func overridePolicy(t *testing.T, name, value string, clusters ...any) *state.Policy {
	t.Helper()
	rule := map[string]any{"overriders": map[string]any{"plaintext": []any{map[string]any{"path": "/data/key", "operator": "replace", "value": value}}}}
	if len(clusters) > 0 {
		rule["targetCluster"] = map[string]any{"clusterNames": clusters}
	}
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"resourceSelectors": []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}, "overrideRules": []any{rule},
	}}}
	u.SetAPIVersion("policy.karmada.io/v1alpha1")
	u.SetKind("OverridePolicy")
	u.SetNamespace(sample.Page.Namespace)
	u.SetName(name)
	p := state.NewPolicy(u)
	if p.Fault != "" {
		t.Fatal(p.Fault)
	}
	return p
}

// TestOverridden: what the Works of two clusters carry, as policies come and go.
func TestOverridden(t *testing.T) {
	base, second := overridePolicy(t, "base", "base"), overridePolicy(t, "second", "second", "m2")
	unreadable := &state.Policy{Meta: state.Meta{Namespace: sample.Page.Namespace, Name: "odd"}, Fault: "cannot decode OverridePolicy/odd"}
	elsewhere := &state.Policy{Meta: state.Meta{Namespace: "other", Name: "odd"}, Fault: "cannot decode OverridePolicy/odd"}
	type policies = []*state.Policy
	cases := map[string]struct {
		reason        string
		before, after policies
		live          bool
		// writes are the clusters to write to, and values what they get.
		writes, values string
		asks           bool
		refused        Reason
	}{
		"Same":           {"nothing changes", policies{base, second}, policies{second, base}, false, "", "", false, ""},
		"Gained":         {"one more needs no proof", policies{base}, policies{base, second}, false, "m2", "second", false, ""},
		"Lost":           {"the cache alone proves no loss", policies{base, second}, policies{base}, false, "", "", true, ""},
		"LostLive":       {"a live read does", policies{base, second}, policies{base}, true, "m2", "base", false, ""},
		"AllLost":        {"all of them", policies{base}, nil, false, "", "", true, ""},
		"AllLostLive":    {"by a live read", policies{base}, nil, true, "m1 m2", "value value", false, ""},
		"Unreadable":     {"a policy that cannot be read may select it", policies{base}, policies{base, unreadable}, true, "", "", false, OverrideFailed},
		"UnreadableFor2": {"on every cluster", policies{base, second}, policies{base, {Meta: second.Meta, Fault: "cannot decode OverridePolicy/second"}}, true, "", "", false, OverrideFailed},
		"Elsewhere":      {"one of another namespace cannot", policies{base}, policies{base, elsewhere}, true, "", "", false, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := Facts{ID: sample.Page, Source: NewSource(sample.Object(sample.Annotations{render.ClustersAnnotation: "m1,m2"}), render.Wishes{}), Works: map[string]*state.Work{}, Clusters: map[string]ClusterFacts{}, PoliciesLive: true, Policies: tc.before}
			for _, cluster := range []string{"m1", "m2"} {
				f.Clusters[cluster] = ClusterFacts{State: ClusterJoined, Member: &render.Member{Name: cluster}}
			}
			carryOut(t, f)
			if again := carryOut(t, f); len(again) > 0 {
				t.Fatalf("it is written again: %q", again)
			}
			f.Policies, f.PoliciesLive = tc.after, tc.live
			v := Decide(f)
			var writes, values []string
			for _, op := range v.Plan() {
				body, err := op.Body(v)
				if err != nil {
					t.Fatal(err)
				}
				value, _, _ := unstructured.NestedString(manifestIn(t, sample.WorkOf(body)), "data", "key")
				writes, values = append(writes, op.Cluster), append(values, value)
			}
			if f.NamespaceGoing = true; tc.live && tc.writes != "" && len(Decide(f).Plan()) > 0 {
				t.Errorf("%s: an override is undone in a Namespace that is being deleted", tc.reason)
			}
			if got := strings.Join(writes, " "); got != tc.writes || strings.Join(values, " ") != tc.values {
				t.Errorf("%s: %q get %q", tc.reason, got, values)
			}
			if (v.Lost() != nil) != tc.asks || (len(v.Refusals) > 0) != (tc.refused != "") || len(v.Refusals) > 0 && v.Refusals[0].Reason != tc.refused {
				t.Errorf("%s: asks %v, refusals %v", tc.reason, v.Lost(), v.Refusals)
			}
		})
	}
}

// TestUnreadablePolicySelects: a policy with a field of a newer Karmada concerns only what it selects.
func TestUnreadablePolicySelects(t *testing.T) {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"resourceSelectors": []any{map[string]any{"apiVersion": "v1", "kind": "Secret"}},
		"overrideRules":     []any{map[string]any{"overriders": map[string]any{"newOverrider": "x"}}},
	}}}
	u.SetAPIVersion("policy.karmada.io/v1alpha1")
	u.SetKind("OverridePolicy")
	u.SetNamespace(sample.Page.Namespace)
	u.SetName("newer")
	p := state.NewPolicy(u)
	if p.Fault == "" || p.MaySelect("ConfigMap", sample.Page.Namespace, "page") || !p.MaySelect("Secret", sample.Page.Namespace, "page") {
		t.Errorf("%+v", p)
	}
}

// TestUnreadablePolicyByLabels: a ClusterOverridePolicy gives the object the label by which an OverridePolicy selects
// it. That one cannot be read any more, but is there: its override is not undone.
func TestUnreadablePolicyByLabels(t *testing.T) {
	policy := func(kind, namespace, name string, selector map[string]any, overriders ...any) *state.Policy {
		selector["apiVersion"], selector["kind"] = "v1", "ConfigMap"
		var rules []any
		for _, o := range overriders {
			rules = append(rules, map[string]any{"overriders": o})
		}
		u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"resourceSelectors": []any{selector}, "overrideRules": rules}}}
		u.SetAPIVersion("policy.karmada.io/v1alpha1")
		u.SetKind(kind)
		u.SetNamespace(namespace)
		u.SetName(name)
		return state.NewPolicy(u)
	}
	labels := map[string]any{"labelsOverrider": []any{map[string]any{"operator": "add", "value": map[string]any{"tier": "prod"}}}}
	value := map[string]any{"plaintext": []any{map[string]any{"path": "/data/key", "operator": "replace", "value": "of-prod"}}}
	byLabel := map[string]any{"labelSelector": map[string]any{"matchLabels": map[string]any{"tier": "prod"}}}
	wide, prod := policy("ClusterOverridePolicy", "", "labels", map[string]any{}, labels), policy("OverridePolicy", sample.Page.Namespace, "prod", byLabel, value)
	f := overriddenFacts(sample.Annotations{render.ClustersAnnotation: "m1"}, wide, prod)
	carryOut(t, f)
	if got := f.Works["m1"].Notes().OverriddenBy; !strings.Contains(got, prod.Note()) || !strings.Contains(got, wide.Note()) {
		t.Fatalf("overridden by %q", got)
	}
	f.Policies[1] = policy("OverridePolicy", sample.Page.Namespace, "prod", byLabel, value, map[string]any{"xmlOverrider": []any{}})
	v := Decide(f)
	if len(v.Plan()) > 0 || len(v.Refusals) != 1 || v.Refusals[0].Reason != OverrideFailed {
		t.Errorf("planned %+v, refused %+v", v.Plan(), v.Refusals)
	}
}

// TestSameOverriders: two policies that change the same on different clusters are two policies.
func TestSameOverriders(t *testing.T) {
	f := Facts{ID: sample.Page, Source: NewSource(sample.Object(sample.Annotations{render.ClustersAnnotation: "m1,m2"}), render.Wishes{}), Works: map[string]*state.Work{}, Clusters: map[string]ClusterFacts{}, Policies: []*state.Policy{overridePolicy(t, "a", "same", "m1"), overridePolicy(t, "b", "same", "m2")}}
	for _, cluster := range []string{"m1", "m2"} {
		f.Clusters[cluster] = ClusterFacts{State: ClusterJoined, Member: &render.Member{Name: cluster}}
	}
	carryOut(t, f)
	for cluster, want := range map[string]string{"m1": "OverridePolicy/a", "m2": "OverridePolicy/b"} {
		if got := f.Works[cluster].Notes().OverriddenBy; got != want {
			t.Errorf("the Work on %s notes %q", cluster, got)
		}
	}
	if v := Decide(f); v.Lost() != nil || len(v.Plan()) > 0 {
		t.Errorf("lost %v, plan %v", v.Lost(), v.Plan())
	}
}

// TestFailingEditOnce: an edit that fails is not repeated for each cluster.
func TestFailingEditOnce(t *testing.T) {
	p := overridePolicy(t, "odd", "x")
	u := sample.Object(sample.Annotations{render.ClustersAnnotation: "*"})
	delete(u.Object, "data")
	r := renderings{f: Facts{ID: sample.Page, Source: NewSource(u, render.Wishes{}), Clusters: map[string]ClusterFacts{}, PoliciesLive: true, Policies: []*state.Policy{p}}}
	for _, cluster := range []string{"m1", "m2"} {
		r.f.Clusters[cluster] = ClusterFacts{State: ClusterJoined, Member: &render.Member{Name: cluster}}
		if _, err := r.of(cluster); err == nil {
			t.Errorf("%s: the edit does not fail", cluster)
		}
	}
	if len(r.made) != 1 {
		t.Errorf("%d results are kept", len(r.made))
	}
	if v := Decide(r.f); len(v.Refusals) != 1 || !strings.Contains(v.Refusals[0].Message, "m1") || !strings.Contains(v.Refusals[0].Message, "m2") {
		t.Errorf("%v", v.Refusals)
	}
}

// TestRendered: a Work that says what it was made from is not rendered again, and one whose content
// was edited by hand is.
func TestRendered(t *testing.T) {
	f := Facts{ID: sample.Page, Source: NewSource(sample.Object(sample.Annotations{render.ClustersAnnotation: "m1,m2"}), render.Wishes{}), Works: map[string]*state.Work{}, Clusters: map[string]ClusterFacts{}, PoliciesLive: true, Policies: []*state.Policy{overridePolicy(t, "base", "base")}}
	for _, cluster := range []string{"m1", "m2"} {
		f.Clusters[cluster] = ClusterFacts{State: ClusterJoined, Member: &render.Member{Name: cluster}}
	}
	carryOut(t, f)
	v := Decide(f)
	if v.Targets["m1"].Rendering == v.Targets["m2"].Rendering { // one that is made is made for both
		t.Error("Works that are as wanted are rendered again")
	}
	if plan := v.Plan(); len(plan) > 0 {
		t.Errorf("they are written again: %v", plan)
	}
	edited, err := v.Targets["m1"].edited()
	if err != nil {
		t.Fatal(err)
	}
	u := sample.WorkOf(edited.Work("m1"))
	manifest := manifestIn(t, u)
	if err := unstructured.SetNestedField(manifest, "by hand", "data", "key"); err != nil {
		t.Fatal(err)
	}
	if err := unstructured.SetNestedSlice(u.Object, []any{manifest}, "spec", "workload", "manifests"); err != nil {
		t.Fatal(err)
	}
	f.Works["m1"] = state.NewWork(u)
	v = Decide(f)
	plan := v.Plan()
	if len(plan) != 1 || plan[0].Cluster != "m1" || plan[0].Kind != Update {
		t.Fatalf("%v", plan)
	}
	body, err := plan[0].Body(v)
	if err != nil {
		t.Fatal(err)
	}
	if value, _, _ := unstructured.NestedString(manifestIn(t, sample.WorkOf(body)), "data", "key"); value != "base" {
		t.Errorf("it is repaired to %q", value)
	}
}
