package render

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestShrink(t *testing.T) {
	cases := map[string]struct {
		reason, work, want string
	}{
		"Namespaced": {
			"Karmada finds the object by these four, and does not apply what is left",
			`{"spec":{"workload":{"manifests":[{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop","labels":{"a":"b"}},"spec":{"replicas":3}}]}}}`,
			`{"metadata":{"resourceVersion":"7"},"spec":{"suspendDispatching":true,"workload":{"manifests":[{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop"}}]}}}`,
		},
		"ClusterScoped": {
			"it has no namespace",
			`{"spec":{"preserveResourcesOnDeletion":false,"workload":{"manifests":[{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"disk"}}]}}}`,
			`{"metadata":{"resourceVersion":"7"},"spec":{"suspendDispatching":true,"workload":{"manifests":[{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"disk"}}]}}}`,
		},
		"Preserved":  {"Karmada would write what is left into the member", `{"spec":{"preserveResourcesOnDeletion":true,"workload":{"manifests":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"page"}}]}}}`, ""},
		"NotOurForm": {"what it holds is not known", `{"spec":{"workload":{"manifests":[]}}}`, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var work map[string]any
			if err := json.Unmarshal([]byte(c.work), &work); err != nil {
				t.Fatal(err)
			}
			got, err := Shrink(work, "7")
			if (err != nil) != (c.want == "") {
				t.Fatalf("%s: %v", c.reason, err)
			}
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}
