package parity

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/render/override"
)

// strippedObjects have all that is removed from objects of their kinds.
var strippedObjects = []string{
	`{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {ttlSecondsAfterFinished: 600, selector: {matchLabels: {controller-uid: u, batch.kubernetes.io/controller-uid: u}},
template: {metadata: {labels: {app: a, controller-uid: u, batch.kubernetes.io/controller-uid: u, job-name: a, batch.kubernetes.io/job-name: a}}}}, status: {active: 1}}`,
	`{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {clusterIP: 10.96.0.50, clusterIPs: [10.96.0.50], ports: [{port: 80}]}, status: {loadBalancer: {}}}`,
	`{apiVersion: v1, kind: Secret, metadata: {name: a, annotations: {kubernetes.io/service-account.name: b, kubernetes.io/service-account.uid: u}}, type: kubernetes.io/service-account-token, data: {token: YQ==}}`,
	`{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, annotations: {deployment.kubernetes.io/revision: "1", deployment.kubernetes.io/revision-history: "1,2"}}, spec: {replicas: 1}}`,
	`{apiVersion: v1, kind: Service, metadata: {name: a, managedFields: [{manager: kubectl, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:type": {}}}}]},
spec: {type: LoadBalancer, healthCheckNodePort: 31422, ipFamilies: [IPv4], ipFamilyPolicy: SingleStack, ports: [{port: 80, protocol: TCP, nodePort: 30080}]}}`,
	`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a, annotations: {volume.kubernetes.io/selected-node: n, pv.kubernetes.io/bind-completed: "yes", volume.kubernetes.io/storage-provisioner: csi}}, spec: {volumeName: v}}`,
	`{apiVersion: v1, kind: PersistentVolume, metadata: {name: a, annotations: {pv.kubernetes.io/provisioned-by: csi}}, spec: {claimRef: {name: b, uid: u, resourceVersion: "7"}}}`,
	`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, uid: u, resourceVersion: "7", generation: 3, creationTimestamp: "2026-01-01T00:00:00Z", finalizers: [example.com/archive], ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: b, uid: v}],
annotations: {kubectl.kubernetes.io/last-applied-configuration: "{}", karmada.target/clusters: member1, example.com/a: b}, labels: {propagationpolicy.karmada.io/name: p, example.com/a: b}}, data: {a: b}}`,
}

// allocated are fields that only stay at home if no one has chosen them.
var allocated = []string{"/spec/volumeName", "/spec/healthCheckNodePort", "/spec/ipFamilies", "/spec/ipFamilyPolicy", "/spec/claimRef/uid", "/spec/claimRef/resourceVersion"}

// evidence are fields that we have looked at before a policy can change them.
var evidence = []string{"/metadata/generation", "/metadata/managedFields", "/metadata/annotations/pv.kubernetes.io~1bind-completed"}

// TestStrippedOverrides: a policy that changes a field that does not reach members has the effect that it has in Karmada, which
// overrides the object as it is. Of both results, the same is removed.
func TestStrippedOverrides(t *testing.T) {
	tried := 0
	for _, text := range strippedObjects {
		encoded, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(encoded); err != nil {
			t.Fatal(err)
		}
		object.SetNamespace("shop")
		for path, value := range pathsMissing(object.Object, strippedOf(t, object).Object, "") {
			if slices.Contains(evidence, path) {
				continue
			}
			for _, operation := range []map[string]any{{"operator": "remove"}, {"operator": "replace", "value": value}, {"operator": "add", "value": value}, {"operator": "replace", "value": "None"}} {
				operation["path"] = path
				_, isText := value.(string)
				if operation["value"] == "None" && !isText || slices.Contains(allocated, path) && operation["operator"] != "remove" { // what a policy allocates is chosen
					continue
				}
				tried++
				compareStripped(t, object, operation)
			}
		}
	}
	if tried < 60 {
		t.Errorf("only %d overrides were tried", tried)
	}
}

func compareStripped(t *testing.T, object *unstructured.Unstructured, operation map[string]any) {
	t.Helper()
	policy := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "policy.karmada.io/v1alpha1", "kind": "OverridePolicy", "metadata": map[string]any{"name": "p", "namespace": "shop"},
		"spec": map[string]any{
			"resourceSelectors": []any{map[string]any{"apiVersion": object.GetAPIVersion(), "kind": object.GetKind()}},
			"overrideRules":     []any{map[string]any{"overriders": map[string]any{"plaintext": []any{operation}}}},
		},
	}}
	cluster := &clusterv1alpha1.Cluster{}
	cluster.Name = "member1"
	c := overrideCase{object: object, cluster: cluster, policies: []*unstructured.Unstructured{policy}}
	theirs, _, err := c.karmada(t)
	if err != nil {
		t.Fatalf("Karmada refuses %v: %v", operation, err)
	}
	unstructured.RemoveNestedField(theirs.Object, "spec", "clusterIPs") // Karmada leaves them without or beside another clusterIP, which no member accepts
	parsed, err := override.NewPolicy(policy)
	if err != nil {
		t.Fatal(err)
	}
	m := newManifest(t, object)
	edited, err := m.Template(render.Options{}).With(render.Edit{Overrides: override.For([]*override.Policy{parsed}, m.Selected(), c.target())})
	if err != nil {
		t.Errorf("%s: %v: %v", object.GetKind(), operation, err)
		return
	}
	ours, err := edited.Object()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(encode(strippedOf(t, theirs)), encode(ours)); diff != "" {
		t.Errorf("%s: %v: -Karmada +ours:\n%s", object.GetKind(), operation, diff)
	}
}

func newManifest(t *testing.T, object *unstructured.Unstructured) *render.Manifest {
	t.Helper()
	gvk := object.GroupVersionKind()
	m, err := render.NewManifest(object.DeepCopy(), render.Identity{Group: gvk.Group, Kind: gvk.Kind, Namespace: "shop", Name: "a"}, "u")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func strippedOf(t *testing.T, object *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	object, err := newManifest(t, object).Object()
	if err != nil {
		t.Fatal(err)
	}
	return object
}

// pathsMissing returns what before has and after lacks, as JSON pointers with their values.
func pathsMissing(before, after map[string]any, path string) map[string]any {
	missing := map[string]any{}
	for key, value := range before {
		at := path + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
		there, has := after[key]
		fields, isMap := value.(map[string]any)
		if !has {
			missing[at] = value
			continue
		}
		if into, ok := there.(map[string]any); ok && isMap {
			for more, value := range pathsMissing(fields, into, at) {
				missing[more] = value
			}
		}
	}
	return missing
}
