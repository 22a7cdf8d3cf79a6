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
		"05-service-account-token.yaml":     {"Secret ci-token": SystemToken, "ServiceAccount ci": NotSystem, "Deployment ci": NotSystem},
		"10-leader-election-configmap.yaml": {"ConfigMap operator-lock": SystemRecord, "Namespace shop": NotSystem},
		"11-records-in-namespace.yaml": {
			"ConfigMap sh.helm.release.v1.shop.v1": SystemRecord, "ConfigMap istio-ca-root-cert": SystemRecord,
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
	value, found, err := unstructured.NestedFieldNoCopy(obj.Object, strings.Split(path, ".")...)
	if err != nil || !found {
		return ""
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}
