package shared

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/karmada-target/karmada-mirror/render"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// TestExplain runs explain before and after the daemon has acted.
func TestExplain(t *testing.T) {
	const ns = "explain" // a fixed name, so that the names of Works are the same each time
	Isolate(t, ns)
	Create(t, ConfigMaps, ConfigMap(ns, "page", Push+",nowhere", "one"))
	Create(t, ConfigMaps, Plain(ns, "plain", "one"))
	Create(t, ConfigMaps, ConfigMap(ns, "broken", "Not A Name", "one"))
	explain := func(arguments ...string) string {
		return MustKarmadaMirror(t, append([]string{"explain", "-n", ns}, arguments...)...)
	}
	WantGolden(t, "explain-before", explain("cm", "page"))
	WantGolden(t, "explain-plain", explain("cm", "plain"))
	WantGolden(t, "explain-broken", explain("cm/broken"))

	// The member already has an object with this name that is not Karmada's.
	StartDaemon(t)
	WantInMembers(t, ns, "page", "one", Push)
	_, err := Env.Member(Push).Resource(ConfigMaps).Namespace(ns).Create(t.Context(), Plain(ns, "taken", "theirs"), metav1.CreateOptions{})
	Must(t, err)
	Create(t, ConfigMaps, ConfigMap(ns, "taken", Push, "ours"))
	Eventually(t, "Karmada to fail", func(context.Context) error {
		if output := explain("cm/taken"); !strings.Contains(output, "failed") {
			return errors.New(output)
		}
		return nil
	})
	WantGolden(t, "explain-taken", explain("cm/taken"))
	Eventually(t, "Karmada to report", func(context.Context) error {
		if output := explain("cm", "page"); !strings.Contains(output, "Healthy") {
			return errors.New(output)
		}
		return nil
	})
	WantGolden(t, "explain", explain("ConfigMap/"+ns+"/page", "-n", "default"))
	WantGolden(t, "explain-json", explain("cm/page", "-o", "json"))
	if output := explain("cm/page", "cm/plain"); strings.Count(output, "ConfigMap/"+ns) != 2 {
		t.Errorf("explain of two objects:\n%s", output)
	}

	Change(t, ConfigMaps, ns, "taken", SetAnnotation(render.ConflictResolutionAnnotation, "overwrite")) // as explain says
	WantInMembers(t, ns, "taken", "ours", Push)
}

// TestExplainNever explains kinds that no configuration can allow.
func TestExplainNever(t *testing.T) {
	ns := Isolate(t)
	for resource, name := range map[string]string{"role": "any", "crd": Works.GroupResource().String(), "namespace": ns, "clusters": Push} {
		if resource == "role" {
			Create(t, Roles, Object("rbac.authorization.k8s.io/v1", "Role", ns, name, nil))
		}
		output := MustKarmadaMirror(t, "explain", resource, name, "-n", ns)
		WantLine(t, output, `✗ \S+ are never mirrored: .+$`)
		hint := `remove the annotations, if it has any: no configuration can allow it`
		if resource == "namespace" {
			hint = `its annotations are the default for the objects in it: explain one of these`
		}
		WantLine(t, output, `^ +`+hint+`$`)
		if strings.Contains(output, "add it") {
			t.Errorf("for %s it gives a hint that validate would reject:\n%s", resource, output)
		}
	}
	Create(t, Secrets, Object("v1", "Secret", ns, "page", nil))
	WantLine(t, MustKarmadaMirror(t, "explain", "secret", "page", "-n", ns), `^ +add it to the resources in the ConfigMap`)
}

// TestExplainClaim wants the name of the policy that propagates an object.
func TestExplainClaim(t *testing.T) {
	ns := Isolate(t)
	Create(t, ConfigMaps, Plain(ns, "page", "one"))
	propagate(t, render.Identity{Kind: "ConfigMap", Namespace: ns, Name: "page"}, Push)
	WantInMembers(t, ns, "page", "one", Push)
	Change(t, ConfigMaps, ns, "page", SetAnnotation(render.ClustersAnnotation, Push))
	WantLine(t, MustKarmadaMirror(t, "explain", "cm/page", "-n", ns), `✗ ClaimedByPolicy: PropagationPolicy "`+ns+`/pages" propagates this object\n +remove either the policy or the annotation$`)
}

// TestNotThere runs commands on objects that do not exist, in every form.
func TestNotThere(t *testing.T) {
	ns := Isolate(t)
	for _, arguments := range [][]string{{"cm", "nothing"}, {"cm/nothing"}, {"ConfigMap/" + ns + "/nothing"}, {"secret", "nothing"}} {
		for _, command := range []string{"explain", "diff", "status", "wait"} {
			output, err := KarmadaMirror(t, append([]string{command, "-n", ns}, arguments...)...)
			want := 1
			if command == "diff" {
				want = 2
			}
			if code := exitCode(err); code != want || !strings.Contains(output, `"nothing" not found, and it has no leftover Works`) {
				t.Errorf("%s %v: exit code %d\n%s", command, arguments, code, output)
			}
		}
	}
	for name, arguments := range map[string][]string{
		"an unknown resource": {"nothing", "page"}, "an unknown kind": {"Nothing.example.io/" + ns + "/page"},
		"too many parts": {"cm/nothing/page/more"}, "both forms": {"cm", "cm/nothing"},
	} {
		if output, err := KarmadaMirror(t, append([]string{"explain", "-n", ns}, arguments...)...); exitCode(err) != 1 || !strings.Contains(output, "othing") || strings.Contains(output, "no matches for") {
			t.Errorf("with %s: %v, %s", name, err, output)
		}
	}
	for _, arguments := range [][]string{{"explain"}, {"explain", "cm"}, {"diff", "--nonsense"}, {"wait", "cm/page", "--for", "ever"}, {"status", "-o", "nothing"}, {"deletions", "aprove"}, {"purge"}} {
		if output, err := KarmadaMirror(t, arguments...); err == nil || !strings.Contains(output, "Usage:\n  karmada-mirror "+arguments[0]) || !strings.Contains(output, "--help") {
			t.Errorf("%v does not print its usage: %v\n%s", arguments, err, output)
		}
	}
}

// TestDiff runs diff before and after the daemon has done what it shows.
func TestDiff(t *testing.T) {
	ns := Isolate(t)
	Create(t, ConfigMaps, ConfigMap(ns, "page", Push, "one"))
	for _, arguments := range [][]string{{"cm", "page", "-n", ns}, {"cm/page", "-n", ns}, {"cm", "-n", ns}, {"-n", ns}, {"-A"}} {
		output, code := diff(t, arguments...)
		if code != 1 || !strings.Contains(output, "+kind: Work") {
			t.Errorf("%v before: exit code %d\n%s", arguments, code, output)
		}
	}
	StartDaemon(t)
	WantInMembers(t, ns, "page", "one", Push)
	for _, arguments := range [][]string{{"cm", "page", "-n", ns}, {"-n", ns}, {"-A"}} {
		if output, code := diff(t, arguments...); code != 0 || output != "" {
			t.Errorf("%v in sync: exit code %d\n%s", arguments, code, output)
		}
	}
	for name, arguments := range map[string][]string{"an unknown flag": {"cm", "page", "--nonsense"}, "an unknown resource": {"nothing", "page"}, "both": {"cm", "page", "-f", "."}} {
		if output, code := diff(t, arguments...); code != 2 || output == "" {
			t.Errorf("with %s: exit code %d\n%s", name, code, output)
		}
	}
}

// TestDiffManifests shows what applying manifests would change, without writing anything.
func TestDiffManifests(t *testing.T) {
	ns := Isolate(t)
	Configure(t, Resources(t, "configmaps", "deployments.apps", "horizontalpodautoscalers.autoscaling"))
	StartDaemon(t)
	git := t.TempDir()
	file := func(name string, objects ...*unstructured.Unstructured) string {
		t.Helper()
		return writeAll(t, filepath.Join(git, name), objects...)
	}
	web := Object("apps/v1", "Deployment", ns, "web", map[string]any{"spec": map[string]any{
		"replicas": int64(1), "selector": map[string]any{"matchLabels": map[string]any{"app": "web"}},
		"template": map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "web"}}, "spec": map[string]any{"containers": []any{map[string]any{"name": "web", "image": "nginx"}}}},
	}})
	web.SetAnnotations(map[string]string{render.ClustersAnnotation: Push})
	page, server := ConfigMap(ns, "page", Push, "one"), ConfigMap(ns, "server", Push, "one")
	SetField("old", "data", "old")(page)
	SetField("old", "data", "old")(server)
	Create(t, ConfigMaps, Plain(ns, "plain", "one"))
	Kubectl(t, "apply", "-f", file("page.yaml", page, web))
	Kubectl(t, "apply", "--server-side", "--field-manager", "flux", "-f", file("server.yaml", server))
	for _, name := range []string{"page", "server"} {
		WantInMembers(t, ns, name, "one", Push)
	}
	Eventually(t, "all Works", func(context.Context) error {
		if output, code := diff(t, "-n", ns); code != 0 {
			return errors.New(output)
		}
		return nil
	})
	versions := resourceVersions(t, ns)
	if output, code := diff(t, "-f", git); code != 0 || output != "" {
		t.Errorf("for manifests that are already applied: exit code %d\n%s", code, output)
	}

	for name, u := range map[string]*unstructured.Unstructured{"page.yaml": page, "server.yaml": server} {
		changed := u.DeepCopy()
		SetField("two", "data", "key")(changed)
		unstructured.RemoveNestedField(changed.Object, "data", "old")
		SetAnnotation(render.ClustersAnnotation, Push2)(changed)
		output, code := diff(t, "-f", writeAll(t, filepath.Join(t.TempDir(), name), changed))
		for _, line := range []string{"karmada-es-" + Push2, "karmada-es-" + Push, "+        key: two", "-        key: one", "-        old: old"} {
			if !strings.Contains(output, line) {
				t.Errorf("%s: %q is not in the diff", name, line)
			}
		}
		if strings.Contains(output, "+        old: old") || code != 1 {
			t.Errorf("%s: exit code %d, or a field that the manifest no longer has would stay:\n%s", name, code, output)
		}
	}

	namespace := Object("v1", "Namespace", "", ns, nil)
	namespace.SetAnnotations(map[string]string{render.ClustersAnnotation: Push2})
	output, code := diff(t, "-f", writeAll(t, filepath.Join(t.TempDir(), "namespace.yaml"), namespace))
	if code != 1 || !strings.Contains(output, "+    karmada.target/source: ConfigMap/"+ns+"/plain") || strings.Contains(output, "source: ConfigMap/"+ns+"/page") {
		t.Errorf("a default must change only objects without their own clusters: exit code %d\n%s", code, output)
	}

	young := Object("v1", "Namespace", "", ns+"-young", nil)
	young.SetAnnotations(map[string]string{render.ClustersAnnotation: Push2})
	output, code = diff(t, "-f", writeAll(t, filepath.Join(t.TempDir(), "young.yaml"), Plain(ns+"-young", "page", "one"), young))
	if code != 1 || !strings.Contains(output, "does not exist yet") || !strings.Contains(output, "+    karmada.target/source: ConfigMap/"+ns+"-young/page") {
		t.Errorf("a new Namespace and an object in it: exit code %d\n%s", code, output)
	}

	scaler := Object("autoscaling/v2", "HorizontalPodAutoscaler", ns, "web", map[string]any{"spec": map[string]any{
		"maxReplicas": int64(3), "scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
	}})
	scaler.SetAnnotations(map[string]string{render.ClustersAnnotation: Push})
	output, code = diff(t, "-f", writeAll(t, filepath.Join(t.TempDir(), "scaler.yaml"), web, scaler))
	if code != 1 || !strings.Contains(output, "+          resourcetemplate.karmada.io/retain-replicas: \"true\"") {
		t.Errorf("an autoscaler and its target: exit code %d\n%s", code, output)
	}
	output, code = diff(t, "-f", writeAll(t, filepath.Join(t.TempDir(), "alone.yaml"), scaler))
	if code != 1 || !strings.Contains(output, "+          resourcetemplate.karmada.io/retain-replicas: \"true\"") {
		t.Errorf("an autoscaler for an existing target: exit code %d\n%s", code, output)
	}

	nameless := ConfigMap(ns, "", Push, "one")
	nameless.SetGenerateName("page-")
	output, code = diff(t, "-f", writeAll(t, filepath.Join(t.TempDir(), "nameless.yaml"), nameless))
	if code != 2 || !strings.Contains(output, "nameless.yaml: a ConfigMap has no name") {
		t.Errorf("generateName: exit code %d\n%s", code, output)
	}

	if now := resourceVersions(t, ns); now != versions {
		t.Errorf("something was written: -before +after:\n%s", cmp.Diff(versions, now))
	}
	output, code = diff(t, "-f", git, "--as", "nobody-of-"+ns)
	if code != 2 || !strings.Contains(output, "may not") && !strings.Contains(output, "forbidden") {
		t.Errorf("without permissions: exit code %d\n%s", code, output)
	}
}

// resourceVersions returns the resource versions of the objects in a namespace, and the
// sources of its Works in the second member. Works of other tests' namespaces are omitted
// because they come and go meanwhile.
func resourceVersions(t *testing.T, ns string) string {
	t.Helper()
	objects := Kubectl(t, "get", "configmaps,deployments,horizontalpodautoscalers", "-n", ns, "-o", "custom-columns=N:.metadata.name,V:.metadata.resourceVersion")
	sources := Kubectl(t, "get", "works", "-n", "karmada-es-"+Push2, "-l", render.OurWorks, "-o", `jsonpath={range .items[*]}{.metadata.annotations.karmada\.target/source}{"\n"}{end}`)
	for source := range strings.Lines(sources) {
		if strings.Contains(source, "/"+ns+"/") {
			objects += source
		}
	}
	return objects
}

// TestWait waits for applied, healthy and gone, and for what does not happen.
func TestWait(t *testing.T) {
	ns := Isolate(t)
	d := StartDaemon(t)
	Create(t, ConfigMaps, ConfigMap(ns, "page", Both, "one"))
	for _, state := range []string{"applied", "healthy"} {
		WantLine(t, MustKarmadaMirror(t, "wait", "cm/page", "-n", ns, "--for", state), `^ConfigMap/`+ns+`/page: `+state+`$`)
		for _, cluster := range []string{Push, Pull} {
			if status := MustWork(t, ConfigMapWork(ns, "page", cluster)); !isApplied(status) {
				t.Errorf("it did not wait for %s", cluster)
			}
		}
	}
	Create(t, ConfigMaps, ConfigMap(ns, "half", Push+",nowhere", "one"))
	Create(t, ConfigMaps, Plain(ns, "plain", "one"))
	output, err := KarmadaMirror(t, "wait", "cm/half", "-n", ns, "--timeout", "3s")
	if exitCode(err) != 1 || !strings.Contains(output, "timed out after 3s") || !strings.Contains(output, "nowhere: there is no such cluster") || strings.Contains(output, Push+":") {
		t.Errorf("with a missing cluster: %v\n%s", err, output)
	}
	if output, err := KarmadaMirror(t, "wait", "cm/plain", "-n", ns); exitCode(err) != 1 || !strings.Contains(output, "does not ask to be mirrored") {
		t.Errorf("for an object that does not ask to be mirrored: %v\n%s", err, output)
	}
	d.MustStop(t)
	Change(t, ConfigMaps, ns, "page", SetField("two", "data", "key"))
	if output, err := KarmadaMirror(t, "wait", "cm/page", "-n", ns, "--timeout", "2s"); exitCode(err) != 1 || !strings.Contains(output, Push+": its Work is out of date") {
		t.Errorf("with a stale Work: %v\n%s", err, output)
	}
	Remove(t, ConfigMaps, ns, "page")
	if output, err := KarmadaMirror(t, "wait", "cm/page", "-n", ns, "--for", "gone", "--timeout", "2s"); exitCode(err) != 1 || !strings.Contains(output, Push+": Work ") {
		t.Errorf("while the Works exist: %v\n%s", err, output)
	}
	StartDaemon(t)
	MustKarmadaMirror(t, "wait", "cm/page", "-n", ns, "--for", "gone")
	for _, cluster := range []string{Push, Pull} {
		if _, err := Env.Member(cluster).Resource(ConfigMaps).Namespace(ns).Get(t.Context(), "page", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("it did not wait for the deletion in %s: %v", cluster, err)
		}
	}
}

func isApplied(work *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(work.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		condition := c.(map[string]any)
		return condition["type"] == "Applied" && condition["status"] == "True"
	})
}

// exitCode is the exit code of a command that failed; 0 without an error.
func exitCode(err error) int {
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return 0
}

// diff runs the command and returns its output and exit code.
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
	return writeAll(t, filepath.Join(t.TempDir(), "object.yaml"), u)
}

// writeAll writes objects to a file.
func writeAll(t *testing.T, file string, objects ...*unstructured.Unstructured) string {
	t.Helper()
	var text []byte
	for _, u := range objects {
		one, err := yaml.Marshal(u.Object)
		Must(t, err)
		text = append(append(text, "---\n"...), one...)
	}
	Must(t, os.WriteFile(file, text, 0o600))
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
	nowhere := Plain("", "page", "one")
	if output := MustKarmadaMirror(t, "render", "-f", write(t, nowhere), "--clusters", "member1,member2", "-n", "shop"); output != strings.Join(works, "---\n") {
		t.Errorf("with the namespace as a flag:\n%s", output)
	}
	for name, clusters := range map[string]string{"a glob": "member*", "a typo": "Member1"} {
		if output, err := KarmadaMirror(t, "render", "-f", write(t, u), "--clusters", clusters); err == nil {
			t.Errorf("%s is accepted:\n%s", name, output)
		}
	}
}
