package karmada

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/karmada-target/karmada-mirror/sandbox/build"
)

// orphanVariable in the environment makes the test binary the parent of TestOrphan.
const orphanVariable = "SANDBOX_TEST_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(orphanVariable) != "" {
		command := exec.Command("sleep", "1000")
		p, err := launch(command, func(error) {})
		fmt.Println(command.Process.Pid, err)
		<-p.Ended()
	}
	goleak.VerifyTestMain(m)
}

// TestOrphan: a component does not outlive a test that is killed, such as by a timeout.
func TestOrphan(t *testing.T) {
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), orphanVariable+"=1")
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Fscan(out, &pid); err != nil {
		t.Fatal(err)
	}
	_ = command.Process.Kill() // Wait reports what came of it
	if err := command.Wait(); err == nil {
		t.Error("the parent ended by itself")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	err = (&Karmada{}).Wait(ctx, "the orphan's end", func(context.Context) error {
		if born, err := birth(pid); err != nil || born == "" {
			return err
		}
		return errors.New("it still runs")
	})
	if err != nil {
		t.Error(err)
	}
}

// TestDown leaves alone a process that has the pid of a component that has ended.
func TestDown(t *testing.T) {
	for added, dies := range map[string]bool{"": true, "0": false} {
		command := exec.Command("sleep", "1000")
		p, err := launch(command, func(error) {})
		if err != nil {
			t.Fatal(err)
		}
		k := &Karmada{options: Options{Dir: t.TempDir()}, records: map[string]record{"idle": {Name: "idle", PID: command.Process.Pid, Birth: p.birth + added}}}
		if err := k.writeStateLocked(); err != nil {
			t.Fatal(err)
		}
		if err := Down(k.options.Dir); err != nil {
			t.Error(err)
		}
		if born, err := birth(command.Process.Pid); err != nil || (born == "") != dies {
			t.Errorf("it has ended: %t, want %t: %v", born == "", dies, err)
		}
		if err := p.Kill(); err != nil {
			t.Error(err)
		}
	}
}

// TestStart: what cannot start says why, a death ends every wait, and nothing is left.
func TestStart(t *testing.T) {
	builder, err := build.New(t.Context(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	binary, err := builder.Hyperkarmada(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	programs := Programs{Hyperkarmada: binary, Karmada: builder.KarmadaSources()}
	dir := t.TempDir()
	_, err = Start(t.Context(), Options{Dir: dir, Programs: programs, Flags: map[string][]string{APIServer: {"--no-such-flag"}}})
	if err == nil || !strings.Contains(err.Error(), APIServer+" ended") || !strings.Contains(err.Error(), "no-such-flag") {
		t.Errorf("it does not say why it cannot start: %v", err)
	}
	wantNoneIn(t, dir)

	dir = t.TempDir()
	k, err := Start(t.Context(), Options{Dir: dir, Programs: programs, Bare: true})
	if err != nil {
		t.Fatal(err)
	}
	defer wantNoneIn(t, dir)
	defer func() {
		if err := k.Stop(); err != nil {
			t.Error(err)
		}
	}()
	if err := syscall.Kill(k.Component(Webhook).PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err = k.Wait(ctx, "what never comes", func(context.Context) error { return errors.New("not yet") })
	if err == nil || !strings.Contains(err.Error(), Webhook+" ended") {
		t.Errorf("the death of a component goes unnoticed: %v", err)
	}
}

// wantNoneIn finds processes whose command lines name a folder, if there is a /proc.
func wantNoneIn(t *testing.T, dir string) {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if line, err := os.ReadFile(path); err == nil && bytes.Contains(line, []byte(dir)) {
			t.Errorf("leftover process: %q", line)
		}
	}
}
