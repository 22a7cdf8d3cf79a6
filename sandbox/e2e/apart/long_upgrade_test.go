//go:build long

package apart

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// rewritesAll is what the changelog says of a version that rewrites Works.
const rewritesAll = "rewrites all Works"

// TestUpgrade upgrades from the version before to this one: unless the changelog says so, it
// writes nothing, and the members are not touched.
func TestUpgrade(t *testing.T) {
	install(t, "- {resource: configmaps}\n")
	ns := NewNamespace(t)
	before, err := Env.Builder.DaemonAt(t.Context(), revisionBefore(t))
	Must(t, err)
	const objects = 20
	isOurs := map[string]bool{} // and not what a test before has left to delete
	for i := range objects {
		page := ConfigMap(ns, fmt.Sprint("page-", i), Both, "one")
		isOurs[page.GetName()], isOurs[ConfigMapWork(ns, page.GetName(), Push).Name] = true, true
		Create(t, ConfigMaps, page)
	}
	old := StartDaemon(t, DaemonOptions{Program: []string{before}})
	for _, member := range []string{Push, Pull} {
		Eventually(t, "the objects in "+member, func(ctx context.Context) error {
			all, err := values(ctx, member, ns)
			if err == nil && len(all) != objects {
				err = fmt.Errorf("there are %d", len(all))
			}
			return err
		})
	}
	Must(t, old.Stop())
	audit := AuditFromNow(t)
	d := StartDaemon(t, DaemonOptions{})
	Eventually(t, "all sources to be synced", func(ctx context.Context) error {
		all, err := d.Series(ctx)
		if n := all[`karmada_mirror_sync_duration_seconds_count{result="success"}`]; err == nil && n < objects {
			err = fmt.Errorf("there were %g syncs", n)
		}
		return err
	})
	Eventually(t, "the queue to be empty", d.WantMetric(`workqueue_depth{name="mirror"}`, 0))
	Settle(t)
	var writes []string
	for _, r := range audit.Requests(t) {
		if isOurs[r.ObjectRef.Name] && !slices.Contains([]string{"get", "list", "watch"}, r.Verb) {
			writes = append(writes, r.Verb+" "+r.ObjectRef.Resource+" "+r.ObjectRef.Name)
		}
	}
	if len(writes) > 0 && !strings.Contains(newestChanges(t), rewritesAll) {
		t.Errorf("this version rewrites Works, and the changelog does not say %q: %v", rewritesAll, writes)
	}
	Change(t, ConfigMaps, ns, "page-0", SetField("two", "data", "key"))
	WantInMembers(t, ns, "page-0", "two", Push, Pull)
}

// revisionBefore is the newest tag before this revision, or else the one before the newest
// commit that changes the daemon.
func revisionBefore(t *testing.T) string {
	t.Helper()
	git := func(arguments ...string) (string, error) {
		output, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", Env.Builder.Repository()}, arguments...)...).Output()
		return strings.TrimSpace(string(output)), err
	}
	if tag, err := git("describe", "--tags", "--abbrev=0", "--match", "v*", "HEAD^"); err == nil {
		return tag
	}
	newest, err := git("log", "-1", "--format=%H", "--", "*.go", ":!*_test.go", ":!sandbox", ":!tools", ":!simulation")
	Must(t, err)
	return newest + "^"
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
