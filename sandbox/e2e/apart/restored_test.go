package apart

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

// restart restarts components of Karmada.
func restart(t *testing.T, names ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	for _, name := range names {
		Must(t, Env.Component(name).Restart(ctx))
	}
}

// TestEtcdRestored restores etcd from a backup: its revisions go back. It comes last, by the name of its file, because
// nothing in the Karmada can be trusted afterwards, though its components are restarted, as the docs say.
func TestEtcdRestored(t *testing.T) {
	install(t, "- {resource: configmaps}\n")
	// Without a Lease to lose, the daemon survives all of this, with caches that are ahead,
	// until it notices.
	o := DaemonOptions{Flags: []string{"--leader-elect=false"}}
	daemon, ns := StartDaemon(t, o), NewNamespace(t)
	want := map[string]string{}
	wants := func(what string) {
		t.Helper()
		Eventually(t, what, func(ctx context.Context) error {
			got, err := values(ctx, Push, ns)
			if err == nil && !maps.Equal(want, got) {
				err = fmt.Errorf("they are %v, not %v", got, want)
			}
			return err
		})
	}
	for i := range 10 {
		name := fmt.Sprint("page-", i)
		Create(t, ConfigMaps, ConfigMap(ns, name, Push, "one"))
		want[name] = "one"
	}
	wants("the objects in the member")
	backUp := func(from, to string) {
		t.Helper()
		Must(t, Env.Component(karmada.Etcd).Stop())
		Must(t, os.RemoveAll(to))
		Must(t, os.CopyFS(to, os.DirFS(from)))
		restart(t, karmada.Etcd)
	}
	data, backup := filepath.Join(Env.Dir, "etcd"), filepath.Join(t.TempDir(), "backup")
	backUp(data, backup)
	// Catching up with these revisions takes the restored etcd longer than the daemon needs to
	// notice.
	var ballast errgroup.Group
	ballast.SetLimit(16)
	for i := range 4000 {
		ballast.Go(func() error {
			_, err := Env.Client.CoreV1().ConfigMaps(ns).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("ballast-", i)}}, metav1.CreateOptions{})
			return err
		})
	}
	Must(t, ballast.Wait())
	Change(t, ConfigMaps, ns, "page-0", SetField("two", "data", "key"))
	Remove(t, ConfigMaps, ns, "page-1")
	Create(t, ConfigMaps, ConfigMap(ns, "page-new", Push, "one"))
	WantInMembers(t, ns, "page-new", "one", Push)
	WantGone(t, ConfigMaps, ns, "page-1", Push)

	backUp(backup, data)
	audit := AuditFromNow(t)
	restart(t, karmada.APIServer, karmada.MemberAPIServer(Push), karmada.MemberAPIServer(Pull), karmada.AggregatedAPIServer, karmada.Webhook, karmada.KubeControllerManager, karmada.ControllerManager, karmada.Agent(Pull))
	daemon.AwaitReplacement(t)
	t.Cleanup(func() { t.Log("Karmada about page-3:", Env.Component(karmada.ControllerManager).LastLines("page-3")) })
	StartDaemon(t, o)
	Change(t, ConfigMaps, ns, "page-3", SetField("three", "data", "key"))
	want["page-3"] = "three"
	wants("what was restored, and the edit")
	for _, r := range audit.Requests(t) { // a Work that the restored sources do not ask for may be deleted, such as that of page-new and those of other tests
		if r.Verb == "delete" && r.ObjectRef.Resource == Works.Resource && strings.HasPrefix(r.ObjectRef.Name, "page-") && !strings.HasPrefix(r.ObjectRef.Name, "page-new") {
			t.Errorf("the daemon has deleted %s", r.ObjectRef.Name)
		}
	}
}
