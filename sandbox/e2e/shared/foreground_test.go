package shared

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// TestForeground judges by the audit log: each source has its finalizer before its first Work, and
// loses it after its last; that takes two writes. kubectl returns when no member has the object.
func TestForeground(t *testing.T) {
	ns := Isolate(t)
	d := StartDaemon(t)
	audit := AuditFromNow(t)
	const sources = 5
	CreateHeldPages(t, ns, Both, sources)
	WantSources(t, ns)
	for i := range sources {
		WantInMembers(t, ns, fmt.Sprintf("page-%d", i), "one", Push, Pull)
	}
	Kubectl(t, "-n", ns, "delete", "configmaps", "--field-selector", AllPages, "--timeout=60s")
	for _, member := range []string{Push, Pull} {
		list, err := Env.Member(member).Resource(ConfigMaps).Namespace(ns).List(t.Context(), metav1.ListOptions{})
		Must(t, err)
		for _, u := range list.Items {
			if strings.HasPrefix(u.GetName(), "page-") {
				t.Errorf("kubectl has returned, and %s still has %s", member, u.GetName())
			}
		}
	}
	for i := range sources {
		got := writesAbout(t, audit, ns, fmt.Sprintf("page-%d", i))
		if want := "finalizer, create, create, delete, delete, finalizer"; got != want {
			t.Errorf("page-%d: the daemon wrote %s; want %s", i, got, want)
		}
	}
	d.MustStop(t)
}

// writesAbout lists the writes of the daemon about a ConfigMap and its Works, in the order in which the
// API server got them.
func writesAbout(t *testing.T, audit AuditLog, namespace, name string) string {
	t.Helper()
	requests := audit.Requests(t)
	slices.SortStableFunc(requests, func(a, b Request) int { return a.RequestReceivedTimestamp.Compare(b.RequestReceivedTimestamp) })
	var writes []string
	for _, r := range requests {
		switch {
		case !r.Succeeded() || slices.Contains([]string{"get", "list", "watch"}, r.Verb):
		case r.ObjectRef.Resource == "configmaps" && r.ObjectRef.Namespace == namespace && r.ObjectRef.Name == name:
			writes = append(writes, "finalizer")
		case r.ObjectRef.Resource == "works" && r.ObjectRef.Name == ConfigMapWork(namespace, name, Push).Name:
			writes = append(writes, r.Verb)
		}
	}
	return strings.Join(writes, ", ")
}

// TestForegroundAway deletes an object while a member is away: an Event says what it waits for, and
// two ways out of it are tried: the member returns, or a user lets the object go.
func TestForegroundAway(t *testing.T) {
	ns := Isolate(t)
	goesAway.Lock()
	defer goesAway.Unlock()
	d := StartDaemon(t)
	CreateHeldPages(t, ns, Push+","+returner, 3)
	WantSources(t, ns)
	for i := range 3 {
		WantInMembers(t, ns, fmt.Sprintf("page-%d", i), "one", Push, returner)
	}
	server := Env.Component(karmada.MemberAPIServer(returner))
	Must(t, server.Stop())
	restarted := false
	t.Cleanup(func() {
		if !restarted {
			_ = server.Restart(context.Background())
		}
	})
	Within(t, time.Minute, "the cluster not to be ready", isReady(returner, metav1.ConditionFalse))
	f := NewFault(t, "A member away, and objects deleted in the foreground meanwhile", ns)
	for i := range 3 {
		f.Allow(render.Identity{Kind: "ConfigMap", Namespace: ns, Name: fmt.Sprintf("page-%d", i)}, Push, returner)
		Must(t, Env.Admin.Resource(ConfigMaps).Namespace(ns).Delete(t.Context(), fmt.Sprintf("page-%d", i), metav1.DeleteOptions{}))
	}
	WantGone(t, ConfigMaps, ns, "page-0", Push)
	WantEvent(t, ns, "page-0", "DeletionPending", "its Works remain for "+returner+" (the cluster is not ready)")
	wantThere(t, ns, "page-0")

	// The way out of the how-to: the deletion goes on in the background.
	Kubectl(t, "-n", ns, "annotate", "--overwrite", "configmap", "page-1", "karmada.target/deletion=background")
	wantDeleted(t, ns, "page-1")
	// A daemon that starts now goes on where it stands.
	d.MustStop(t)
	StartDaemon(t)
	Pass(t, 2*time.Second)
	wantThere(t, ns, "page-0")

	Must(t, server.Restart(t.Context()))
	restarted = true
	f.Heal()
	for _, page := range []string{"page-0", "page-2"} {
		wantDeleted(t, ns, page)
		WantGone(t, ConfigMaps, ns, page, returner)
	}
	WantGone(t, ConfigMaps, ns, "page-1", returner)
	f.Converge(Patience)
}

// wantThere fails the test unless an object is being deleted, and still there.
func wantThere(t *testing.T, namespace, name string) {
	t.Helper()
	u, err := Env.Admin.Resource(ConfigMaps).Namespace(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil || u.GetDeletionTimestamp() == nil {
		t.Errorf("%s should wait for its Works: %v", name, err)
	}
}

// wantDeleted waits until a ConfigMap no longer exists on the Karmada API server.
func wantDeleted(t *testing.T, namespace, name string) {
	t.Helper()
	Within(t, 2*time.Minute, "ConfigMap "+name+" to be gone", func(ctx context.Context) error {
		_, err := Env.Admin.Resource(ConfigMaps).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(err, errors.New("it still exists"))
	})
}

// TestForegroundHeld deletes so much in the foreground that the breaker holds it: the objects stay
// until an administrator approves.
func TestForegroundHeld(t *testing.T) {
	ns := Isolate(t)
	const sources = 60
	d := StartDaemon(t, "--deletion-settle-period", "5s")
	d.Reconfigure(t, func() { Configure(t, withBreaker(t)) })
	CreateHeldPages(t, ns, Push, sources)
	WantSources(t, ns)
	f := NewFault(t, "60 of 60 objects deleted at once in the foreground", ns)
	Must(t, Env.Admin.Resource(ConfigMaps).Namespace(ns).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: AllPages}))
	Eventually(t, "all deletions to be held", d.WantMetric(Held("configmaps"), sources))
	WantEvent(t, ns, "page-7", "DeletionPending", Push, "the deletion breaker holds", "karmada-mirror deletions list")
	f.WantNoDeletes()
	wantThere(t, ns, "page-59")
	for i := range sources {
		f.Allow(render.Identity{Kind: "ConfigMap", Namespace: ns, Name: fmt.Sprintf("page-%d", i)}, Push)
	}
	f.Heal()
	MustKarmadaMirror(t, "deletions", "approve", "--yes", "--resource", "configmaps", "-n", ns)
	wantDeleted(t, ns, "page-59")
	f.Converge(Patience)
}

// TestForegroundNamespace deletes a Namespace with very many sources.
func TestForegroundNamespace(t *testing.T) {
	Isolate(t)
	StartDaemon(t)
	doomed := NewNamespace(t)
	const sources = 1000
	CreateHeldPages(t, doomed, Push, sources)
	WantSources(t, doomed)
	begun := time.Now()
	Must(t, Env.Admin.Resource(Namespaces).Delete(t.Context(), doomed, metav1.DeleteOptions{}))
	Within(t, 5*time.Minute, "the Namespace to be gone", func(ctx context.Context) error {
		_, err := Env.Admin.Resource(Namespaces).Get(ctx, doomed, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(err, errors.New("it still exists"))
	})
	t.Logf("a Namespace with %d sources is gone after %s", sources, time.Since(begun).Round(time.Second))
}
