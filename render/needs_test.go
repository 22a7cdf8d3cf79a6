package render

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestNeeds(t *testing.T) {
	const pod = `
serviceAccountName: account
imagePullSecrets: [{name: pull}]
volumes:
- {name: a, secret: {secretName: volume}}
- {name: b, configMap: {name: volume}}
- {name: c, persistentVolumeClaim: {claimName: claim}}
- {name: d, projected: {sources: [{secret: {name: projected}}, {configMap: {name: projected}}, {secret: {name: maybe, optional: true}}]}}
- {name: e, csi: {driver: x, nodePublishSecretRef: {name: csi}}}
- {name: f, azureFile: {shareName: x, secretName: azure}}
- {name: g, configMap: {name: maybe, optional: true}}
- {name: h, emptyDir: {}}
initContainers:
- {name: init, envFrom: [{secretRef: {name: init}}]}
containers:
- name: web
  envFrom: [{configMapRef: {name: all}}, {configMapRef: {name: maybe, optional: true}}]
  env:
  - {name: A, value: plain}
  - {name: B, valueFrom: {secretKeyRef: {name: key, key: b}}}
  - {name: C, valueFrom: {configMapKeyRef: {name: key, key: c}}}
  - {name: D, valueFrom: {configMapKeyRef: {name: maybe, key: d, optional: true}}}
  - {name: E, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
`
	all := []string{
		"ConfigMap/shop/all", "ConfigMap/shop/key", "ConfigMap/shop/projected", "ConfigMap/shop/volume", "PersistentVolumeClaim/shop/claim",
		"Secret/shop/azure", "Secret/shop/csi", "Secret/shop/init", "Secret/shop/key", "Secret/shop/projected", "Secret/shop/pull", "Secret/shop/volume", "ServiceAccount/shop/account",
	}
	cases := map[string]struct {
		reason      string
		group, kind string
		path        []string
		pod         string
		want        []string
	}{
		"Deployment": {"everything that a Pod can need", "apps", "Deployment", []string{"template"}, pod, all},
		"CronJob":    {"wherever it is", "batch", "CronJob", []string{"jobTemplate", "spec", "template"}, pod, all},
		"Default":    {"every Namespace has this one", "apps", "DaemonSet", []string{"template"}, "serviceAccountName: default", nil},
		"NoPods":     {"a kind without Pods needs nothing", "", "Service", []string{"template"}, pod, nil},
		"OtherGroup": {"neither does a kind of the same name in another group", "example.io", "Deployment", []string{"template"}, pod, nil},
		"Odd":        {"a field that is not a list is skipped", "apps", "StatefulSet", []string{"template"}, "{volumes: x, containers: [one, {env: {}}, null], imagePullSecrets: [{name: []}]}", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var spec any
			if err := yaml.Unmarshal([]byte(tc.pod), &spec); err != nil {
				t.Fatal(err)
			}
			fields := map[string]any{}
			if err := unstructured.SetNestedField(fields, spec, slices.Concat([]string{"spec"}, tc.path, []string{"spec"})...); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, id := range NeedsOf(fields, Identity{Group: tc.group, Kind: tc.kind, Namespace: "shop", Name: "web"}) {
				got = append(got, id.String())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s, -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
