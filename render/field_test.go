package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/karmada-target/karmada-mirror/render/override"
)

// TestField: what public bug reports say of objects that people spread over clusters. Each file of testdata/field names its
// reports; of its objects, the manifests have these fields, in JSON, and lack those that are empty here.
func TestField(t *testing.T) {
	for file, objects := range map[string]map[string]map[string]string{
		"03-service-allocated-ports.yaml": {"Service": {
			"spec.clusterIP": "", "spec.healthCheckNodePort": "", "spec.ipFamilies": "", "spec.ipFamilyPolicy": "", "spec.externalTrafficPolicy": `"Local"`,
			"spec.ports": `[{"name":"http","port":80,"protocol":"TCP","targetPort":8080},{"name":"https","nodePort":30443,"port":443,"protocol":"TCP","targetPort":8443}]`,
		}},
		"09-claim-with-binding.yaml": {
			"PersistentVolumeClaim": {"spec.volumeName": "", "spec.storageClassName": `"fast"`, "metadata.finalizers": ""},
			"PersistentVolume":      {"spec.claimRef": `{"apiVersion":"v1","kind":"PersistentVolumeClaim","name":"data","namespace":"shop"}`},
		},
		"33-pod.yaml": {"Pod": {
			"spec.nodeName": "", "spec.priority": "", "spec.preemptionPolicy": "", "spec.tolerations": "", "spec.volumes": "", "spec.enableServiceLinks": "true",
			"spec.containers": `[{"image":"registry.example.com/debug:1","name":"debug"}]`,
		}},
		"32-rancher-annotations.yaml": {"Deployment": {
			"metadata|annotations|field.cattle.io/publicEndpoints": "", "metadata|annotations|objectset.rio.cattle.io/applied": "",
			"metadata|annotations|objectset.rio.cattle.io/id": "", "metadata|labels|objectset.rio.cattle.io/hash": "",
		}},
		"05-service-account-token.yaml": {"Secret": {"data": "", "type": `"kubernetes.io/service-account-token"`}},
		"01-helmrelease-nulls.yaml": {
			"HelmRelease": {"spec.values.livenessProbe": `{"httpGet":null,"tcpSocket":{"port":8080}}`, "spec.values.resources.limits.cpu": "null", "spec.values.nodeSelector": "null", "spec.values.list": `[null,{"a":null},1]`},
			"Application": {"spec.source.helm.valuesObject": `{"affinity":{"nodeAffinity":null},"podSecurityContext":null}`},
		},
	} {
		t.Run(file, func(t *testing.T) {
			seen := 0
			for _, obj := range readField(t, file) {
				gvk := obj.GroupVersionKind()
				m, err := NewManifest(obj, Identity{gvk.Group, gvk.Kind, obj.GetNamespace(), obj.GetName()}, "uid")
				if err != nil {
					t.Fatal(err)
				}
				manifest, err := m.Object()
				if err != nil {
					t.Fatal(err)
				}
				for path, want := range objects[obj.GetKind()] {
					seen++
					if got := fieldOf(t, manifest, path); got != want {
						t.Errorf("%s of %s is %s, not %s", path, obj.GetKind(), got, want)
					}
				}
			}
			for _, fields := range objects {
				seen -= len(fields)
			}
			if seen != 0 {
				t.Errorf("%d fields were not looked at", -seen)
			}
		})
	}
}

// TestFieldSystems: which of these objects a Namespace's default covers.
func TestFieldSystems(t *testing.T) {
	for file, want := range map[string]map[string]System{
		"05-service-account-token.yaml":     {"Secret ci-token": SystemRecord, "ServiceAccount ci": NotSystem, "Deployment ci": NotSystem},
		"10-leader-election-configmap.yaml": {"ConfigMap operator-lock": SystemRecord, "Namespace shop": NotSystem},
		"11-records-in-namespace.yaml": {
			"ConfigMap sh.helm.release.v1.shop.v1": SystemRecord, "ConfigMap istio-ca-root-cert": SystemEverywhere,
			"ConfigMap common": SystemRecord, "ConfigMap trust": SystemRecord, "Namespace shop": NotSystem,
		},
	} {
		got := map[string]System{}
		for _, obj := range readField(t, file) {
			got[obj.GetKind()+" "+obj.GetName()] = SystemOf(obj)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", file, diff)
		}
	}
}

// TestFieldOverrides: policies on fields that do not reach members have the effect that they have in Karmada.
func TestFieldOverrides(t *testing.T) {
	var policies []*override.Policy
	for _, u := range append(readField(t, "02-override-on-stripped-field.policies.yaml"), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "policy.karmada.io/v1alpha1", "kind": "OverridePolicy", "metadata": map[string]any{"name": "text", "namespace": "shop"},
		"spec": map[string]any{"overrideRules": []any{map[string]any{"overriders": map[string]any{"fieldOverrider": []any{map[string]any{
			"fieldPath": "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration", "json": []any{map[string]any{"subPath": "/kind", "operator": "remove"}},
		}}}}}},
	}}) {
		p, err := override.NewPolicy(u)
		if err != nil {
			t.Fatal(err)
		}
		policies = append(policies, p)
	}
	for _, obj := range readField(t, "02-override-on-stripped-field.yaml") {
		m := mustManifest(t, obj.DeepCopy())
		edited, err := m.Template(Options{}).With(Edit{Overrides: override.For(policies, m.Selected(), override.Cluster{Name: "member1"})})
		if err != nil {
			t.Errorf("%s: %v", obj.GetKind(), err)
			continue
		}
		if edited.Digest() != m.Template(Options{}).Digest() {
			t.Errorf("%s: the manifest has changed", obj.GetKind())
		}
	}
}

func readField(t *testing.T, file string) (objects []*unstructured.Unstructured) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "field", file))
	if err != nil {
		t.Fatal(err)
	}
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), len(text))
	for {
		obj := &unstructured.Unstructured{}
		switch err := decoder.Decode(&obj.Object); {
		case errors.Is(err, io.EOF):
			return objects
		case err != nil:
			t.Fatal(err)
		}
		objects = append(objects, obj)
	}
}

// fieldOf returns a field in JSON; empty if it is missing.
func fieldOf(t *testing.T, obj *unstructured.Unstructured, path string) string {
	t.Helper()
	separator := "."
	if strings.Contains(path, "|") { // a key has a dot
		separator = "|"
	}
	value, found, err := unstructured.NestedFieldNoCopy(obj.Object, strings.Split(path, separator)...)
	if err != nil || !found {
		return ""
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}

// TestChosenFields: what users have chosen reaches members, also if something else edits it for a cluster, and what policies add.
func TestChosenFields(t *testing.T) {
	const (
		pod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"shop","labels":{"tool/x":"y"},"managedFields":[{"manager":"kubectl","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:nodeName":{}}}}]},
"spec":{"nodeName":"edge-1","overhead":{"cpu":"1"},"containers":[{"name":"c","image":"x","volumeMounts":[{"name":"kube-api-access-vault","mountPath":"/var/run/vault"}]}],"volumes":[{"name":"kube-api-access-vault","projected":{"sources":[{"serviceAccountToken":{"audience":"vault","path":"token"}}]}}],
"tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}]}}`
		byHand = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"shop"},"spec":{"automountServiceAccountToken":false,"containers":[{"name":"c"}],"volumes":[{"name":"kube-api-access-x","projected":{"sources":[{"serviceAccountToken":{"path":"token"}},{"configMap":{"name":"kube-root-ca.crt"}}]}}]}}`
		volume = `{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"nfs","annotations":{"pv.kubernetes.io/provisioned-by":"nfs.csi.k8s.io"}},"spec":{}}`
		claim  = `{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"data","namespace":"shop","annotations":{"pv.kubernetes.io/bind-completed":"yes"}},"spec":{"volumeName":"nfs"}}`
	)
	for name, tc := range map[string]struct{ object, operations, want string }{
		"Node":            {pod, ``, `"nodeName":"edge-1"`},
		"Overhead":        {pod, ``, `"overhead":{"cpu":"1"}`},
		"NodeAndAnEdit":   {pod, `{"path":"/metadata/labels/tool~1x","operator":"remove"}`, `"nodeName":"edge-1"`},
		"NodeByPolicy":    {pod, `{"path":"/spec/nodeName","operator":"replace","value":"edge-2"}`, `"nodeName":"edge-2"`},
		"Toleration":      {pod, `{"path":"/spec/tolerations/-","operator":"add","value":{"key":"a"}},{"path":"/spec/tolerations/-","operator":"add","value":{"key":"b"}}`, `"tolerations":[{"key":"a"},{"key":"b"}]`},
		"FirstOfNone":     {pod, `{"path":"/spec/tolerations/0","operator":"add","value":{"key":"a"}}`, `"tolerations":[{"key":"a"}]`},
		"OwnToken":        {pod, ``, `"audience":"vault"`},
		"TokenByHand":     {byHand, ``, `"serviceAccountToken"`},
		"Provisioner":     {volume, ``, `provisioned-by`},
		"ByPolicy":        {volume, `{"path":"/metadata/annotations/pv.kubernetes.io~1provisioned-by","operator":"replace","value":"x"}`, `provisioned-by":"x"`},
		"ClaimWithVolume": {claim, ``, `"volumeName":"nfs"`},
	} {
		t.Run(name, func(t *testing.T) {
			obj, policy := &unstructured.Unstructured{}, &unstructured.Unstructured{}
			if err := errors.Join(obj.UnmarshalJSON([]byte(tc.object)), policy.UnmarshalJSON([]byte(
				`{"apiVersion":"policy.karmada.io/v1alpha1","kind":"ClusterOverridePolicy","metadata":{"name":"p"},"spec":{"overrideRules":[{"overriders":{"plaintext":[`+tc.operations+`]}}]}}`))); err != nil {
				t.Fatal(err)
			}
			p, err := override.NewPolicy(policy)
			if err != nil {
				t.Fatal(err)
			}
			m := mustManifest(t, obj)
			edited, err := m.Template(Options{}).With(Edit{Overrides: override.For([]*override.Policy{p}, m.Selected(), override.Cluster{Name: "member1"})})
			if err != nil {
				t.Fatal(err)
			}
			if got := string(edited.Works().For("member1")); !strings.Contains(got, tc.want) {
				t.Errorf("no %s in %s", tc.want, got)
			}
		})
	}
}

// TestStrippedFields: what an override does to fields that an object lacks is an error, as in Karmada, unless they were
// stripped from this very object.
func TestStrippedFields(t *testing.T) {
	const (
		secret   = `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a","namespace":"shop"},"type":"Opaque"}`
		token    = `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a","namespace":"shop","labels":{"kubernetes.io/legacy-token-last-used":"2026-11-20"},"annotations":{"kubernetes.io/service-account.name":"ci"}},"type":"kubernetes.io/service-account-token"}`
		account  = `{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"web","namespace":"shop"}}`
		page     = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"shop"},"data":{"a":"b"}}`
		external = `{"apiVersion":"v1","kind":"Service","metadata":{"name":"a","namespace":"shop"},"spec":{"type":"ExternalName"}}`
		release  = `{"apiVersion":"helm.toolkit.fluxcd.io/v2","kind":"HelmRelease","metadata":{"name":"a","namespace":"shop"},"spec":{"values":{"a":null}}}`
	)
	plaintext := func(operations string) string { return `{"plaintext":[` + operations + `]}` }
	for name, tc := range map[string]struct{ object, overriders, want, fails string }{
		"AddsBelowAdded":    {token, plaintext(`{"path":"/data","operator":"add","value":{}},{"path":"/data/a","operator":"add","value":"eA=="},{"path":"/data","operator":"remove"},{"path":"/data/b","operator":"replace","value":"eA=="}`), `"type"`, ""},
		"AddsToASecret":     {secret, plaintext(`{"path":"/data","operator":"add","value":{}},{"path":"/data/password","operator":"add","value":"eA=="}`), `"password":"eA=="`, ""},
		"AddsToNoData":      {secret, plaintext(`{"path":"/data/password","operator":"add","value":"eA=="}`), "", "there is nothing"},
		"FieldOfNoData":     {secret, `{"fieldOverrider":[{"fieldPath":"/data/config","json":[{"subPath":"/a","operator":"remove"}]}]}`, "", "no string"},
		"NoAccountTokens":   {account, plaintext(`{"path":"/secrets/0","operator":"replace","value":{"name":"b"}}`), "", "there is nothing"},
		"NoAddress":         {external, plaintext(`{"path":"/spec/clusterIP","operator":"remove"}`), "", "there is nothing"},
		"RetainIsNoLabel":   {page, plaintext(`{"path":"/metadata/labels/resourcetemplate.karmada.io~1retain-replicas","operator":"replace","value":"true"}`), "", "there is nothing"},
		"SecondFails":       {page, plaintext(`{"path":"/metadata/finalizers","operator":"remove"},{"path":"/data/missing","operator":"replace","value":"x"}`), "", "plaintext[1]"},
		"UnknownOperator":   {page, plaintext(`{"path":"/metadata/finalizers","operator":"copy"}`), "", "copy"},
		"AnotherAccount":    {token, `{"annotationsOverrider":[{"operator":"replace","value":{"kubernetes.io/service-account.name":"admin"}}]}`, "", "token of another ServiceAccount"},
		"TokenIsNotUsed":    {token, plaintext(`{"path":"/metadata/labels/kubernetes.io~1legacy-token-last-used","operator":"replace","value":"x"}`), `"type"`, ""},
		"AddsBesideNulls":   {release, plaintext(`{"path":"/spec/values/b","operator":"add","value":null}`), `"values":{"a":null,"b":null}`, ""},
		"RemovesWhatIsGone": {page, plaintext(`{"path":"/status/phase","operator":"remove"},{"path":"/metadata/ownerReferences/0/uid","operator":"replace","value":"x"}`), `"data":{"a":"b"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			obj, policy := &unstructured.Unstructured{}, &unstructured.Unstructured{}
			if err := errors.Join(obj.UnmarshalJSON([]byte(tc.object)), policy.UnmarshalJSON([]byte(
				`{"apiVersion":"policy.karmada.io/v1alpha1","kind":"OverridePolicy","metadata":{"name":"p","namespace":"shop"},"spec":{"overrideRules":[{"overriders":`+tc.overriders+`}]}}`))); err != nil {
				t.Fatal(err)
			}
			p, err := override.NewPolicy(policy)
			if err != nil {
				t.Fatal(err)
			}
			m := mustManifest(t, obj)
			e := Edit{Overrides: override.For([]*override.Policy{p}, m.Selected(), override.Cluster{Name: "member1"})}
			edited, err := m.Template(Options{}).With(e)
			switch {
			case (err != nil) != (tc.fails != ""), err != nil && !strings.Contains(err.Error(), tc.fails):
				t.Errorf("the error is %v", err)
			case err == nil && (!strings.Contains(string(edited.rest), tc.want) || strings.Contains(string(edited.rest), "last-used")):
				t.Errorf("the manifest has %s", edited.rest)
			}
			if effects, err := m.Effects(e); name == "AddsBesideNulls" && (err != nil || len(effects) != 1) {
				t.Errorf("it has the effects %v, %v", effects, err)
			}
		})
	}
}
