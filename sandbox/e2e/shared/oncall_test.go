package shared

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
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
	kubeconfig, authority := withAuthorityFile(t, p)
	token := filepath.Join(t.TempDir(), "token")
	config, err := clientcmd.LoadFromFile(kubeconfig)
	Must(t, err)
	for _, identity := range config.AuthInfos {
		identity.Token, identity.TokenFile = "", token
	}
	WriteFile(t, token, []byte(newToken(t, "old-token")))
	Must(t, clientcmd.WriteToFile(*config, kubeconfig))
	replicas := []*Supervised{Supervise(t, "--kubeconfig", kubeconfig), Supervise(t, "--kubeconfig", kubeconfig)}
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
// server stalls. It must end in time, and well.
func TestStopsInTime(t *testing.T) {
	t.Parallel()
	// The program of a release: the checked one looks for leaks when it has ended.
	program, err := Env.Builder.Daemon(t.Context())
	Must(t, err)
	states := map[string]func(t *testing.T, namespace string, p *fault.Proxy, flags ...string) *Daemon{
		"Starting": func(t *testing.T, _ string, p *fault.Proxy, flags ...string) *Daemon {
			p.Inject(fault.Match{}, fault.Drop())
			d := LaunchDaemon(t, flags...)
			Eventually(t, "it to start", d.WantLogged("starting", 1))
			return d
		},
		"Standby": func(t *testing.T, _ string, _ *fault.Proxy, flags ...string) *Daemon {
			LaunchLeader(t, OtherProgram(program))
			d := LaunchDaemon(t, flags...)
			Eventually(t, "the standby to be ready", func(ctx context.Context) error { return d.Probe(ctx, "/readyz") })
			return d
		},
		"AwaitingCaches": func(t *testing.T, _ string, p *fault.Proxy, flags ...string) *Daemon {
			p.Inject(fault.Match{Resource: Clusters.Resource}, fault.Drop())
			d := LaunchDaemon(t, flags...)
			Eventually(t, "it to be elected", d.WantLogged("leader elected", 1))
			if d.Logged("leading") > 0 {
				t.Error("it leads without a cache")
			}
			return d
		},
		"Leading": startWriting,
		"ChangedCredentials": func(t *testing.T, namespace string, p *fault.Proxy, flags ...string) *Daemon {
			kubeconfig, authority := withAuthorityFile(t, p)
			d := startWriting(t, namespace, p, append(flags, "--kubeconfig", kubeconfig, "--leader-elect=false")...)
			renewed, err := p.Reissue()
			Must(t, err)
			WriteFile(t, authority, renewed)
			Eventually(t, "it to end by itself", d.WantLogged("stopping", 1))
			return d
		},
	}
	for state, reach := range states {
		t.Run(state, func(t *testing.T) {
			ns := Isolate(t)
			p := StartProxy(t)
			d := reach(t, ns, p, OtherProgram(program), "--kubeconfig", p.Kubeconfig())
			p.Freeze()
			defer p.Thaw()
			if d.HasEnded() {
				t.Fatalf("it has already ended: %v", d.Err())
			}
			began := time.Now()
			d.Terminate(t)
			select {
			case <-d.Ended():
				t.Logf("it ended within %s", time.Since(began).Round(100*time.Millisecond))
				if d.Err() != nil {
					t.Errorf("it ended badly: %v\n%s", d.Err(), d.Log())
				}
			case <-time.After(maxStop):
				t.Errorf("it has not ended within %s: %v\n%s", maxStop, d.Kill(), d.Log())
			}
		})
	}
}

// startWriting starts a leader that has writes in flight.
func startWriting(t *testing.T, namespace string, p *fault.Proxy, flags ...string) *Daemon {
	t.Helper()
	d := LaunchLeader(t, flags...)
	writes := p.Inject(fault.Match{Verb: "create", Resource: Works.Resource}, fault.Drop())
	CreatePages(t, namespace, Both, 20)
	Eventually(t, "writes in flight", func(context.Context) error { return Hit(writes) })
	return d
}

// withAuthorityFile copies the kubeconfig of a proxy, and moves the CA to a file of its own.
func withAuthorityFile(t *testing.T, p *fault.Proxy) (kubeconfig, authority string) {
	t.Helper()
	dir := t.TempDir()
	kubeconfig, authority = filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "ca.crt")
	config, err := clientcmd.LoadFromFile(p.Kubeconfig())
	Must(t, err)
	for _, cluster := range config.Clusters {
		WriteFile(t, authority, cluster.CertificateAuthorityData)
		cluster.CertificateAuthorityData, cluster.CertificateAuthority = nil, authority
	}
	Must(t, clientcmd.WriteToFile(*config, kubeconfig))
	return kubeconfig, authority
}
