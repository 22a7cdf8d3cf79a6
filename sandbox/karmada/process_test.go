package karmada

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// idle starts a process that does nothing until it is signalled to end.
func idle(t *testing.T, onDeath func(error)) *process {
	t.Helper()
	command := exec.Command("sleep", "1000")
	command.SysProcAttr = attributes(false)
	p, err := launch(command, onDeath)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.kill(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func TestDown(t *testing.T) {
	cases := map[string]struct {
		reason string
		birth  func(string) string
		dies   bool
	}{
		"Ours": {
			reason: "a recorded process is stopped",
			birth:  func(birth string) string { return birth },
			dies:   true,
		},
		"SomebodyElses": {
			reason: "a process that got the pid later is left alone",
			birth:  func(birth string) string { return birth + "0" },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := idle(t, func(error) {})
			k := &Karmada{options: Options{Dir: t.TempDir()}, records: map[string]record{
				"idle": {Name: "idle", PID: p.command.Process.Pid, Birth: tc.birth(p.birth)},
			}}
			if err := k.writeStateLocked(); err != nil {
				t.Fatal(err)
			}
			if err := Down(k.options.Dir); err != nil {
				t.Fatal(err)
			}
			// Down returns when the process is gone or a zombie; reaping a
			// zombie takes us a moment.
			born, err := birth(p.command.Process.Pid)
			if err != nil {
				t.Fatal(err)
			}
			if dies := born == ""; dies != tc.dies {
				t.Errorf("%s: it died = %v, want %v", tc.reason, dies, tc.dies)
			}
			if _, err := os.Stat(statePath(k.options.Dir)); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the state file is still there: %v", err)
			}
		})
	}
}

func TestDownWithoutSandbox(t *testing.T) {
	if err := Down(t.TempDir()); err != nil {
		t.Errorf("Down fails in a folder without a sandbox: %v", err)
	}
}

func TestWait(t *testing.T) {
	missing := errors.New("nothing there")
	dead := &ComponentError{Name: "etcd", Err: errors.New("exit status 1")}
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	cases := map[string]struct {
		reason    string
		ctx       context.Context
		deaths    map[string]*ComponentError
		condition func(context.Context) error
		want      []error
	}{
		"Fulfilled": {
			reason:    "a fulfilled condition ends the wait",
			ctx:       context.Background(),
			condition: func(context.Context) error { return nil },
		},
		"OutOfTime": {
			reason:    "the error says what was missing and why the wait ended",
			ctx:       canceled,
			condition: func(context.Context) error { return missing },
			want:      []error{missing, context.Canceled},
		},
		"Death": {
			reason:    "a dead component ends the wait before any timeout",
			ctx:       context.Background(),
			deaths:    map[string]*ComponentError{"etcd": dead},
			condition: func(context.Context) error { return missing },
			want:      []error{dead},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			k := &Karmada{deaths: tc.deaths}
			err := k.Wait(tc.ctx, "a thing", tc.condition)
			if err != nil && tc.want == nil {
				t.Errorf("%s: Wait() = %v", tc.reason, err)
			}
			for _, want := range tc.want {
				if !errors.Is(err, want) {
					t.Errorf("%s: Wait() = %v, want it to be %v", tc.reason, err, want)
				}
			}
		})
	}
}

func TestLastLines(t *testing.T) {
	numbers := strings.Split("1 2 3 4 5 6 7 8 9 10", " ")
	cases := map[string]struct {
		reason, content string
		want            []string
	}{
		"Few":   {reason: "all lines of a short log", content: "one\n\ntwo", want: []string{"one", "two"}},
		"Many":  {reason: "only the end of a long one", content: strings.Join(numbers, "\n"), want: numbers[2:]},
		"Empty": {reason: "an empty log has none"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log")
			if err := os.WriteFile(path, []byte(tc.content), 0o600); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, lastLines(path)); diff != "" {
				t.Errorf("%s: lastLines(): -want +got\n%s", tc.reason, diff)
			}
		})
	}
}
