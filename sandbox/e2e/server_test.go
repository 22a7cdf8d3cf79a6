package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

// pass waits for a time that is a part of the fault itself.
func pass(t *testing.T, d time.Duration) {
	t.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
	}
}

func mustRestart(t *testing.T, names ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for _, name := range names {
		if err := env.Component(name).Restart(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

// newServerFault is the measuring of a fault of the API server, which may end the
// daemon, with sources that are mirrored.
func newServerFault(t *testing.T, name string) (*faultRow, []render.Identity) {
	t.Helper()
	daemon := supervise(t)
	quiesce(t)
	ns := newNamespace(t)
	ids := createPages(t, ns, both, 20)
	daemon.wantSources(t, ns)
	f := newFault(t, name, ns)
	f.daemon = daemon
	return f, ids
}

func TestAPIServerRestarted(t *testing.T) {
	f, ids := newServerFault(t, "API server restarted")
	mustRestart(t, karmada.APIServer)
	f.heal()
	workload(t, f, f.namespace, ids)
	f.converge(patience)
}

func TestAPIServerPaused(t *testing.T) {
	f, ids := newServerFault(t, "API server stopped (SIGSTOP) for two minutes")
	f.note = "the daemon ends when it cannot renew its Lease, and is started again"
	server := env.Component(karmada.APIServer)
	if err := server.Pause(); err != nil {
		t.Fatal(err)
	}
	pass(t, 2*time.Minute)
	if err := server.Resume(); err != nil {
		t.Fatal(err)
	}
	f.heal()
	wantAnswer(t, f.namespace)
	workload(t, f, f.namespace, ids)
	f.daemon.current.Load().wantExit(t, patience)
	f.converge(patience)
}

// wantAnswer waits until the API server reads the sources.
func wantAnswer(t *testing.T, namespace string) {
	t.Helper()
	eventually(t, "the API server to answer", func(ctx context.Context) error {
		_, err := env.admin.Resource(configMaps).Namespace(namespace).Get(ctx, "page-3", metav1.GetOptions{})
		return err
	})
}

// newToken makes a token of the daemon's account, as a Secret of that name.
func newToken(t *testing.T, name string) string {
	t.Helper()
	secrets := env.client.CoreV1().Secrets(system)
	_, err := secrets.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{corev1.ServiceAccountNameKey: account}},
		Type:       corev1.SecretTypeServiceAccountToken,
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := secrets.Delete(context.Background(), name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	})
	var token string
	eventually(t, "a token", func(ctx context.Context) error {
		secret, err := secrets.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if token = string(secret.Data[corev1.ServiceAccountTokenKey]); token == "" {
			return errors.New("there is none yet")
		}
		return nil
	})
	return token
}

func testTokenRotated(t *testing.T) {
	const old = "old-token"
	ns := newNamespace(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "token")
	write := func(token string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	oldToken := bearer(newToken(t, old))
	write(string(oldToken))
	config, err := clientcmd.LoadFromFile(env.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, identity := range config.AuthInfos {
		identity.Token, identity.TokenFile = "", file
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		t.Fatal(err)
	}
	flags := append(slice(t, ns), "--kubeconfig", kubeconfig)
	startDaemon(t, flags...)
	ids := createPages(t, ns, both, 10)
	wantSources(t, ns)
	f := newFault(t, "Token rotated (tokenFile), the old one revoked at once", ns)
	f.only(ids, push, push2, pull)
	write(newToken(t, "new-token"))
	if err := env.client.CoreV1().Secrets(system).Delete(t.Context(), old, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the old token to be refused", oldToken.refused)
	workload(t, f, ns, ids)
	f.heal()
	f.converge(patience)
}

// bearer is a token by itself.
type bearer string

// refused returns an error as long as the API server knows the token: it remembers
// tokens for a while.
func (b bearer) refused(ctx context.Context) error {
	config := rest.AnonymousClientConfig(env.Config())
	config.BearerToken = string(b)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	_, err = client.CoreV1().ConfigMaps(system).Get(ctx, account, metav1.GetOptions{})
	if apierrors.IsUnauthorized(err) {
		return nil
	}
	return fmt.Errorf("it is not: %v", err)
}

// TestEtcdRestored has a Karmada of its own, for nothing of it can be trusted
// afterwards.
func TestEtcdRestored(t *testing.T) {
	shared := env
	t.Cleanup(func() { env = shared })
	env = &environment{rows: shared.rows}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	dir := t.TempDir()
	if err := env.start(ctx, dir, push); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := env.install(ctx); err != nil {
		t.Fatal(err)
	}
	// Without a Lease to lose it lives through all of this, with caches that are ahead,
	// until it notices.
	daemon := supervise(t, "--leader-elect=false")
	ns := newNamespace(t)
	ids := createPages(t, ns, push, 20)
	daemon.wantSources(t, ns)

	backUp := func(from, to string) {
		t.Helper()
		if err := env.Component(karmada.Etcd).Stop(); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(to); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
		mustRestart(t, karmada.Etcd)
	}
	data, backup := filepath.Join(dir, "etcd"), filepath.Join(dir, "backup")
	backUp(data, backup)
	// The revisions of the backup take longer to catch up than the daemon to notice.
	inParallel(t, 4000, func(ctx context.Context, i int) error {
		_, err := env.admin.Resource(configMaps).Namespace(ns).Create(ctx, object("v1", "ConfigMap", ns, fmt.Sprintf("ballast-%d", i), nil), metav1.CreateOptions{})
		return err
	})
	workload(t, &faultRow{t: t, due: map[string]bool{}}, ns, ids)
	create(t, configMaps, configMap(ns, "page-new", push, "one"))
	daemon.wantSources(t, ns)

	f := newFault(t, "etcd restored from a snapshot: revisions go back", ns)
	f.note = "noticed within 30 s: the daemon ends, and is started again"
	f.daemon = daemon
	// What the restored sources do not ask for any more may go.
	f.allow(render.Identity{Kind: "ConfigMap", Namespace: ns, Name: "page-new"}, push)
	backUp(backup, data)
	mustRestart(t, karmada.APIServer, karmada.AggregatedAPIServer, karmada.Webhook, karmada.KubeControllerManager, karmada.ControllerManager)
	wantAnswer(t, ns)
	f.heal()
	change(t, configMaps, ns, "page-3", setField("two", "data", "key"))
	// Its watches may have gone on by then: it ends all the same.
	eventually(t, "the daemon to notice", func(context.Context) error {
		if daemon.ensure(t); daemon.starts < 2 {
			return errors.New("it has not ended")
		}
		return nil
	})
	f.converge(patience)
	if daemon.starts != 2 {
		t.Errorf("the daemon was started %d times", daemon.starts)
	}
}
