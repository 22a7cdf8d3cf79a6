//go:build long

package shared

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/render"
	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

const (
	// formerly is an annotation that a next version of the daemon no longer mirrors.
	formerly = "example.com/formerly"
	// nextMark is one that a next version adds to its Works.
	nextMark = "karmada.target/next"
	// edited is the object that a user changes in mid-upgrade.
	edited = "edited"
	// appliedPages are in the member too. The Works of the others are suspended, so that the
	// test takes no hour.
	appliedPages = 20
)

// rewritesAll is what the changelog says of a version that rewrites Works.
const rewritesAll = "rewrites all Works"

// TestUpgrade upgrades from the version before to this one, then to one that marks all Works, and
// then to one that strips one annotation more, and so changes what most Works mean. The audit
// log and the member say what that wrote.
func TestUpgrade(t *testing.T) {
	objects := upgradedObjects
	if text := os.Getenv("UPGRADE"); text != "" {
		var err error
		objects, err = strconv.Atoi(text)
		Must(t, err)
	}
	u := upgrade{t: t, namespace: Isolate(t), objects: objects, works: objects + 1}
	u.createSources()
	before := u.to(compileBefore(t), anyWork)
	t.Logf("the version before: %v in %s", before.writes, before.took)
	for name := range u.pages() {
		WantInMembers(t, u.namespace, name, "one", Push)
	}

	this := u.to("", anyWork)
	t.Logf("this version: %v in %s", this.writes, this.took)
	if len(this.writes) > 0 && !strings.Contains(newestChanges(t), rewritesAll) {
		t.Errorf("this version rewrites Works, and the changelog does not say %q: %v", rewritesAll, this.writes)
	}
	u.toMarking()
	u.toStripping()
}

// upgrade is a series of versions that run on the same objects, one after the other.
type upgrade struct {
	t         *testing.T
	namespace string
	// objects are all but the one that is edited; works are those of all.
	objects, works int
}

// hasFormerly says which of the pages have the annotation.
func hasFormerly(i int) bool { return i%5 != 0 }

func (u upgrade) createSources() {
	u.t.Helper()
	InParallel(u.t, u.objects, func(ctx context.Context, i int) error {
		page := ConfigMap(u.namespace, fmt.Sprintf("page-%d", i), Push, "one")
		annotations := page.GetAnnotations()
		if hasFormerly(i) {
			annotations[formerly] = "yes"
		}
		if i >= appliedPages {
			annotations[render.SuspendAnnotation] = "true"
		}
		page.SetAnnotations(annotations)
		_, err := Env.Admin.Resource(ConfigMaps).Namespace(u.namespace).Create(ctx, page, metav1.CreateOptions{})
		return err
	})
	Create(u.t, ConfigMaps, ConfigMap(u.namespace, edited, Push, "one"))
}

// effect is what a version has written, and how long that took from its start on.
type effect struct {
	writes map[string]int
	took   time.Duration
}

// to runs a version until all Works are as wanted and it has nothing left to write. An empty
// program is this version.
func (u upgrade) to(program string, wanted func(work *unstructured.Unstructured) bool) effect {
	u.t.Helper()
	var flags []string
	if program != "" {
		flags = append(flags, OtherProgram(program))
	}
	audit, began := AuditFromNow(u.t), time.Now()
	d := LaunchLeader(u.t, flags...)
	u.await(wanted)
	Eventually(u.t, "the queue to be empty", d.WantMetric(QueueEmpty, 0))
	took := time.Since(began).Round(time.Second)
	d.MustStop(u.t)
	return effect{audit.Writes(u.t), took}
}

func anyWork(*unstructured.Unstructured) bool { return true }

// await waits until all Works are there, and as wanted.
func (u upgrade) await(wanted func(work *unstructured.Unstructured) bool) {
	u.t.Helper()
	Within(u.t, Patience+time.Duration(u.works)*50*time.Millisecond, "the Works", func(context.Context) error {
		done := 0
		for _, work := range WorksOf(u.t, u.namespace) {
			if wanted(work) {
				done++
			}
		}
		if done != u.works {
			return fmt.Errorf("%d of %d are as wanted", done, u.works)
		}
		return nil
	})
}

// toMarking upgrades to a version that changes only the metadata of its Works: each is written
// once, and no object in the member is touched.
func (u upgrade) toMarking() {
	u.t.Helper()
	next := compileOverlaid(u.t, map[string]replacement{
		"render/work.go":       {"SourceUIDAnnotation: ", fmt.Sprintf("%q: new(\"yes\"), SourceUIDAnnotation: ", nextMark)},
		"mirror/state/work.go": {"w.Findable = ", fmt.Sprintf("w.Findable = annotations[%q] == \"yes\" && ", nextMark)},
	})
	inMember := u.pages()
	made := u.to(next, func(work *unstructured.Unstructured) bool { return work.GetAnnotations()[nextMark] != "" })
	u.t.Logf("a version that marks all Works: %v in %s", made.writes, made.took)
	if len(made.writes) != 1 || made.writes["patch works"] != u.works {
		u.t.Errorf("%d Works lack a mark: %v", u.works, made.writes)
	}
	Settle(u.t)
	for name, now := range u.pages() {
		if was := inMember[name]; now.GetUID() != was.GetUID() || now.GetResourceVersion() != was.GetResourceVersion() {
			u.t.Errorf("%s was touched in the member, though only its Work has changed: %v", name, now)
		}
	}
}

// toStripping upgrades to a version that strips one annotation more. It is killed, and a user
// changes an object, when it has written a part.
func (u upgrade) toStripping() {
	u.t.Helper()
	const inFlight = 5
	const rule = "key == corev1.LastAppliedConfigAnnotation"
	next := compileOverlaid(u.t, map[string]replacement{"render/strip.go": {rule, fmt.Sprintf("%s || key == %q", rule, formerly)}})
	inMember, audit, began := u.pages(), AuditFromNow(u.t), time.Now()
	flags := []string{OtherProgram(next), "--concurrent-syncs", fmt.Sprint(inFlight),
		"--kube-api-qps", fmt.Sprint(u.objects / 10), "--kube-api-burst", fmt.Sprint(inFlight)} // slow enough to interrupt it
	d := LaunchLeader(u.t, flags...)
	Eventually(u.t, "a part of the rewrites", func(context.Context) error {
		if n := audit.Writes(u.t)["patch works"]; n < u.objects/4 {
			return fmt.Errorf("%d Works are rewritten", n)
		}
		return nil
	})
	d.KillNow(u.t)
	written := audit.Writes(u.t)["patch works"]

	d = LaunchLeader(u.t, flags...)
	asked := time.Now()
	Change(u.t, ConfigMaps, u.namespace, edited, SetField("two", "data", "key")) // nothing else about it changes
	WantInMembers(u.t, u.namespace, edited, "two", Push)
	u.await(func(work *unstructured.Unstructured) bool {
		manifest, err := render.ManifestOf(work.Object)
		Must(u.t, err)
		_, has, _ := unstructured.NestedString(manifest, "metadata", "annotations", formerly)
		return !has
	})
	took := time.Since(began).Round(time.Second)
	d.MustStop(u.t)

	writes := audit.Writes(u.t)
	u.t.Logf("a version that strips an annotation: %v in %s, of which %d before it was killed", writes, took, written)
	u.wantOncePerWork(writes, inFlight)
	patched := worksPatched(u.t, audit, asked)
	overtook := slices.Index(patched, ConfigMapWork(u.namespace, edited, Push).Name)
	u.t.Logf("of the %d writes after the edit, it was number %d", len(patched), overtook+1)
	if most := u.objects / 10; overtook < 0 || overtook > most || len(patched) < 2*most {
		u.t.Errorf("an edit had to wait for %d of %d writes of the upgrade", overtook, len(patched))
	}
	Eventually(u.t, "the members", func(context.Context) error { return u.wantOnlyStripped(inMember) })
}

// wantOncePerWork checks that each Work whose meaning has changed was written once, and the
// edited one. The writes in flight at a kill may have been carried out.
func (u upgrade) wantOncePerWork(writes map[string]int, inFlight int) {
	u.t.Helper()
	want := 1
	for i := range u.objects {
		if hasFormerly(i) {
			want++
		}
	}
	const timeout = "patch works failed with 504" // its client was killed
	timeouts := writes[timeout]
	delete(writes, timeout)
	if n := writes["patch works"]; n+timeouts < want || n > want+inFlight || len(writes) != 1 {
		u.t.Errorf("%d Works mean something else, and %d writes were in flight at the kill: %v", want, inFlight, writes)
	}
}

// wantOnlyStripped compares the pages in the member with what was there: those that had the
// annotation have lost it, and the others were not touched.
func (u upgrade) wantOnlyStripped(before map[string]unstructured.Unstructured) error {
	for name, now := range u.pages() {
		was := before[name]
		_, had := was.GetAnnotations()[formerly]
		_, has := now.GetAnnotations()[formerly]
		touched := now.GetResourceVersion() != was.GetResourceVersion()
		if has || now.GetUID() != was.GetUID() || touched != (had || name == edited) {
			return fmt.Errorf("%s in the member, touched %v: %v", name, touched, now)
		}
	}
	return nil
}

// pages are the objects in the member, by name. It fails the test unless all are there.
func (u upgrade) pages() map[string]unstructured.Unstructured {
	u.t.Helper()
	pages := map[string]unstructured.Unstructured{}
	Eventually(u.t, "the objects in the member", func(ctx context.Context) error {
		list, err := Env.Member(Push).Resource(ConfigMaps).Namespace(u.namespace).List(ctx, metav1.ListOptions{FieldSelector: AllPages})
		if err != nil {
			return err
		}
		for _, page := range list.Items {
			pages[page.GetName()] = page
		}
		if len(pages) != appliedPages+1 {
			return fmt.Errorf("there are %d", len(pages))
		}
		return nil
	})
	return pages
}

// worksPatched lists the names of the Works patched since a time, in the order of the requests.
func worksPatched(t *testing.T, audit AuditLog, since time.Time) (names []string) {
	t.Helper()
	requests := audit.Requests(t)
	slices.SortFunc(requests, func(a, b Request) int { return a.RequestReceivedTimestamp.Compare(b.RequestReceivedTimestamp) })
	for _, r := range requests {
		if r.Verb == "patch" && r.ObjectRef.Resource == "works" && r.Succeeded() && r.RequestReceivedTimestamp.After(since) {
			names = append(names, r.ObjectRef.Name)
		}
	}
	return names
}

// compileBefore compiles the version before this one.
func compileBefore(t *testing.T) (program string) {
	t.Helper()
	revision := revisionBefore(t)
	t.Logf("the version before is %s", revision)
	program, err := Env.Builder.DaemonAt(t.Context(), revision)
	Must(t, err)
	return program
}

// revisionBefore is the newest tag before this revision, or else the one before the newest commit
// that changes the daemon.
func revisionBefore(t *testing.T) string {
	t.Helper()
	if tag, err := git(t, "describe", "--tags", "--abbrev=0", "--match", "v*", "HEAD^"); err == nil {
		return tag
	}
	newest, err := git(t, "log", "-1", "--format=%H", "--", "*.go", ":!*_test.go", ":!sandbox", ":!tools")
	Must(t, err)
	return newest + "^"
}

func git(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", Env.Builder.Repository()}, arguments...)...).Output()
	return strings.TrimSpace(string(output)), err
}

// replacement is a change of a file: the first occurrence of a text is replaced.
type replacement struct{ old, new string }

// compileOverlaid compiles this version with changes, by file.
func compileOverlaid(t *testing.T, changes map[string]replacement) (program string) {
	t.Helper()
	dir, overlay := t.TempDir(), map[string]string{}
	for path, change := range changes {
		before := string(RepositoryFile(t, path))
		if !strings.Contains(before, change.old) {
			t.Fatalf("%s does not contain %q", path, change.old)
		}
		overlaid := filepath.Join(dir, strings.ReplaceAll(path, "/", "-"))
		WriteFile(t, overlaid, []byte(strings.Replace(before, change.old, change.new, 1)))
		overlay[filepath.Join(Env.Builder.Repository(), path)] = overlaid
	}
	file, err := json.Marshal(map[string]any{"Replace": overlay})
	Must(t, err)
	WriteFile(t, filepath.Join(dir, "overlay.json"), file)
	program = filepath.Join(dir, "karmada-mirror")
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", program, ".")
	build.Dir = Env.Builder.Repository()
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, output)
	}
	return program
}

// newestChanges is the top section of the changelog.
func newestChanges(t *testing.T) string {
	t.Helper()
	sections := strings.Split(string(RepositoryFile(t, "CHANGELOG.md")), "\n## ")
	if len(sections) < 2 {
		t.Fatal("the changelog has no section")
	}
	return sections[1]
}
