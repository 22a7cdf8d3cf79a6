package render

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestShrink(t *testing.T) {
	web := Identity{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
	cases := map[string]struct {
		reason, work, want string
		id                 Identity
	}{
		"Namespaced": {
			"Karmada finds the object by these four fields, and does not apply them",
			`{"spec":{"workload":{"manifests":[{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop","labels":{"a":"b"}},"spec":{"replicas":3}}]}}}`,
			`{"metadata":{"resourceVersion":"7"},"spec":{"suspendDispatching":true,"workload":{"manifests":[{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop"}}]}}}`,
			web,
		},
		"ClusterScoped": {
			"it has no namespace",
			`{"spec":{"preserveResourcesOnDeletion":false,"workload":{"manifests":[{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"disk"}}]}}}`,
			`{"metadata":{"resourceVersion":"7"},"spec":{"suspendDispatching":true,"workload":{"manifests":[{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"disk"}}]}}}`,
			Identity{Kind: "PersistentVolume", Name: "disk"},
		},
		"Preserved":   {"Karmada would apply the rest in the member", `{"spec":{"preserveResourcesOnDeletion":true,"workload":{"manifests":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"page"}}]}}}`, "", Identity{Kind: "ConfigMap", Name: "page"}},
		"NotOurForm":  {"its content is not known", `{"spec":{"workload":{"manifests":[]}}}`, "", web},
		"Another":     {"the object would stay in the member", `{"spec":{"workload":{"manifests":[{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"other","namespace":"shop"}}]}}}`, "", web},
		"Nameless":    {"it also would if the name is missing", `{"spec":{"workload":{"manifests":[{"apiVersion":"apps/v1","kind":"Deployment","metadata":{}}]}}}`, "", web},
		"Versionless": {"or the version", `{"spec":{"workload":{"manifests":[{"kind":"Deployment","metadata":{"name":"web","namespace":"shop"}}]}}}`, "", web},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var work map[string]any
			if err := json.Unmarshal([]byte(c.work), &work); err != nil {
				t.Fatal(err)
			}
			got, err := Shrink(work, c.id, "7")
			if (err != nil) != (c.want == "") {
				t.Fatalf("%s: %v", c.reason, err)
			}
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}
