package shared

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/karmada-target/karmada-mirror/render"
	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// diff runs the command and returns its output and exit code.
func diff(t *testing.T, arguments ...string) (output string, code int) {
	t.Helper()
	output, err := KarmadaMirror(t, append([]string{"diff"}, arguments...)...)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return output, exit.ExitCode()
	}
	Must(t, err)
	return output, 0
}

// write writes objects to a file.
func write(t *testing.T, objects ...*unstructured.Unstructured) (file string) {
	t.Helper()
	var text []byte
	for _, u := range objects {
		one, err := yaml.Marshal(u.Object)
		Must(t, err)
		text = append(append(text, "---\n"...), one...)
	}
	file = filepath.Join(t.TempDir(), "objects.yaml")
	WriteFile(t, file, text)
	return file
}

// TestDiff shows what applying manifests would change, by server-side dry runs that know who
// owns which field. Nothing is written.
func TestDiff(t *testing.T) {
	t.Parallel()
	ns := NewNamespace(t)
	web := Asking(Deployment(ns, "web", "nginx:1", 1), Push)
	applied, server := ConfigMap(ns, "applied", Push, "one"), ConfigMap(ns, "server", Push, "one")
	SetField("old", "data", "old")(applied)
	SetField("old", "data", "old")(server)
	Create(t, ConfigMaps, Plain(ns, "plain", "one"))
	byKubectl, byFlux := write(t, applied, web), write(t, server)
	Kubectl(t, "apply", "-f", byKubectl)
	Kubectl(t, "apply", "--server-side", "--field-manager", "flux", "-f", byFlux)
	WantInMembers(t, ns, "applied", "one", Push)
	WantInMembers(t, ns, "server", "one", Push)
	Eventually(t, "all Works", func(context.Context) error {
		if output, code := diff(t, "-n", ns); code != 0 {
			return errors.New(output)
		}
		return nil
	})
	state := func() string {
		return Kubectl(t, "get", "configmaps,deployments,horizontalpodautoscalers", "-n", ns, "-o", "custom-columns=N:.metadata.name,S:.spec,A:.metadata.annotations,D:.data")
	}
	before := state()
	wants := func(what string, lines []string, not string, objects ...*unstructured.Unstructured) {
		t.Helper()
		output, code := diff(t, "-f", write(t, objects...))
		for _, line := range lines {
			if !strings.Contains(output, line) {
				t.Errorf("%s: %q is not in the diff:\n%s", what, line, output)
			}
		}
		if code != 1 || strings.Contains(output, not) {
			t.Errorf("%s: exit code %d, or it shows %q:\n%s", what, code, not, output)
		}
	}
	for _, file := range []string{byKubectl, byFlux} {
		if output, code := diff(t, "-f", file); code != 0 || strings.Contains(output, "kind:") {
			t.Errorf("for manifests that are already applied: exit code %d\n%s", code, output)
		}
	}
	for what, u := range map[string]*unstructured.Unstructured{"client-side": applied, "server-side": server} {
		changed := u.DeepCopy()
		SetField("two", "data", "key")(changed)
		unstructured.RemoveNestedField(changed.Object, "data", "old") // a field that the manifest no longer has
		SetAnnotation(render.ClustersAnnotation, Pull)(changed)
		wants(what, []string{"karmada-es-" + Pull, "karmada-es-" + Push, "+        key: two", "-        key: one", "-        old: old"}, "+        old: old", changed)
	}
	wants("a default", []string{"+    karmada.target/source: ConfigMap/" + ns + "/plain"}, "source: ConfigMap/"+ns+"/applied", Asking(Object("v1", "Namespace", "", ns, nil), Pull))
	retained := []string{`+          resourcetemplate.karmada.io/retain-replicas: "true"`}
	wants("an autoscaler of an existing target", retained, "kind: HorizontalPodAutoscaler\n-", Asking(autoscaler(ns), Push))
	limits := Asking(Object("v1", "LimitRange", ns, "limits", nil), Push)
	if output, code := diff(t, "-f", write(t, limits)); code != 0 || !strings.Contains(output, "not mirrored: limitranges is not among the resources of the configuration") {
		t.Errorf("a resource that is not configured: exit code %d\n%s", code, output)
	}
	if diff := cmp.Diff(before, state()); diff != "" {
		t.Errorf("something was written: -before +after:\n%s", diff)
	}
	if output, code := diff(t, "-f", byKubectl, "--as", "nobody-of-"+ns); code != 2 || !strings.Contains(output, "may not") && !strings.Contains(output, "forbidden") {
		t.Errorf("without permissions: exit code %d\n%s", code, output)
	}
}
