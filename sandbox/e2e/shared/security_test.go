package shared

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// TestProfiling: nothing unless asked for, and then on loopback.
func TestProfiling(t *testing.T) {
	Isolate(t)
	for name, flags := range map[string][]string{"off": nil, "on": {"--enable-pprof", "--profiling-bind-address", "127.0.0.1:0"}} {
		t.Run(name, func(t *testing.T) {
			d := StartDaemon(t, flags...)
			for _, server := range []string{"metrics", "probes"} {
				if code, _, err := d.Get(t.Context(), server, "/debug/pprof/"); err != nil || code != http.StatusNotFound {
					t.Errorf("%s: %d, %v", server, code, err)
				}
			}
			code, body, err := d.Get(t.Context(), "profiles", "/debug/pprof/goroutine?debug=1")
			if on := len(flags) > 0; on != (err == nil && code == http.StatusOK && strings.Contains(body, "goroutine profile")) {
				t.Errorf("profiles: %d, %v", code, err)
			}
			if address := d.Address("profiles"); address != "" && !strings.HasPrefix(address, "127.0.0.1:") {
				t.Errorf("profiles are served on %s", address)
			}
		})
	}
}

// TestWritesNoFile runs the daemon where not a byte can be written to any file, and
// where the usual folders for it do not exist.
func TestWritesNoFile(t *testing.T) {
	ns := Isolate(t)
	script := filepath.Join(t.TempDir(), "daemon")
	text := fmt.Sprintf("#!/bin/sh\nulimit -f 0 || exit 9\ncd /\nTMPDIR=/nonexistent HOME=/nonexistent exec %q \"$@\"\n", Env.Daemon)
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	StartDaemon(t, OtherProgram(script))
	Create(t, ConfigMaps, ConfigMap(ns, "page", Push, "one"))
	WantInMembers(t, ns, "page", "one", Push)
}

// TestSecurityPage: the tests that SECURITY.md names are there.
func TestSecurityPage(t *testing.T) {
	var all strings.Builder
	err := filepath.WalkDir(Env.Builder.Repository(), func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		data, err := os.ReadFile(path)
		all.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`\b(Test|Fuzz)[A-Z]\w*`).FindAllString(string(RepositoryFile(t, "SECURITY.md")), -1)
	for _, name := range names {
		if !strings.Contains(all.String(), "\nfunc "+name+"(t") && !strings.Contains(all.String(), "\nfunc "+name+"(f") {
			t.Errorf("there is no %s", name)
		}
	}
	if len(names) < 30 {
		t.Errorf("only %d tests are named", len(names))
	}
}
