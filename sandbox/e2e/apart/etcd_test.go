package apart

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// TestEtcdRestored has a Karmada of its own, because nothing in it can be trusted
// afterwards.
func TestEtcdRestored(t *testing.T) {
	dir := t.TempDir()
	StartOwn(t, karmada.Options{Dir: dir, Members: Named(Push)})
	Must(t, Env.Install(t.Context()))
	// Without a Lease to lose, the daemon survives all of this, with caches that are
	// ahead, until it notices.
	daemon := Supervise(t, "--leader-elect=false")
	ns := NewNamespace(t)
	ids := CreatePages(t, ns, Push, 20)
	daemon.WantSources(t, ns)

	backUp := func(from, to string) {
		t.Helper()
		if err := Env.Component(karmada.Etcd).Stop(); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(to); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
		MustRestart(t, karmada.Etcd)
	}
	data, backup := filepath.Join(dir, "etcd"), filepath.Join(dir, "backup")
	backUp(data, backup)
	// Catching up with these revisions takes the restored etcd longer than the daemon
	// needs to notice.
	InParallel(t, 4000, func(ctx context.Context, i int) error {
		_, err := Env.Admin.Resource(ConfigMaps).Namespace(ns).Create(ctx, Object("v1", "ConfigMap", ns, fmt.Sprintf("ballast-%d", i), nil), metav1.CreateOptions{})
		return err
	})
	Workload(t, nil, ns, ids)
	Create(t, ConfigMaps, ConfigMap(ns, "page-new", Push, "one"))
	daemon.WantSources(t, ns)

	f := NewFault(t, "etcd restored from a snapshot: revisions go back", ns)
	f.Note = "noticed within 30 s: the daemon ends, and is restarted"
	f.Daemon = daemon
	// Works that the restored sources no longer ask for may be deleted.
	f.Allow(render.Identity{Kind: "ConfigMap", Namespace: ns, Name: "page-new"}, Push)
	backUp(backup, data)
	MustRestart(t, karmada.APIServer, karmada.AggregatedAPIServer, karmada.Webhook, karmada.KubeControllerManager, karmada.ControllerManager)
	WantAnswer(t, ns)
	Env.WatchAnew()
	f.Heal()
	Change(t, ConfigMaps, ns, "page-3", SetField("two", "data", "key"))
	// Its watches may have resumed by then: it must end all the same.
	Eventually(t, "the daemon to notice", func(context.Context) error {
		if daemon.Ensure(t); daemon.Starts < 2 {
			return errors.New("it has not ended")
		}
		return nil
	})
	f.Converge(Patience)
	daemon.WantStarts(t, 1)
	Eventually(t, "the daemon to be ready again", func(ctx context.Context) error { return daemon.Current.Load().Probe(ctx, "/readyz") })
}
