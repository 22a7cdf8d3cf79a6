package machine

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/karmada-target/karmada-mirror/sandbox/e2e"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

// TestMachine makes random steps of users, operators and networks. From time to time all
// faults end, and everything must be as the model says; see [machine.look].
func TestMachine(t *testing.T) {
	play(t, onAPIServer, startAPIServer(t, onAPIServer), lasts(t, usual))
}

// TestMachineInWaves takes steps of users, members and networks while objects reach their clusters in
// waves, and judges the order of all writes.
func TestMachineInWaves(t *testing.T) {
	play(t, inWaves, startAPIServer(t, inWaves), lasts(t, usualInWaves))
}

// startAPIServer starts the parts of a Karmada that serve requests, and an executor that
// stands in for the rest.
func startAPIServer(t *testing.T, s *scene) *executor {
	e2e.StartOwn(t, karmada.Options{Dir: t.TempDir()})
	for _, name := range []string{karmada.ControllerManager, karmada.Scheduler} {
		e2e.Must(t, e2e.Env.Component(name).Stop())
	}
	for _, name := range s.clusters { // as Karmada would
		e2e.Create(t, e2e.Namespaces, e2e.Object("v1", "Namespace", "", "karmada-es-"+name, nil))
	}
	return startExecutor(t)
}

// TestMachineInMembers takes fewer steps on a whole Karmada, and checks the members.
func TestMachineInMembers(t *testing.T) {
	e2e.StartOwn(t, karmada.Options{Dir: t.TempDir(), Members: e2e.Named(inMembers.clusters...)})
	play(t, inMembers, nil, lasts(t, usualInMembers))
}

// play runs machines for some time.
func play(t *testing.T, s *scene, executor *executor, lasts time.Duration) {
	// Time limits how many checks there are. One replay takes up to minutes, of which a long run
	// spends more on a shorter story.
	e2e.Must(t, flag.Set("rapid.checks", "1"))
	e2e.Must(t, flag.Set("rapid.shrinktime", max(time.Minute, lasts/6).String()))
	replicas := [2]*replica{newReplica(t, "one"), newReplica(t, "other")}
	looks, steps := 0, 0
	for begun := time.Now(); time.Since(begun) < lasts && !t.Failed(); {
		rapid.Check(t, func(rt *rapid.T) {
			m, err := newMachine(t, s, replicas, executor)
			if err != nil {
				rt.Fatal(err)
			}
			defer m.end(context.WithoutCancel(t.Context()))
			for range rapid.IntRange(1, 15).Draw(rt, "looks") {
				for range rapid.IntRange(1, 15).Draw(rt, "steps") {
					m.do(rt, s.drawStep(rt), drawPause(rt))
					steps++
				}
				m.log = append(m.log, "quiet")
				if wrong := m.look(); len(wrong) > 0 {
					rt.Fatalf("%s\n%s\n%s", strings.Join(wrong, "\n"), m.story(), m.save())
				}
				looks++
			}
		})
	}
	t.Logf("%d steps, %d looks; %d daemons lost their Lease to a busy machine", steps, looks, replicas[0].lost+replicas[1].lost)
}

// lasts is how long the test runs: MACHINE in the environment, or usual.
func lasts(t *testing.T, usual time.Duration) time.Duration {
	text := os.Getenv("MACHINE")
	if text == "" {
		return usual
	}
	given, err := time.ParseDuration(text)
	e2e.Must(t, err)
	return given
}

// save writes the logs of the daemons to a folder that is not deleted, and says where.
func (m *machine) save() string {
	dir, err := os.MkdirTemp("", "karmada-mirror-machine-")
	if err != nil {
		return err.Error()
	}
	for _, r := range m.replicas {
		if err := os.WriteFile(fmt.Sprintf("%s/%s.log", dir, r.name), []byte(r.daemon.Log()), 0o600); err != nil {
			return err.Error()
		}
	}
	return "the daemons' logs are in " + dir
}
