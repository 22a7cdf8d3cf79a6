package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/render"
)

// karmadaMirror runs a command as an administrator would.
func karmadaMirror(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), env.daemon, arguments...)
	command.Env = append(os.Environ(), daemonVariable+"=1", "KUBECONFIG="+env.Kubeconfig())
	output, err := command.CombinedOutput()
	return string(output), err
}

func mustKarmadaMirror(t *testing.T, arguments ...string) string {
	t.Helper()
	output, err := karmadaMirror(t, arguments...)
	if err != nil {
		t.Fatalf("karmada-mirror %s: %v: %s", strings.Join(arguments, " "), err, output)
	}
	return output
}

func held(resource string) string {
	return fmt.Sprintf("karmada_mirror_deletions_held{resource=%q}", resource)
}

func createPages(t *testing.T, namespace, clusters string, n int) (ids []render.Identity) {
	t.Helper()
	for i := range n {
		name := fmt.Sprintf("page-%d", i)
		create(t, configMaps, configMap(namespace, name, clusters, "one"))
		ids = append(ids, render.Identity{Kind: "ConfigMap", Namespace: namespace, Name: name})
	}
	return ids
}

func removeAll(t *testing.T, gvr schema.GroupVersionResource, namespace, selector string) {
	t.Helper()
	err := env.admin.Resource(gvr).Namespace(namespace).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: selector})
	if err != nil {
		t.Fatal(err)
	}
}

// allPages leaves out the ConfigMap that Kubernetes puts into each namespace.
const allPages = "metadata.name!=kube-root-ca.crt"

// TestBreaker deletes everything at once, and looks whether anything but an
// approval lets it go.
func TestBreaker(t *testing.T) {
	const sources = 60
	d := startDaemon(t)
	quiesce(t)
	configure(t, strings.Replace(resources("configmaps"), breakerOff, breakerOn, 1))
	ns := newNamespace(t)
	f := newFault(t, "60 of 60 objects deleted at once; the daemon restarted", ns)
	f.note = "60 held, 58 of them made again, two held across a restart until approved"
	ids := createPages(t, ns, push, sources)
	wantInMembers(t, ns, fmt.Sprintf("page-%d", sources-1), "one", push)
	eventually(t, "the Works", func(ctx context.Context) error { return disagreement(ctx, ns, configMaps) })

	removeAll(t, configMaps, ns, allPages)
	eventually(t, "all deletions to be held", d.wantMetric(held("configmaps"), fmt.Sprint(sources)))
	wantEvent(t, system, account, "DeletionHeld")

	// What is wanted again is pending no longer, so that the number that is left
	// would trip nothing: the marks alone hold it.
	for i := range sources - 2 {
		create(t, configMaps, configMap(ns, fmt.Sprintf("page-%d", i), push, "two"))
	}
	eventually(t, "two deletions to be left", d.wantMetric(held("configmaps"), "2"))
	if err := d.stop(); err != nil {
		t.Fatal(err)
	}
	d = startDaemon(t)
	eventually(t, "the syncs after a restart", atLeastSyncs(d, sources-2))
	eventually(t, "the two to be refused", d.wantMetric(`karmada_mirror_refused_sources{reason="DeletionHeld"}`, "2"))
	f.wantNoDeletes()

	t.Run("Approved", func(t *testing.T) {
		wantLine(t, mustKarmadaMirror(t, "deletions", "list"), `^configmaps +2 +2 +member1 +\S+Z$`)
		wantLine(t, mustKarmadaMirror(t, "deletions", "list", "--works"), `^configmaps +ConfigMap/`+ns+`/page-59 +member1 +\S+Z +the source does not exist$`)
		wantLine(t, mustKarmadaMirror(t, "explain", "cm", "page-59", "-n", ns), `^`+push+` +Unwanted +the source does not exist .*karmada-mirror deletions approve$`)
		if output, code := diff(t, "cm", "page-59", "-n", ns); code != 0 || !strings.Contains(output, "is held") {
			t.Errorf("the difference of what is held: exit code %d\n%s", code, output)
		}
		if output, err := karmadaMirror(t, "deletions", "approve", "--resource", "secrets"); err == nil {
			t.Errorf("an approval of nothing: %s", output)
		}
		for _, id := range ids[sources-2:] {
			f.allow(id, push)
		}
		f.heal()
		wantLine(t, mustKarmadaMirror(t, "deletions", "approve", "--resource", "configmaps"), `^approved: 2 deletions of configmaps$`)
		f.converge(patience)
		wantLine(t, mustKarmadaMirror(t, "deletions", "list"), `^No deletion is held.$`)
	})
	t.Run("AnOldApprovalIsNotReplayed", func(t *testing.T) {
		f := newFault(t, "An approval from before, with another mass deletion", ns)
		removeAll(t, configMaps, ns, allPages)
		eventually(t, "all deletions to be held", d.wantMetric(held("configmaps"), fmt.Sprint(sources-2)))
		old := annotationOf(t, config.ApprovalsAnnotation)
		change(t, configMaps, system, account, setAnnotation(config.ApprovalsAnnotation, ""))
		change(t, configMaps, system, account, setAnnotation(config.ApprovalsAnnotation, old))
		change(t, configMaps, system, account, setAnnotation(config.ApprovalsAnnotation, "configmaps=2999-01-01T00:00:00Z"))
		wantEvent(t, system, account, "InvalidApproval")
		f.wantNoDeletes()
		for _, id := range ids {
			f.allow(id, push)
		}
		f.heal()
		mustKarmadaMirror(t, "deletions", "approve")
		f.converge(patience)
	})
}

func wantLine(t *testing.T, output, pattern string) {
	t.Helper()
	if !regexp.MustCompile(`(?m)` + pattern).MatchString(output) {
		t.Errorf("no line is like %q in:\n%s", pattern, output)
	}
}

func annotationOf(t *testing.T, key string) string {
	t.Helper()
	u, err := env.admin.Resource(configMaps).Namespace(system).Get(t.Context(), account, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return u.GetAnnotations()[key]
}
