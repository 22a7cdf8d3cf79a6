package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestParts merges the part in the manifests with those that users have added.
func TestParts(t *testing.T) {
	const shipped = head + "deletion: {holdAbove: {works: 50, percent: 25}}\nresources: [{resource: configmaps}, {resource: services}]\n"
	cases := map[string]struct {
		reason    string
		own       Parts
		resources []string // resource, and its namespaces
		works     int
		allows    bool   // pods in shop to be mirrored to m1
		wrong     string // in the error; empty for none
	}{
		"None":          {"without other parts nothing changes", nil, []string{"configmaps []", "services []"}, 50, true, ""},
		"Added":         {"another part adds a resource", Parts{"own.yaml": head + "resources: [{resource: secrets}]"}, []string{"configmaps []", "services []", "secrets []"}, 50, true, ""},
		"Two":           {"in order of their names", Parts{"b.yaml": head + "resources: [{resource: pods}]", "a.yaml": head + "resources: [{resource: secrets}]"}, []string{"configmaps []", "services []", "secrets []", "pods []"}, 50, true, ""},
		"Narrowed":      {"a later entry replaces an earlier one", Parts{"own.yaml": head + "resources: [{resource: services, namespaces: [shop]}]"}, []string{"configmaps []", "services [shop]"}, 50, true, ""},
		"Breaker":       {"and so does the breaker's threshold", Parts{"own.yaml": head + "deletion: {holdAbove: {works: 7, percent: 1}}"}, []string{"configmaps []", "services []"}, 7, true, ""},
		"Half":          {"what a part omits stays", Parts{"own.yaml": head + "deletion: {holdAbove: {works: 7}}"}, []string{"configmaps []", "services []"}, 7, true, ""},
		"NoBreaker":     {"a key without a value is a mistake", Parts{"own.yaml": head + "deletion:"}, nil, 0, false, "own.yaml: invalid configuration: deletion"},
		"Documents":     {"one of two documents would be overlooked", Parts{"own.yaml": head + "resources: [{resource: pods}]\n---\n" + head}, nil, 0, false, "2 YAML documents"},
		"Rules":         {"what one part allows is allowed", Parts{"a.yaml": head + "authorization: [{namespaces: [other]}]", "b.yaml": head + "authorization: [{resources: [configmaps], clusters: [m1]}]"}, []string{"configmaps []", "services []"}, 50, true, ""},
		"NoRules":       {"a part that allows nothing, alone, allows nothing", Parts{"own.yaml": head + "authorization: []"}, []string{"configmaps []", "services []"}, 50, false, ""},
		"RulesOfOthers": {"a rule may name a resource in another part", Parts{"own.yaml": head + "authorization: [{resources: [services]}]"}, []string{"configmaps []", "services []"}, 50, false, ""},
		"Stripped":      {"what is stripped and the policies do not concern what is mirrored", Parts{"own.yaml": head + "strip: {labels: [a]}\noverridePolicies: Honor"}, []string{"configmaps []", "services []"}, 50, true, ""},
		"Mistake":       {"a mistake names its part, and its field", Parts{"own.yaml": head + "resources: [{resource: nodes}]"}, nil, 0, false, "own.yaml: invalid configuration: resources[0]"},
		"Unknown":       {"so does an unknown field", Parts{"own.yaml": head + "resource: []"}, nil, 0, false, `own.yaml: cannot decode the configuration: unknown field "resource"`},
		"Both":          {"all mistakes are reported", Parts{"a.yaml": head + "resources: [{resource: nodes}]", "b.yaml": "x"}, nil, 0, false, "b.yaml: "},
		"Twice":         {"twice in one part is still a mistake", Parts{"own.yaml": head + "resources: [{resource: pods}, {resource: pods}]"}, nil, 0, false, "resources[1]: Duplicate value"},
		"NoHead":        {"each part says what it is", Parts{"own.yaml": "resources: [{resource: secrets}]"}, nil, 0, false, "own.yaml: invalid configuration: [apiVersion"},
		"RuleOfNone":    {"a rule for a resource in no part is a mistake", Parts{"own.yaml": head + "authorization: [{resources: [pods]}]"}, nil, 0, false, "own.yaml: invalid configuration: authorization[0].resources[0]"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			data := map[string]string{Key: shipped, "notes.txt": "no part"}
			for key, text := range tc.own {
				data[key] = text
			}
			c, err := ParseConfigMap(data)
			if err != nil || tc.wrong != "" {
				if tc.wrong == "" || err == nil || !strings.Contains(err.Error(), tc.wrong) {
					t.Fatalf("%s: error %v", tc.reason, err)
				}
				return
			}
			var resources []string
			for _, r := range c.Resources {
				resources = append(resources, r.Resource+" ["+strings.Join(r.Namespaces, ",")+"]")
			}
			if diff := cmp.Diff(tc.resources, resources); diff != "" || c.Deletion.HoldAbove.Works != tc.works || name == "Half" && c.Deletion.HoldAbove.Percent != 25 {
				t.Errorf("%s: %d; -want +got:\n%s", tc.reason, c.Deletion.HoldAbove.Works, diff)
			}
			if got := c.Allows(Source{Resource: schema.GroupResource{Resource: "configmaps"}.String(), Namespace: "shop"}, "m1"); got != tc.allows {
				t.Errorf("%s: allowed %v", tc.reason, got)
			}
		})
	}
	if _, err := ParseConfigMap(map[string]string{"own.yaml": shipped}); err == nil || !strings.Contains(err.Error(), Key) {
		t.Errorf("without the part in the manifests: %v", err)
	}
}

// TestPartsDiffer: what is stripped adds up, and the later word on policies counts.
func TestPartsDiffer(t *testing.T) {
	c, err := Parts{
		Key:      head + "overridePolicies: Honor\nexpand: {annotations: [d]}\nstrip: {labels: [a], annotations: [b]}",
		"a.yaml": head + "strip: {labels: [c]}\nexpand: {}",
		"b.yaml": head + "overridePolicies: Ignore\nexpand: {annotations: []}",
	}.Parse()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Strip{Labels: []string{"a", "c"}, Annotations: []string{"b"}}, c.Strip); diff != "" || c.HonorsPolicies() || c.Expand.Annotations == nil || len(c.Expand.Annotations) > 0 {
		t.Errorf("honors %v, shows %v, -want +got:\n%s", c.HonorsPolicies(), c.Expand.Annotations, diff)
	}
}
