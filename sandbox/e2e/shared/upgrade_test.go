package shared

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/render"
	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// formerly is an annotation that the next version of the daemon no longer mirrors.
const formerly = "example.com/formerly"

// TestUpgrade upgrades from the revision before to this one, and then to a next version
// that strips one annotation more, and so changes what most Works mean. The audit log and
// the member say what that wrote.
func TestUpgrade(t *testing.T) {
	const objects, applied, inFlight = upgradedWorks, 20, 20
	ns := Isolate(t)
	InParallel(t, objects, func(ctx context.Context, i int) error {
		page := ConfigMap(ns, fmt.Sprintf("page-%d", i), Push, "one")
		annotations := page.GetAnnotations()
		if hasFormerly(i) {
			annotations[formerly] = "yes"
		}
		if i >= applied { // the member holds only some, so that the test takes no hour
			annotations[render.SuspendAnnotation] = "true"
		}
		page.SetAnnotations(annotations)
		_, err := Env.Admin.Resource(ConfigMaps).Namespace(ns).Create(ctx, page, metav1.CreateOptions{})
		return err
	})
	former, next := t.TempDir(), filepath.Join(t.TempDir(), "next")
	checkOutBefore(t, former)
	before := compileDaemon(t, former)
	d := LaunchLeader(t, OtherProgram(before))
	wantWorks(t, d, ns, objects)
	for i := range applied {
		WantInMembers(t, ns, fmt.Sprintf("page-%d", i), "one", Push)
	}
	d.MustStop(t)

	audit := AuditFromNow(t)
	d = LaunchLeader(t)
	wantWorks(t, d, ns, objects)
	d.MustStop(t)
	writes := audit.Writes(t)
	t.Logf("from the revision before: %v", writes)
	if len(writes) > 0 && !strings.Contains(readRepository(t, "CHANGELOG.md"), "rewrites all Works") {
		t.Errorf("this revision rewrites Works, and the changelog does not say so: %v", writes)
	}

	inMember := pagesIn(t, ns)
	audit = AuditFromNow(t)
	overlay := stripping(t, next)
	rate := fmt.Sprint(objects / 10) // slow enough to interrupt it
	flags := []string{OtherProgram(overlay), "--concurrent-syncs", fmt.Sprint(inFlight), "--kube-api-qps", rate, "--kube-api-burst", fmt.Sprint(inFlight)}
	d = LaunchLeader(t, flags...)
	Eventually(t, "a part of the rewrites", func(context.Context) error {
		if n := audit.Writes(t)["patch works"]; n < objects/4 {
			return fmt.Errorf("%d Works are rewritten", n)
		}
		return nil
	})
	d.KillNow(t)
	written := audit.Writes(t)["patch works"]

	d = LaunchLeader(t, flags...)
	Change(t, ConfigMaps, ns, "page-0", SetField("two", "data", "key")) // nothing else about it changes
	wantStripped(t, ns)
	WantInMembers(t, ns, "page-0", "two", Push)
	d.MustStop(t)

	rewritten := 0
	for i := range objects {
		if hasFormerly(i) {
			rewritten++
		}
	}
	writes = audit.Writes(t)
	t.Logf("to the next version: %v, of which %d before it was killed", writes, written)
	const timeout = "patch works failed with 504" // its client was killed: it may have been carried out
	timeouts := writes[timeout]
	delete(writes, timeout)
	if n := writes["patch works"]; n+timeouts < rewritten+1 || n > rewritten+1+inFlight || len(writes) != 1 {
		t.Errorf("%d Works mean something else, one object was edited, and %d writes were in flight at the kill: %v", rewritten, inFlight, writes)
	}
	edited := slices.IndexFunc(worksPatched(t, audit), func(work string) bool { return work == ConfigMapWork(ns, "page-0", Push).Name })
	t.Logf("the edit was write %d of %d", edited, writes["patch works"])
	if edited < written || edited > written+(rewritten-written)*3/4 {
		t.Errorf("an edit had to wait for the upgrade: it was write %d, after %d before the kill", edited, written)
	}
	for name, now := range pagesIn(t, ns) {
		was := inMember[name]
		_, had := was.GetAnnotations()[formerly]
		_, has := now.GetAnnotations()[formerly]
		if has || now.GetUID() != was.GetUID() {
			t.Errorf("%s in the member: %v", name, now)
		}
		if !had && name != "page-0" && now.GetResourceVersion() != was.GetResourceVersion() {
			t.Errorf("%s was touched in the member, though it has not changed: %v", name, now)
		}
	}
}

// hasFormerly says which of the objects have the annotation.
func hasFormerly(i int) bool { return i%10 != 0 }

// wantWorks waits until a daemon has nothing left to write.
func wantWorks(t *testing.T, d *Daemon, namespace string, objects int) {
	t.Helper()
	Within(t, 3*time.Minute, "the Works", func(ctx context.Context) error {
		if n := len(WorksOf(t, namespace)); n != objects {
			return fmt.Errorf("there are %d", n)
		}
		return d.WantMetric(QueueEmpty, 0)(ctx)
	})
}

// wantStripped waits until no Work has the annotation.
func wantStripped(t *testing.T, namespace string) {
	t.Helper()
	Within(t, 3*time.Minute, "the rewrites", func(context.Context) error {
		left := 0
		for _, work := range WorksOf(t, namespace) {
			manifest, err := render.ManifestOf(work.Object)
			Must(t, err)
			if _, has, _ := unstructured.NestedString(manifest, "metadata", "annotations", formerly); has {
				left++
			}
		}
		if left > 0 {
			return fmt.Errorf("%d Works still have the annotation", left)
		}
		return nil
	})
}

// worksPatched lists the names of the patched Works in the order of the requests.
func worksPatched(t *testing.T, audit AuditLog) (names []string) {
	t.Helper()
	requests := audit.Requests(t)
	slices.SortFunc(requests, func(a, b Request) int { return a.RequestReceivedTimestamp.Compare(b.RequestReceivedTimestamp) })
	for _, r := range requests {
		if r.Verb == "patch" && r.ObjectRef.Resource == "works" && r.Succeeded() {
			names = append(names, r.ObjectRef.Name)
		}
	}
	return names
}

// pagesIn are the pages in the member, by name.
func pagesIn(t *testing.T, namespace string) map[string]unstructured.Unstructured {
	t.Helper()
	list, err := Env.Member(Push).Resource(ConfigMaps).Namespace(namespace).List(t.Context(), metav1.ListOptions{FieldSelector: AllPages})
	Must(t, err)
	pages := map[string]unstructured.Unstructured{}
	for _, page := range list.Items {
		pages[page.GetName()] = page
	}
	return pages
}

// checkOutBefore writes the files of the revision before this one to a folder; those of
// this one if the clone has no other.
func checkOutBefore(t *testing.T, dir string) {
	t.Helper()
	revision := "HEAD~1"
	if exec.CommandContext(t.Context(), "git", "-C", Env.Builder.Repository(), "rev-parse", "--verify", "--quiet", revision).Run() != nil {
		revision = "HEAD"
	}
	run(t, dir, "sh", "-c", fmt.Sprintf("git -C '%s' archive %s | tar -x", Env.Builder.Repository(), revision))
	t.Logf("the revision before is %s", revision)
}

// compileDaemon compiles the daemon in a folder of sources.
func compileDaemon(t *testing.T, dir string, flags ...string) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "karmada-mirror")
	run(t, dir, "go", slices.Concat([]string{"build"}, flags, []string{"-o", program, "."})...)
	return program
}

func run(t *testing.T, dir, program string, arguments ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, arguments...)
	command.Dir = dir
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, output)
	}
}

// stripping compiles this revision with one more annotation that is stripped.
func stripping(t *testing.T, overlaid string) (program string) {
	t.Helper()
	const rule = "key == corev1.LastAppliedConfigAnnotation"
	changed := strings.Replace(readRepository(t, "render/strip.go"), rule, fmt.Sprintf("%s || key == %q", rule, formerly), 1)
	if !strings.Contains(changed, formerly) {
		t.Fatalf("render/strip.go does not contain %q", rule)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(Env.Builder.Repository(), "render", "strip.go"): overlaid}})
	Must(t, err)
	file := filepath.Join(t.TempDir(), "overlay.json")
	Must(t, os.WriteFile(overlaid, []byte(changed), 0o600), os.WriteFile(file, overlay, 0o600))
	return compileDaemon(t, Env.Builder.Repository(), "-overlay", file)
}

func readRepository(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(Env.Builder.Repository(), path))
	Must(t, err)
	return string(content)
}
