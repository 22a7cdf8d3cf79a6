package karmada

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	clusterv1alpha1 "github.com/karmada-io/api/cluster/v1alpha1"

	"github.com/karmada-target/karmada-mirror/sandbox/build"
)

// patience is how long one step may take on a busy machine.
const patience = 2 * time.Minute

// programs builds what Start needs, like the command.
func programs(t *testing.T) Programs {
	t.Helper()
	builder, err := build.New(t.Context(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	binary, err := builder.Hyperkarmada(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	kwok, stages, err := builder.Kwok(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return Programs{Hyperkarmada: binary, Karmada: builder.KarmadaSources(), Kwok: kwok, Stages: stages}
}

// TestSandbox goes through the life of one sandbox: steps depend on those
// before. What all end-to-end tests use is not tested here: Works, accounts, the audit log,
// restarts, members that join and leave.
func TestSandbox(t *testing.T) {
	dir := t.TempDir()
	k, err := Start(t.Context(), Options{
		Dir:      dir,
		Programs: programs(t),
		Members:  []Member{{Name: "member1", Mode: clusterv1alpha1.Push, Nodes: 2}, {Name: "member2", Mode: clusterv1alpha1.Pull}},
		Progress: t.Output(),
	})
	if err != nil {
		t.Fatal(err)
	}
	// In case the test fails half-way; Stop may be called twice.
	defer func() {
		if err := k.Stop(); err != nil {
			t.Error(err)
		}
	}()
	steps := []struct {
		name string
		test func(*testing.T, *Karmada)
	}{
		{"PodsRun", podsRun},
		{"NoNodesUnlessAsked", noNodesUnlessAsked},
		{"DeathIsVisible", deathIsVisible},
		{"StopLeavesNothing", stopLeavesNothing},
	}
	for _, step := range steps {
		if !t.Run(step.name, func(t *testing.T) { step.test(t, k) }) {
			return
		}
	}
}

func deathIsVisible(t *testing.T, k *Karmada) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	component := k.Component(Webhook)
	if err := syscall.Kill(component.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	err := k.Wait(ctx, "what never comes", func(context.Context) error { return errors.New("not yet") })
	var death *ComponentError
	if !errors.As(err, &death) || death.Name != Webhook || len(death.LastLines) == 0 {
		t.Errorf("Wait() = %v, want the death of %s with its last lines", err, Webhook)
	}
	if err := component.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	if err := k.Err(); err != nil {
		t.Errorf("a restarted component still counts as dead: %v", err)
	}
}

func stopLeavesNothing(t *testing.T, k *Karmada) {
	records := slices.Collect(maps.Values(k.records))
	begun := time.Now()
	if err := k.Stop(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d components stopped in %s", len(records), time.Since(begun))
	for _, r := range records {
		if runs, err := r.runs(); err != nil || runs {
			t.Errorf("%s (process %d) runs = %v, %v", r.Name, r.PID, runs, err)
		}
	}
	for _, command := range processesIn(t, k.options.Dir) {
		t.Errorf("leftover process: %s", command)
	}
}

// processesIn lists the command lines that name a folder, if there is a /proc.
// It finds processes that the sandbox itself does not know about.
func processesIn(t *testing.T, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, path := range paths {
		line, err := os.ReadFile(path)
		if err == nil && bytes.Contains(line, []byte(dir)) {
			found = append(found, fmt.Sprintf("%q", line))
		}
	}
	return found
}

// A component that cannot start makes Start fail, say why, and leave nothing
// behind.
func TestStartFails(t *testing.T) {
	dir := t.TempDir()
	_, err := Start(t.Context(), Options{
		Dir:      dir,
		Programs: programs(t),
		Flags:    map[string][]string{APIServer: {"--no-such-flag"}},
	})
	var death *ComponentError
	if !errors.As(err, &death) || death.Name != APIServer {
		t.Fatalf("Start() = %v, want the death of %s", err, APIServer)
	}
	if !strings.Contains(strings.Join(death.LastLines, ""), "no-such-flag") {
		t.Errorf("the last lines do not say why: %q", death.LastLines)
	}
	for _, command := range processesIn(t, dir) {
		t.Errorf("leftover process: %s", command)
	}
	if _, err := Start(t.Context(), Options{Dir: dir}); err == nil {
		t.Error("a second sandbox started in the folder of the first")
	}
}
