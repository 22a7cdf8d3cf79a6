package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/karmada-target/karmada-mirror/render"
)

// TestMisplaced: explain finds what probably says where to mirror an object, and does not, and what has no effect.
func TestMisplaced(t *testing.T) {
	type fields = map[string]any
	in := func(template string, annotations fields) fields {
		return fields{template: fields{"metadata": fields{"annotations": annotations}}}
	}
	for want, object := range map[string]fields{
		"metadata.annotations has karmada.targets/clusters\n      is karmada.target/clusters meant?": {"metadata": fields{"annotations": fields{"karmada.targets/clusters": "m1"}}},
		"metadata.annotations has target.karmada.io/clusters":                                        {"metadata": fields{"annotations": fields{"target.karmada.io/clusters": "m1"}}},
		"metadata.annotations has karmada-target/Clusters":                                           {"metadata": fields{"annotations": fields{"karmada-target/Clusters": "m1"}}},
		"metadata.annotations has karmada.io/clusters":                                               {"metadata": fields{"annotations": fields{"karmada.io/clusters": "m1"}}},
		"metadata.labels has karmada.target/clusters":                                                {"metadata": fields{"labels": fields{render.ClustersAnnotation: "m1"}}},
		"spec.template.metadata.annotations has karmada.target/clusters":                             {"metadata": fields{}, "spec": in("template", fields{render.ClustersAnnotation: "m1"})},
		"spec.jobTemplate.metadata.annotations has karmada.target/clusters":                          {"metadata": fields{}, "spec": in("jobTemplate", fields{render.ClustersAnnotation: "m1"})},
		"":                                      {"metadata": fields{"annotations": fields{"policy.karmada.io/applied-placement": "{}", "example.com/clusters": "m1", "karmada.io/managed": "true", render.PreserveOnDeletionAnnotation: "true"}}},
		"wave-bake has no effect without waves": {"metadata": fields{"annotations": fields{render.ClustersAnnotation: "m1", render.WaveBakeAnnotation: "10m"}}},
		`no cluster "m9" has joined`:            {"metadata": fields{"annotations": fields{render.ClustersAnnotation: "m*", render.WavesAnnotation: "m9; *"}}},
		"prod-* chooses no cluster now":         {"metadata": fields{"annotations": fields{render.ClustersAnnotation: "prod-*,m*"}}},
	} {
		paths := server()
		object["apiVersion"], object["kind"] = "v1", "ConfigMap"
		metadata := object["metadata"].(fields)
		metadata["name"], metadata["namespace"], metadata["uid"] = "page", "shop", "u"
		paths[pagePath] = object
		output, err := execute("explain", "configmaps/page", "-n", "shop", "--kubeconfig", serve(t, paths, nil), "--cache-dir", t.TempDir())
		if output = told(output, err); err != nil || !strings.Contains(output, want) || want == "" && strings.Contains(output, "metadata.") || strings.Contains(output, "m* chooses") {
			t.Errorf("%q, %v: %s", want, err, output)
		}
	}
}

// TestValidateMistakes: each is on a line of its own, and what is no configuration is called what it is.
func TestValidateMistakes(t *testing.T) {
	for text, want := range map[string]string{
		configHead + "resources: [{resource: Pods}, {resource: nodes}, {version: v1}]\n": "invalid configuration:\n  resources[0]",
		configHead + "resources: [{resource: nodes}]\n":                                  "invalid configuration: resources[0]",
		"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n":                   "this is a Deployment: give a MirrorConfiguration, or a ConfigMap with some",
	} {
		file := filepath.Join(t.TempDir(), "a.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		output, err := execute("validate", "-f", file)
		if err == nil || !strings.Contains(told(output, err), want) {
			t.Errorf("%s, want %q", told(output, err), want)
		}
	}
}

// TestVersionForPrograms: it is an object like those of other commands.
func TestVersionForPrograms(t *testing.T) {
	for output, want := range map[string]string{"json": `"kind": "Version"`, "yaml": "kind: Version\n"} {
		if text, err := execute("version", "-o", output); err != nil || !strings.Contains(text, want) || !strings.Contains(text, "goVersion") {
			t.Errorf("%v: %s", err, text)
		}
	}
	if _, err := execute("version", "-o", "table"); err == nil {
		t.Error("it prints a table")
	}
}
