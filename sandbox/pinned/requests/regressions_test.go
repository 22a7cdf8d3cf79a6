package requests

const (
	maps   = "/api/v1/namespaces/{ns}/configmaps"
	leases = "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases"
	things = "/apis/pinned.example.org/v1/namespaces/{ns}/things"
	merge  = "application/merge-patch+json"
)

// regressions are sequences that have differed, as TestRequests printed them.
var regressions = map[string]sequence{
	"a PUT with a UID creates nothing": {Steps: []step{
		{"PUT", leases + "/a", jsonType, `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"a","uid":"{uid leases/a}"}}`, ""},
	}},
	"a DELETE of a collection returns the objects as they were": {Steps: []step{
		{"POST", maps, jsonType, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","finalizers":["example.org/f"]}}`, ""},
		{"DELETE", maps + "?labelSelector=", "", ``, ""},
	}},
	"an object that is being deleted exists": {Steps: []step{
		{"POST", maps, jsonType, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","finalizers":["example.org/f"]}}`, ""},
		{"DELETE", maps + "/a", "", ``, ""},
		{"POST", maps, jsonType, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`, ""},
		{"PATCH", maps + "/a", merge, `{"metadata":{"finalizers":null}}`, ""},
		{"GET", maps + "/a", "", ``, ""},
	}, Watches: []string{maps + "?watch=true&timeoutSeconds=30&resourceVersion={begin}"}},
	"a generated name comes after admission": {Steps: []step{
		{"DELETE", "/api/v1/namespaces/{ns}", "", ``, ""},
		{"POST", maps, jsonType, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"gen-"}}`, ""},
	}},
	"a page of a selection has a token though nothing follows": {Steps: []step{
		{"POST", maps, jsonType, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","labels":{"l":"x"}}}`, ""},
		{"POST", maps, jsonType, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}`, ""},
		{"GET", maps + "?labelSelector=l&limit=1", "", ``, ""},
		{"GET", maps + "?labelSelector=l&limit=1&continue={continue}", "", ``, ""},
	}},
	"a scale can be asked for its metadata": {Steps: []step{
		{"POST", things, jsonType, `{"apiVersion":"pinned.example.org/v1","kind":"Thing","metadata":{"name":"a"},"spec":{"replicas":1}}`, ""},
		{"GET", things + "/a/scale", "", ``, partial},
	}},
	"an object leaves and enters what is watched": {Steps: []step{
		{"POST", maps, jsonType, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","labels":{"l":"y"}}}`, ""},
		{"PATCH", maps + "/a", merge, `{"metadata":{"labels":null},"data":{"v":"1"}}`, ""},
		{"PATCH", maps + "/a", merge, `{"metadata":{"labels":{"l":"y"}},"data":{"v":"2"}}`, ""},
		{"DELETE", maps + "/a", "", ``, ""},
	}, Watches: []string{maps + "?watch=true&timeoutSeconds=30&labelSelector=l+in+(y,end)&resourceVersion={begin}"}},
}
