package shared

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/karmada-target/karmada-mirror/sandbox/fault"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// TestCredentialsRotated replaces the certificate of the API server, its CA and the token
// of two replicas in files, as a Secret's volume does. Both replicas must be alive after it,
// the standby too.
func TestCredentialsRotated(t *testing.T) {
	ns := Isolate(t)
	p := StartProxy(t)
	dir := t.TempDir()
	authority, token, kubeconfig := filepath.Join(dir, "ca.crt"), filepath.Join(dir, "token"), filepath.Join(dir, "kubeconfig")
	config, err := clientcmd.LoadFromFile(p.Kubeconfig())
	Must(t, err)
	for _, cluster := range config.Clusters {
		WriteFile(t, authority, cluster.CertificateAuthorityData)
		cluster.CertificateAuthorityData, cluster.CertificateAuthority = nil, authority
	}
	for _, identity := range config.AuthInfos {
		identity.Token, identity.TokenFile = "", token
	}
	WriteFile(t, token, []byte(newToken(t, "old-token")))
	Must(t, clientcmd.WriteToFile(*config, kubeconfig))
	flags := append(shortLease(), "--kubeconfig", kubeconfig)
	replicas := []*Supervised{Supervise(t, flags...), Supervise(t, flags...)}
	areReady := func(starts int) func(context.Context) error {
		return func(ctx context.Context) error {
			for i, r := range replicas {
				r.Ensure(t)
				if err := r.Current.Load().Probe(ctx, "/readyz"); err != nil || r.Starts != starts {
					return fmt.Errorf("replica %d, started %d times: %w", i, r.Starts, errors.Join(err, errors.New("is not as wanted")))
				}
			}
			return nil
		}
	}
	Eventually(t, "both replicas", areReady(1))
	CreatePages(t, ns, Both, 3)
	WantSources(t, ns)

	renewed, err := p.Reissue()
	Must(t, err)
	p.Cut()
	WriteFile(t, token, []byte(newToken(t, "new-token")))
	Must(t, Env.Client.CoreV1().Secrets(Home(t)).Delete(t.Context(), "old-token", metav1.DeleteOptions{}))
	Pass(t, 3*time.Second) // every call fails now
	WriteFile(t, authority, renewed)
	Eventually(t, "both replicas with the new CA", areReady(2))
	Create(t, ConfigMaps, ConfigMap(ns, "after", Both, "one"))
	WantInMembers(t, ns, "after", "one", Push, Pull)

	leader := replicas[0]
	if leader.Current.Load().Logged("leading") == 0 {
		leader = replicas[1]
	}
	leader.Kill()
	Create(t, ConfigMaps, ConfigMap(ns, "taken-over", Both, "one"))
	WantInMembers(t, ns, "taken-over", "one", Push, Pull)
}

// maxStop is how long a replica may take to stop; the grace period of its Pod is 30 s.
const maxStop = 25 * time.Second

// TestStopsInTime sends SIGTERM in each state in which a replica can be, while the API
// server stalls.
func TestStopsInTime(t *testing.T) {
	ns := Isolate(t)
	leading, standing, starting := StartProxy(t), StartProxy(t), StartProxy(t)
	// The program of a release: the checked one looks for leaks when it has ended.
	built, err := Env.Builder.Daemon(t.Context())
	Must(t, err)
	leader := LaunchLeader(t, OtherProgram(built), "--kubeconfig", leading.Kubeconfig())
	standby := LaunchDaemon(t, OtherProgram(built), "--kubeconfig", standing.Kubeconfig())
	Eventually(t, "the standby to be ready", func(ctx context.Context) error { return standby.Probe(ctx, "/readyz") })
	starting.Inject(fault.Match{}, fault.Drop())
	starter := LaunchDaemon(t, OtherProgram(built), "--kubeconfig", starting.Kubeconfig())
	Eventually(t, "the third to start", starter.WantLogged("starting", 1))

	writes := leading.Inject(fault.Match{Verb: "create", Resource: "works"}, fault.Drop())
	CreatePages(t, ns, Both, 20)
	Eventually(t, "writes in flight", func(context.Context) error { return Hit(writes) })
	leading.Freeze()
	standing.Freeze()
	states := map[string]*Daemon{"leading, with writes in flight": leader, "standby": standby, "starting": starter}
	began := time.Now()
	for _, d := range states {
		d.Terminate(t)
	}
	var ending sync.WaitGroup
	for state, d := range states {
		ending.Go(func() {
			select {
			case <-d.Ended():
				t.Logf("%s: ended within %s", state, time.Since(began).Round(100*time.Millisecond))
			case <-time.After(maxStop):
				t.Errorf("%s: it has not ended within %s:\n%s", state, maxStop, d.Log())
				_ = d.Kill()
			}
		})
	}
	ending.Wait()
	leading.Thaw()
	standing.Thaw()
}
