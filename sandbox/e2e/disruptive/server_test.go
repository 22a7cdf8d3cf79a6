package disruptive

import (
	"fmt"
	"testing"
	"time"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// newServerFault starts a row for a fault of the API server, which may end the daemon,
// with mirrored sources.
func newServerFault(t *testing.T, name string, flags ...string) (*FaultRow, []render.Identity) {
	t.Helper()
	daemon := Supervise(t, flags...)
	Quiesce(t)
	ns := NewNamespace(t)
	ids := CreatePages(t, ns, Both, 20)
	daemon.WantSources(t, ns)
	f := NewFault(t, name, ns)
	f.Daemon = daemon
	return f, ids
}

func TestAPIServerRestarted(t *testing.T) {
	f, ids := newServerFault(t, "API server restarted", "--leader-elect-lease-duration", "60s", "--leader-elect-renew-deadline", "50s")
	f.Note = "the daemon keeps running, with a Lease that lasts longer than the restart"
	MustRestart(t, karmada.APIServer)
	f.Heal()
	Workload(t, f, f.Namespace, ids)
	f.Converge(Patience)
	f.Daemon.WantStarts(t, 0)
}

func TestAPIServerPaused(t *testing.T) {
	const stopped, lease = 20 * time.Second, 6 * time.Second
	f, ids := newServerFault(t, fmt.Sprintf("API server stopped (SIGSTOP) for %s", stopped),
		"--leader-elect-lease-duration", lease.String(), "--leader-elect-renew-deadline", "4s", "--leader-elect-retry-period", "1s")
	f.Note = fmt.Sprintf("the daemon ends when it cannot renew its Lease, which lasts %s here, and is restarted", lease)
	server := Env.Component(karmada.APIServer)
	if err := server.Pause(); err != nil {
		t.Fatal(err)
	}
	Pass(t, stopped)
	if err := server.Resume(); err != nil {
		t.Fatal(err)
	}
	f.Heal()
	WantAnswer(t, f.Namespace)
	Workload(t, f, f.Namespace, ids)
	f.Daemon.Current.Load().WantExit(t, Patience)
	f.Converge(Patience)
	f.Daemon.WantStarts(t, 1)
}
