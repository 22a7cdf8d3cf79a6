package render

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/json"
)

func TestStrip(t *testing.T) {
	cases := map[string]struct {
		reason    string
		obj, want string
	}{
		"ServerSet": {
			reason: "Fields that the server sets mean nothing in a member; a generateName does no harm.",
			obj: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"b","generateName":"a-","uid":"u","resourceVersion":"1",
				"generation":2,"creationTimestamp":"t","deletionTimestamp":"t","deletionGracePeriodSeconds":30,"managedFields":[{}],
				"selfLink":"/","ownerReferences":[{}],"finalizers":["x"]},"data":{"k":"v"},"status":{"x":1}}`,
			want: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"b","generateName":"a-"},"data":{"k":"v"}}`,
		},
		"Annotations": {
			reason: "Our annotations, kubectl's and all of Karmada's are removed, the user's stay.",
			obj: `{"metadata":{"annotations":{"karmada.target/clusters":"a","karmada.target/unknown":"","kubectl.kubernetes.io/last-applied-configuration":"{}",
				"work.karmada.io/conflict-resolution":"overwrite","karmada.io/x":"","propagationpolicy.karmada.io/name":"p","resourcetemplate.karmada.io/retain-replicas":"true",
				"karmada.io":"a name without a domain","notkarmada.io/x":"","example.com/karmada.io":"","kubectl.kubernetes.io/restartedAt":"t"}}}`,
			want: `{"metadata":{"annotations":{"karmada.io":"a name without a domain","notkarmada.io/x":"","example.com/karmada.io":"","kubectl.kubernetes.io/restartedAt":"t"}}}`,
		},
		"RetainsNothing": {
			reason: "Karmada looks for one value of it; any other would be wanted but never written.",
			obj:    `{"metadata":{"labels":{"app":"web","resourcetemplate.karmada.io/retain-replicas":"false"}}}`,
			want:   `{"metadata":{"labels":{"app":"web"}}}`,
		},
		"Labels": {
			reason: "Of Karmada's labels, a source may set only retain-replicas.",
			obj: `{"metadata":{"labels":{"app":"web","karmada.target/x":"","karmada.io/managed":"true","work.karmada.io/permanent-id":"1",
				"resourcetemplate.karmada.io/retain-replicas":"true","resourcetemplate.karmada.io/claimed-by":"x","propagationpolicy.karmada.io/permanent-id":"1","a.b.karmada.io/x":""}}}`,
			want: `{"metadata":{"labels":{"app":"web","resourcetemplate.karmada.io/retain-replicas":"true"}}}`,
		},
		"EmptyMaps": {
			reason: "A map that becomes empty is removed too.",
			obj:    `{"metadata":{"annotations":{"karmada.target/clusters":"a"},"labels":{}}}`,
			want:   `{"metadata":{}}`,
		},
		"PodTemplate": {
			reason: "Deeper fields belong to the user.",
			obj:    `{"spec":{"template":{"metadata":{"annotations":{"karmada.io/x":"y"},"labels":{}},"status":{}}}}`,
			want:   `{"spec":{"template":{"metadata":{"annotations":{"karmada.io/x":"y"},"labels":{}},"status":{}}}}`,
		},
		"Nulls": {
			reason: "A null field means nothing in a typed object, a null in a list holds a position.",
			obj:    `{"data":null,"spec":{"a":null,"b":[null,{"c":null,"d":0}],"e":{}},"metadata":{"creationTimestamp":null,"labels":null,"name":null}}`,
			want:   `{"spec":{"b":[null,{"d":0}],"e":{}},"metadata":{}}`,
		},
		"CustomNulls": {
			reason: "In a custom resource, nulls are content.",
			obj:    `{"apiVersion":"helm.toolkit.fluxcd.io/v2","spec":{"a":null,"b":[null,{"c":null}]},"metadata":{"creationTimestamp":null,"labels":null,"name":"n"}}`,
			want:   `{"apiVersion":"helm.toolkit.fluxcd.io/v2","spec":{"a":null,"b":[null,{"c":null}]},"metadata":{"name":"n"}}`,
		},
		"OddPorts": {
			reason: "Ports that have no key are not owned, and no panic.",
			obj:    `{"apiVersion":"v1","kind":"Service","metadata":{"managedFields":[{"manager":"a","operation":"Update","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:type":{}}}}]},"spec":{"ports":[null,1,{},{"port":{},"protocol":[1],"nodePort":1},{"port":"x","nodePort":{}},{"port":80.5,"nodePort":2}]}}`,
			want:   `{"apiVersion":"v1","kind":"Service","metadata":{},"spec":{"ports":[null,1,{},{"port":{},"protocol":[1]},{"port":"x"},{"port":80.5}]}}`,
		},
		"OddManagers": {
			reason: "Managed fields that cannot be read say nothing: all is the user's.",
			obj:    `{"apiVersion":"v1","kind":"Service","metadata":{"managedFields":[{"manager":"a","fieldsV1":{"x":1}}]},"spec":{"healthCheckNodePort":1,"ports":[{"port":80,"protocol":"TCP","nodePort":1}]}}`,
			want:   `{"apiVersion":"v1","kind":"Service","metadata":{},"spec":{"healthCheckNodePort":1,"ports":[{"port":80,"protocol":"TCP","nodePort":1}]}}`,
		},
		"OddMetadata": {
			reason: "Metadata that is not a map is dropped.",
			obj:    `{"metadata":"x","spec":"y"}`,
			want:   `{"spec":"y"}`,
		},
		"OddMaps": {
			reason: "Labels and annotations that are not maps of strings are dropped, entry by entry where possible.",
			obj:    `{"metadata":{"labels":["a"],"annotations":{"a":1,"b":{},"c":"d","e":null}}}`,
			want:   `{"metadata":{"annotations":{"c":"d"}}}`,
		},
		"Deployment": {
			reason: "Each control plane counts its own revisions.",
			obj:    `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"annotations":{"deployment.kubernetes.io/revision":"3","deployment.kubernetes.io/revision-history":"1,2"}}}`,
			want:   `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{}}`,
		},
		"ForeignDeployment": {
			reason: "A custom Deployment is not a Deployment.",
			obj:    `{"apiVersion":"example.com/v1","kind":"Deployment","metadata":{"annotations":{"deployment.kubernetes.io/revision":"3"}}}`,
			want:   `{"apiVersion":"example.com/v1","kind":"Deployment","metadata":{"annotations":{"deployment.kubernetes.io/revision":"3"}}}`,
		},
		"PersistentVolumeClaim": {
			reason: "The node was selected for this control plane.",
			obj:    `{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"annotations":{"volume.kubernetes.io/selected-node":"n","a":"b"}}}`,
			want:   `{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"annotations":{"a":"b"}}}`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) { checkStrip(t, tc.reason, tc.obj, tc.want) })
	}
}

func TestStripJob(t *testing.T) {
	const selector = `"selector":{"matchLabels":{"controller-uid":"1","batch.kubernetes.io/controller-uid":"1","a":"b"}}`
	const template = `"template":{"metadata":{"labels":{"controller-uid":"1","batch.kubernetes.io/controller-uid":"1","job-name":"j","batch.kubernetes.io/job-name":"j","a":"b"}}}`
	const stripped = `"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}}}`
	job := func(spec string) string { return `{"apiVersion":"batch/v1","kind":"Job","spec":` + spec + `}` }
	cases := map[string]struct {
		reason    string
		obj, want string
	}{
		"Generated": {"The API server generates the selector again.", job(`{` + selector + `,` + template + `,"ttlSecondsAfterFinished":5}`), job(`{` + stripped + `}`)},
		"NotManual": {"False is the default.", job(`{"manualSelector":false,` + selector + `,` + template + `}`), job(`{"manualSelector":false,` + stripped + `}`)},
		"Manual":    {"A manual selector stays as written, but the TTL does not.", job(`{"manualSelector":true,` + selector + `,` + template + `,"ttlSecondsAfterFinished":5}`), job(`{"manualSelector":true,` + selector + `,` + template + `}`)},
		"OddManual": {"A string is not a boolean, and not a reason to fail.", job(`{"manualSelector":"yes",` + selector + `,` + template + `}`), job(`{"manualSelector":"yes",` + stripped + `}`)},
		"OddTypes":  {"A field that is not a map is left alone.", job(`{"selector":"x","template":{"metadata":7}}`), job(`{"selector":"x","template":{"metadata":7}}`)},
		"OddLabels": {"So are labels that are a list.", job(`{"selector":{"matchLabels":[1]},"template":[]}`), job(`{"selector":{"matchLabels":[1]},"template":[]}`)},
		"OddSpec":   {"So is a spec that is a list.", job(`[{"ttlSecondsAfterFinished":5}]`), job(`[{"ttlSecondsAfterFinished":5}]`)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) { checkStrip(t, tc.reason, tc.obj, tc.want) })
	}
}

func TestStripCore(t *testing.T) {
	core := func(kind, rest string) string { return `{"apiVersion":"v1","kind":"` + kind + `",` + rest + `}` }
	account := func(secrets string) string {
		return core("ServiceAccount", `"metadata":{"name":"bot"},"secrets":`+secrets)
	}
	cases := map[string]struct {
		reason    string
		obj, want string
	}{
		"Service":         {"The address belongs to this control plane.", core("Service", `"spec":{"clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1"],"ports":[]}`), core("Service", `"spec":{"ports":[]}`)},
		"Headless":        {"None is the user's choice.", core("Service", `"spec":{"clusterIP":"None","clusterIPs":["None"]}`), core("Service", `"spec":{"clusterIP":"None","clusterIPs":["None"]}`)},
		"OddService":      {"A number is not an address.", core("Service", `"spec":{"clusterIP":1,"clusterIPs":{}}`), core("Service", `"spec":{"clusterIP":1,"clusterIPs":{}}`)},
		"OddServiceSpec":  {"A spec that is not a map is left alone.", core("Service", `"spec":1`), core("Service", `"spec":1`)},
		"Token":           {"A token is worthless in a member.", core("Secret", `"type":"kubernetes.io/service-account-token","data":{"token":"x"},"metadata":{"annotations":{"kubernetes.io/service-account.uid":"u","kubernetes.io/service-account.name":"bot"}}`), core("Secret", `"type":"kubernetes.io/service-account-token","metadata":{"annotations":{"kubernetes.io/service-account.name":"bot"}}`)},
		"Secret":          {"Other data is kept.", core("Secret", `"type":"Opaque","data":{"k":"dg=="}`), core("Secret", `"type":"Opaque","data":{"k":"dg=="}`)},
		"OddSecret":       {"A list is not a type.", core("Secret", `"type":["kubernetes.io/service-account-token"],"data":7`), core("Secret", `"type":["kubernetes.io/service-account-token"],"data":7`)},
		"Account":         {"Generated references are removed, in a row too; the user's stay.", account(`[{"name":"bot-token-a"},{"name":"bot-token-b"},{"name":"mine"},{"name":"bot-token-c"}]`), account(`[{"name":"mine"}]`)},
		"AccountAll":      {"The empty list stays, as with Karmada.", account(`[{"name":"bot-token-a"}]`), account(`[]`)},
		"OddAccount":      {"A reference without a name would make Karmada's webhook panic.", account(`[1,null,"bot-token-a",{"name":3},{},{"name":"mine"},{"kind":"Secret"}]`), account(`[{"name":"mine"}]`)},
		"OddSecrets":      {"A field that is not a list is left alone.", account(`{"name":"bot-token-a"}`), account(`{"name":"bot-token-a"}`)},
		"ForeignAccount":  {"A custom kind has its own secrets.", `{"apiVersion":"example.com/v1","kind":"ServiceAccount","metadata":{"name":"bot"},"secrets":[{"name":"bot-token-a"},7]}`, `{"apiVersion":"example.com/v1","kind":"ServiceAccount","metadata":{"name":"bot"},"secrets":[{"name":"bot-token-a"},7]}`},
		"ForeignService":  {"And its own addresses.", `{"apiVersion":"serving.example.com/v1","kind":"Service","spec":{"clusterIP":"x"}}`, `{"apiVersion":"serving.example.com/v1","kind":"Service","spec":{"clusterIP":"x"}}`},
		"NoKind":          {"An object without a kind.", `{"kind":7,"apiVersion":[],"spec":{}}`, `{"kind":7,"apiVersion":[],"spec":{}}`},
		"OddAPIVersion":   {"A version of three parts has no group, not the core group.", `{"kind":"Secret","apiVersion":"a/b/c","type":"kubernetes.io/service-account-token","data":{"a":"b"}}`, `{"kind":"Secret","apiVersion":"a/b/c","type":"kubernetes.io/service-account-token","data":{"a":"b"}}`},
		"NothingWhatever": {"Nothing is nothing.", `{}`, `{}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) { checkStrip(t, tc.reason, tc.obj, tc.want) })
	}
}

func checkStrip(t *testing.T, reason, obj, want string) {
	t.Helper()
	got, wanted := decode(t, obj), decode(t, want)
	Strip(got)
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("%s\n-want +got:\n%s", reason, diff)
	}
	Strip(got)
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("%s\na second time: -want +got:\n%s", reason, diff)
	}
}

func decode(t *testing.T, text string) map[string]any {
	t.Helper()
	var obj map[string]any
	if err := json.Unmarshal([]byte(text), &obj); err != nil {
		t.Fatalf("cannot decode %.200s: %v", text, err)
	}
	return obj
}

func TestStripGoValues(t *testing.T) {
	obj := map[string]any{"spec": []any{math.Copysign(0, -1), 0.5, int64(7)}, "a": []any(nil), "b": map[string]any(nil), "c": []any{}}
	Strip(obj)
	want := map[string]any{"spec": []any{int64(0), 0.5, int64(7)}, "c": []any{}}
	if diff := cmp.Diff(want, obj); diff != "" {
		t.Errorf("Values from Go code must encode to what they decode to: -want +got:\n%s", diff)
	}
}

func TestStripNothing(*testing.T) {
	Strip(nil)
}

func FuzzStrip(f *testing.F) {
	for _, seed := range manifestSeeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var obj map[string]any
		if json.Unmarshal(text, &obj) != nil || obj == nil {
			return
		}
		Strip(obj)
		once, err := json.Marshal(obj)
		if err != nil {
			t.Fatalf("cannot encode it: %v", err)
		}
		Strip(obj)
		twice, err := json.Marshal(obj)
		if err != nil {
			t.Fatalf("cannot encode it again: %v", err)
		}
		if diff := cmp.Diff(string(once), string(twice)); diff != "" {
			t.Errorf("stripping again changes it: -once +twice:\n%s", diff)
		}
		checkStripped(t, obj)
	})
}

func checkStripped(t *testing.T, obj map[string]any) {
	t.Helper()
	if _, ok := obj["status"]; ok {
		t.Error("it has a status")
	}
	metadata, _ := obj["metadata"].(map[string]any)
	for _, field := range serverSet {
		if _, ok := metadata[field]; ok {
			t.Errorf("it has metadata.%s", field)
		}
	}
	for _, field := range []string{"labels", "annotations"} {
		entries, isMap := metadata[field].(map[string]any)
		if _, ok := metadata[field]; ok && (!isMap || len(entries) == 0) {
			t.Errorf("metadata.%s is %v", field, metadata[field])
		}
		for key, value := range entries {
			if _, ok := value.(string); !ok || karmadaKey(key) && (field != "labels" || key != retainReplicasLabel) {
				t.Errorf("metadata.%s has %q: %v", field, key, value)
			}
		}
	}
}

// manifestSeeds are the fuzzing seeds.
var manifestSeeds = []string{
	`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"b","labels":{"x":"y"},"annotations":{"karmada.target/clusters":"m"}},"data":{"k":"v"}}`,
	`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"a","namespace":"b"},"spec":{"ttlSecondsAfterFinished":1,"selector":{"matchLabels":{"controller-uid":"1"}},"template":{"metadata":{"labels":{"job-name":"a"}}}}}`,
	`{"apiVersion":"example.com/v1","kind":"Job","metadata":{"name":"a"},"spec":"x"}`,
	`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"type":"kubernetes.io/service-account-token","data":{"a":"b"}}`,
	`{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"a"},"secrets":[{"name":"a-token-x"},1,null]}`,
	`{"apiVersion":"v1","kind":"Service","metadata":{"name":"a"},"spec":{"clusterIP":"1","clusterIPs":[]}}`,
	`{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"a","annotations":{"volume.kubernetes.io/selected-node":"n"}}}`,
	`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a","annotations":{"deployment.kubernetes.io/revision":"1"}},"spec":{"n":-0,"f":-0.0,"big":1e300,"i":9223372036854775807}}`,
	`{"apiVersion":"a/v1","kind":"K","metadata":{"name":"a","annotations":{"work.karmada.io/namespace":"karmada-es-m","x":"\",\"work.karmada.io/namespace\":\""}},"spec":{"\u0000":"\u2028<&>","null":null}}`,
	`{"metadata":7,"kind":[],"apiVersion":{}}`,
}
