package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const repository = "../.."

var isProof = regexp.MustCompile(`^(sandbox|tools|simulation)/`).MatchString

// limits are the most lines of Go that there may be.
var limits = map[string]struct {
	lines int
	of    func(file string) bool
}{
	"sandbox, tools and simulation": {35_530, isProof}, // 28,000 once the benchmark has shrunk
	// The breaker by cluster, notes that outlive a leader, what shows that Karmada has applied a Work, what alerts
	// say, Works that a list lacks, and what forty-three more reviews found, and the tables of what is remembered took 3,550; less once packages follow features.
	"the product": {39_190, func(file string) bool { return !isProof(file) && !strings.HasSuffix(file, "_test.go") }},
}

func TestLines(t *testing.T) {
	files := strings.Fields(run(t, "", "git", "ls-files", "--cached", "--others", "--exclude-standard", "*.go"))
	for what, limit := range limits {
		n := 0
		for _, file := range files {
			if content, err := os.ReadFile(filepath.Join(repository, file)); err == nil && limit.of(file) { // some may be deleted
				n += bytes.Count(content, []byte("\n"))
			}
		}
		t.Logf("%s: %d lines of Go", what, n)
		if n > limit.lines {
			t.Errorf("%s have %d lines of Go, more than %d", what, n, limit.lines)
		}
	}
}

// TestVersions: what modules share with client-go, they compile once, because they have it in the same
// version. The sandbox must have Karmada's versions, so the tools take those; the daemon and its simulation may be ahead.
func TestVersions(t *testing.T) {
	const format = "{{.Path}} {{with .Replace}}{{.Version}}{{else}}{{.Version}}{{end}}"
	shared := strings.Fields(run(t, ".", "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "k8s.io/client-go/kubernetes"))
	versions := func(module string) map[string]bool {
		out := run(t, module, "go", append([]string{"list", "-e", "-m", "-f", format}, shared...)...)
		all := map[string]bool{}
		for line := range strings.Lines(out) {
			all[line] = true
		}
		return all
	}
	for first, others := range map[string][]string{".": {"simulation"}, "sandbox": {"tools/health", "tools/helm", "tools/prometheus"}} {
		want := versions(first)
		for _, module := range others {
			for version := range versions(module) {
				if !want[version] {
					t.Errorf("%s has another version than %s: %s", module, first, version)
				}
			}
		}
	}
}

func run(t *testing.T, dir, name string, arguments ...string) string {
	t.Helper()
	command := exec.Command(name, arguments...)
	command.Dir, command.Stderr = filepath.Join(repository, dir), t.Output()
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestSlow(t *testing.T) {
	const ok = "ok  \tgithub.com/karmada-target/karmada-mirror/"
	cases := map[string]struct {
		reason, printed string
		want            int
	}{
		"Quiet":   {"packages take what they take", ok + "cli\t9.5s\n" + ok + "render\t(cached)\n" + ok + "config\t3.000s\n", 0},
		"Slow":    {"one takes longer, and others do not", ok + "config\t61.0s\n" + ok + "cli\t12.0s\n" + ok + "sandbox/docs\t90.0s\n", 1},
		"Unknown": {"a new package has the usual share", ok + "new\t60.5s\n", 1},
		"Busy":    {"all take five times as long", ok + "config\t25.0s\n" + ok + "cli\t50.0s\n" + ok + "sandbox/docs\t750.0s\n" + ok + "tools/helm\t100.0s\n", 0},
	}
	for name, tc := range cases {
		if problems := slow(tc.printed); len(problems) != tc.want {
			t.Errorf("%s: %s: %q", name, tc.reason, problems)
		}
	}
}
