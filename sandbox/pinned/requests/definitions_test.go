package requests

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/simulation/apiserver"
)

// changeDefinition changes a definition step by step. What both servers answer after each step
// becomes equal.
func (p *pair) changeDefinition(t *testing.T) {
	store := apiserver.NewStore(p.resource...)
	store.ControllerDelay = 0
	real, simulated := newSide(p.client, p.base, "default"), newSide(&http.Client{Transport: store.NewServer()}, "http://simulated", "default")
	_, err := store.Create(schema.GroupResource{Resource: "namespaces"}, apiserver.Object{"metadata": map[string]any{"name": "default"}})
	must(t, err)
	const (
		definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
		definition  = definitions + "/widgets.pinned2.example.org"
		v1          = "/apis/pinned2.example.org/v1/namespaces/{ns}/widgets"
		v2          = "/apis/pinned2.example.org/v2/namespaces/{ns}/widgets"
		discovery   = "/apis/pinned2.example.org"

		properties = `"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"size":{"type":"integer"}}}}}}`
	)
	versions := func(v1, v2, stored string) string {
		return fmt.Sprintf(`[{"name":"v1","served":%s,"storage":%t,%s},{"name":"v2","served":%s,"storage":%t,%s}]`, v1, stored == "v1", properties, v2, stored == "v2", properties)
	}
	for i, r := range []step{
		{"GET", v1, "", "", ""},
		{"GET", discovery + "/v1", "", "", ""},
		{"GET", discovery + "/v2", "", "", ""},
		{"POST", definitions, jsonType, `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.pinned2.example.org"},"spec":{"group":"pinned2.example.org","scope":"Namespaced","names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},"versions":` + versions("true", "false", "v1") + `}}`, ""},
		{"GET", v1, "", "", ""},
		{"GET", v2, "", "", ""},
		{"GET", discovery + "/v1", "", "", ""},
		{"GET", discovery + "/v2", "", "", ""},
		{"POST", v1, jsonType, `{"apiVersion":"pinned2.example.org/v1","kind":"Widget","metadata":{"name":"a","finalizers":["example.org/f"]},"spec":{"size":1,"unknown":2}}`, ""},
		{"PATCH", definition, merge, `{"spec":{"versions":` + versions("true", "true", "v2") + `}}`, ""},
		{"GET", v2, "", "", ""},
		{"GET", v2 + "/a", "", "", ""},
		{"GET", v1 + "/a", "", "", ""},
		{"GET", discovery + "/v1", "", "", ""},
		{"GET", discovery + "/v2", "", "", ""},
		{"PATCH", v2 + "/a", merge, `{"spec":{"size":2}}`, ""},
		{"PATCH", definition, merge, `{"spec":{"versions":` + versions("false", "true", "v2") + `}}`, ""},
		{"GET", v1 + "/a", "", "", ""},
		{"GET", v2 + "/a", "", "", ""},
		{"PATCH", definition, merge, `{"spec":{"versions":` + versions("false", "false", "v2") + `}}`, ""},
		{"GET", v2 + "/a", "", "", ""},
		{"GET", discovery + "/v1", "", "", ""},
		{"GET", discovery + "/v2", "", "", ""},
		{"PATCH", definition, merge, `{"spec":{"versions":` + versions("true", "true", "v2") + `}}`, ""},
		{"GET", v1 + "/a", "", "", ""},
		{"DELETE", definition, "", "", ""},
		{"GET", v1 + "/a", "", "", ""},
		{"PATCH", v1 + "/a", merge, `{"metadata":{"finalizers":null}}`, ""},
		{"GET", v1 + "/a", "", "", ""},
		{"GET", discovery + "/v1", "", "", ""},
		{"GET", discovery + "/v2", "", "", ""},
		{"GET", definition, "", "", ""},
	} {
		for _, side := range []*side{real, simulated} {
			if r.Method != http.MethodGet {
				_, err := side.send(r)
				must(t, err)
			}
		}
		if r.Method != http.MethodGet {
			continue
		}
		var want, got answer
		for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
			for _, side := range []*side{real, simulated} { // how often they were asked does not count
				side.seenVersions, side.seenUIDs = nil, nil
			}
			want, err = real.send(r)
			must(t, err)
			got, err = simulated.send(r)
			must(t, err)
			if gocmp.Equal(want, got) {
				break
			}
		}
		if d := gocmp.Diff(want, got); d != "" {
			t.Errorf("step %d, %s (-real +simulated):\n%s", i, r.Path, d)
		}
	}
}

// thing has two versions, subresources and a schema.
const thing = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.pinned.example.org}
spec:
  group: pinned.example.org
  scope: Namespaced
  names: {plural: things, singular: thing, kind: Thing, listKind: ThingList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: &subresources
      status: {}
      scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}
    schema: &schema
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              replicas: {type: integer}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
          status:
            type: object
            properties:
              replicas: {type: integer}
  - name: v1beta1
    served: true
    storage: false
    subresources: *subresources
    schema: *schema
`

// loose has neither.
const loose = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: looses.pinned.example.org}
spec:
  group: pinned.example.org
  scope: Namespaced
  names: {plural: looses, singular: loose, kind: Loose, listKind: LooseList}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}
`
