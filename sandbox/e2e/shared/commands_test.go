package shared

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/karmada-target/karmada-mirror/render"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// TestExplainAndDiff asks what the daemon decides, before and after it has.
func TestExplainAndDiff(t *testing.T) {
	ns := Isolate(t)
	Create(t, ConfigMaps, ConfigMap(ns, "page", Push+",nowhere", "one"))
	Create(t, ConfigMaps, Plain(ns, "plain", "one"))
	Create(t, ConfigMaps, ConfigMap(ns, "broken", "Not A Name", "one"))

	explain := func(name string) string { return MustKarmadaMirror(t, "explain", "cm", name, "-n", ns) }
	WantLine(t, explain("page"), `^ConfigMap/`+ns+`/page$`)
	WantLine(t, explain("page"), `✓ it asks for karmada.target/clusters="`+Push+`,nowhere"$`)
	WantLine(t, explain("page"), Push+` +Wanted +the source asks for this cluster +- +- +create$`)
	WantLine(t, explain("page"), `^nowhere +Unknown +there is no such cluster +- +- +correct the name`)
	WantLine(t, explain("plain"), `✗ neither the object nor its Namespace says where to mirror it to$`)
	WantLine(t, explain("plain"), `kubectl annotate`)
	WantLine(t, explain("broken"), `✗ InvalidAnnotation: .*cluster name`)
	WantLine(t, explain("gone"), `✗ the object does not exist$`)
	if output, err := KarmadaMirror(t, "explain", "nothing", "page", "-n", ns); err == nil || !strings.Contains(output, "nothing") {
		t.Errorf("of a resource that there is not: %v, %s", err, output)
	}

	output, code := diff(t, "cm", "page", "-n", ns)
	if code != 1 || !strings.Contains(output, "+kind: Work") {
		t.Errorf("before: exit code %d\n%s", code, output)
	}
	StartDaemon(t)
	WantInMembers(t, ns, "page", "one", Push)
	if output, code = diff(t, "cm", "page", "-n", ns); code != 0 || output != "" {
		t.Errorf("in sync: exit code %d\n%s", code, output)
	}
	WantLine(t, explain("page"), `^`+Push+` +Wanted +the source asks for this cluster +karmada-es-`+Push+`/page-\S+ +applied +-$`)

	u, err := Env.Admin.Resource(ConfigMaps).Namespace(ns).Get(t.Context(), "page", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	SetField("two", "data", "key")(u)
	SetAnnotation(render.ClustersAnnotation, Push2)(u)
	output, code = diff(t, "-f", write(t, u))
	for _, line := range []string{"--- ", "karmada-es-" + Push2, "karmada-es-" + Push, "+        key: two", "-        key: one"} {
		if !strings.Contains(output, line) {
			t.Errorf("%q is not in the difference", line)
		}
	}
	if code != 1 {
		t.Errorf("of a file: exit code %d\n%s", code, output)
	}
	for name, arguments := range map[string][]string{"half a name": {"cm"}, "an unknown flag": {"cm", "page", "--nonsense"}, "an unknown resource": {"nothing", "page"}} {
		if output, code = diff(t, arguments...); code != 2 || output == "" {
			t.Errorf("of %s: exit code %d\n%s", name, code, output)
		}
	}
}

// diff runs the command and returns what it has said, with its exit code.
func diff(t *testing.T, arguments ...string) (output string, code int) {
	t.Helper()
	output, err := KarmadaMirror(t, append([]string{"diff"}, arguments...)...)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return output, exit.ExitCode()
	}
	if err != nil {
		t.Fatal(err)
	}
	return output, 0
}

func write(t *testing.T, u *unstructured.Unstructured) (file string) {
	t.Helper()
	text, err := yaml.Marshal(u.Object)
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "object.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestRender renders a file offline.
func TestRender(t *testing.T) {
	u := Plain("shop", "page", "one")
	output := MustKarmadaMirror(t, "render", "-f", write(t, u), "--clusters", "member1,member2")
	works := strings.Split(output, "---\n")
	if len(works) != 2 {
		t.Fatalf("%d documents:\n%s", len(works), output)
	}
	for i, cluster := range []string{"member1", "member2"} {
		var work unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(works[i]), &work.Object); err != nil {
			t.Fatal(err)
		}
		if work.GetKind() != "Work" || work.GetNamespace() != "karmada-es-"+cluster || work.GetLabels()[render.ManagedByLabel] != render.ManagedByValue {
			t.Errorf("the Work for %s is\n%s", cluster, works[i])
		}
	}
	if output := MustKarmadaMirror(t, "render", "-f", write(t, u), "--clusters", "member1", "-o", "json"); !strings.HasPrefix(output, "{") {
		t.Errorf("as JSON:\n%s", output)
	}
	for name, clusters := range map[string]string{"a glob": "member*", "a typo": "Member1"} {
		if output, err := KarmadaMirror(t, "render", "-f", write(t, u), "--clusters", clusters); err == nil {
			t.Errorf("%s is accepted:\n%s", name, output)
		}
	}
}
