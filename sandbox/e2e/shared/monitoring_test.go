package shared

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/karmada-target/karmada-mirror/sandbox/karmada"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// prometheusOperator is the module with the definitions of ServiceMonitor and
// PrometheusRule. It is not in go.mod, because nothing imports it.
const prometheusOperator = "github.com/prometheus-operator/prometheus-operator@v0.85.0"

// installPrometheusOperator makes an API server serve ServiceMonitors and PrometheusRules
// with the operator's own definitions.
func installPrometheusOperator(t *testing.T, member string) {
	t.Helper()
	var stderr bytes.Buffer
	download := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", prometheusOperator)
	download.Dir, download.Stderr = t.TempDir(), &stderr
	output, err := download.Output()
	if err != nil {
		t.Fatalf("cannot download %s: %v: %s", prometheusOperator, err, stderr.String())
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(output, &module); err != nil {
		t.Fatal(err)
	}
	for _, plural := range []string{"servicemonitors", "prometheusrules"} {
		file := filepath.Join(module.Dir, "example", "prometheus-operator-crd", "monitoring.coreos.com_"+plural+".yaml")
		definition, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := karmada.Apply(t.Context(), Env.MemberConfig(member), definition); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = Env.Member(member).Resource(Definitions).Delete(context.Background(), plural+".monitoring.coreos.com", metav1.DeleteOptions{})
		})
	}
	Eventually(t, "the definitions to be served", func(ctx context.Context) error {
		for _, gvr := range monitoringResources {
			if gvr.Group == "" {
				continue
			}
			if _, err := Env.Member(member).Resource(gvr).List(ctx, metav1.ListOptions{}); err != nil {
				return err
			}
		}
		return nil
	})
}

var monitoringResources = map[string]schema.GroupVersionResource{
	"ServiceMonitor": {Group: "monitoring.coreos.com", Version: "v1", Resource: "servicemonitors"},
	"PrometheusRule": {Group: "monitoring.coreos.com", Version: "v1", Resource: "prometheusrules"},
	"ConfigMap":      ConfigMaps,
}

// overlay makes a kustomization of manifests/monitoring with one of its components.
func overlay(t *testing.T, component string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	base, err := filepath.Rel(dir, filepath.Join(Env.Builder.Repository(), "manifests", "monitoring"))
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("resources: [%s]\ncomponents: [%s]\n", base, filepath.Join(base, component))
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestMonitoringManifests creates manifests/monitoring in a cluster with the operator's
// definitions, with strict validation; a misspelled field must be rejected.
func TestMonitoringManifests(t *testing.T) {
	const member = Push2
	installPrometheusOperator(t, member)
	host := Env.Member(member)
	_, err := host.Resource(Namespaces).Create(t.Context(), Object("v1", "Namespace", "", System, nil), metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	plain := filepath.Join(Env.Builder.Repository(), "manifests", "monitoring")
	for dir, scheme := range map[string]string{plain: "", overlay(t, "secure"): "https"} {
		kinds := map[string]bool{}
		for _, u := range Kustomize(t, dir) {
			kinds[u.GetKind()] = true
			wantValid(t, host, u)
			switch u.GetKind() {
			case "ConfigMap":
				dashboard, _, _ := unstructured.NestedString(u.Object, "data", "karmada-mirror.json")
				if u.GetLabels()["grafana_dashboard"] != "1" || !json.Valid([]byte(dashboard)) {
					t.Errorf("the dashboard's ConfigMap is %v", u.Object["metadata"])
				}
			case "ServiceMonitor":
				endpoints, _, _ := unstructured.NestedSlice(u.Object, "spec", "endpoints")
				if got, _, _ := unstructured.NestedString(endpoints[0].(map[string]any), "scheme"); got != scheme {
					t.Errorf("the scheme is %q, not %q", got, scheme)
				}
			}
		}
		for kind := range monitoringResources {
			if !kinds[kind] {
				t.Errorf("%s has no %s", dir, kind)
			}
		}
	}
}

// wantValid creates an object and deletes it again.
func wantValid(t *testing.T, server dynamic.Interface, u *unstructured.Unstructured) {
	t.Helper()
	resource := server.Resource(monitoringResources[u.GetKind()]).Namespace(u.GetNamespace())
	strict := metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}
	wrong := u.DeepCopy()
	wrong.Object["spce"] = map[string]any{}
	if _, err := resource.Create(t.Context(), wrong, strict); !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), "spce") {
		t.Errorf("%s with an unknown field: %v", u.GetKind(), err)
	}
	if _, err := resource.Create(t.Context(), u, strict); err != nil {
		t.Errorf("%s: %v", u.GetKind(), err)
		return
	}
	if err := resource.Delete(t.Context(), u.GetName(), metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
}
