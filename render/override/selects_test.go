package override

import "testing"

// TestSelects: what a policy selects, and what it may select with other labels, in another version.
func TestSelects(t *testing.T) {
	p := mustPolicy(t, "shop", "p", "resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, labelSelector: {matchLabels: {app: web}}}]\n"+overridersOf("labelsOverrider: [{operator: add, value: {a: b}}]"))
	cases := map[string]struct {
		reason       string
		object       Object
		selects, may bool
	}{
		"Selected":  {"all fits", web, true, true},
		"Labels":    {"another label may come", with(web, func(o *Object) { o.Labels = nil }), false, true},
		"Version":   {"another version may be read", with(web, func(o *Object) { o.APIVersion = "apps/v1beta1" }), false, true},
		"Kind":      {"another kind never", with(web, func(o *Object) { o.Kind = "Job" }), false, false},
		"Namespace": {"nor another namespace", with(web, func(o *Object) { o.Namespace = "bank" }), false, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := p.Selects(tc.object); got != tc.selects {
				t.Errorf("%s: selects %v", tc.reason, got)
			}
			if got := p.MaySelect(tc.object.Kind, tc.object.Namespace, tc.object.Name); got != tc.may {
				t.Errorf("%s: may select %v", tc.reason, got)
			}
		})
	}
	overrides := For([]*Policy{p}, web, member1)
	relabelled := member1
	relabelled.Labels = map[string]string{"tier": "test"}
	if p.Distinguishes(member1, relabelled) {
		t.Error("a policy for all clusters distinguishes some")
	}
	prod := mustPolicy(t, "shop", "prod", "overrideRules: [{targetCluster: {labelSelector: {matchLabels: {tier: prod}}}, "+labelling("prod")+"}]")
	if !prod.Distinguishes(member1, relabelled) || prod.Distinguishes(member1, member1) {
		t.Error("a policy by labels does not distinguish them")
	}
	parts := overrides.ByPolicy()
	if len(parts) != 1 || parts[0].Key() != overrides.Key() || len(Overrides{}.ByPolicy()) != 0 {
		t.Errorf("%d parts", len(parts))
	}
}

func with(o Object, change func(*Object)) Object {
	change(&o)
	return o
}

// TestSelectsAs: a policy that selects an object as it is does not select it in another version only.
func TestSelectsAs(t *testing.T) {
	const v1, beta = "{apiVersion: apps/v1, kind: Deployment}", "{apiVersion: apps/v1beta1, kind: Deployment}"
	for selectors, want := range map[string]string{v1: "", v1 + ", " + beta: "", beta: "apps/v1beta1", "{apiVersion: extensions/v1beta1, kind: Deployment}": "", "{apiVersion: apps/v1beta1, kind: Job}": ""} {
		p := mustPolicy(t, "shop", "p", "resourceSelectors: ["+selectors+"]\n"+overridersOf("labelsOverrider: [{operator: add, value: {a: b}}]"))
		if got := p.SelectsAs(web); got != want {
			t.Errorf("%s: selects it as %q", selectors, got)
		}
	}
}
