package shared

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/sandbox/fault"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// TestProfiling: profiles are off by default, and served on loopback if enabled.
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

// TestWritesNoFile runs the daemon where it cannot write a byte to any file, and where the
// usual folders do not exist.
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

// TestFloodOfSources has one tenant ask for many Works before the daemon leads, with a
// rate limit of a few writes per second. Another tenant's edit must go before most of
// them, and the Lease must be renewed meanwhile.
func TestFloodOfSources(t *testing.T) {
	ns := Isolate(t)
	// The syncs in flight wait for longer than the renew deadline of the Lease, 10 s.
	const sources, inFlight, perSecond = 150, "60", "4"
	flooded := NewNamespace(t)
	InParallel(t, sources, func(ctx context.Context, i int) error {
		_, err := Env.Admin.Resource(ConfigMaps).Namespace(flooded).Create(ctx, ConfigMap(flooded, fmt.Sprintf("page-%d", i), Push, "one"), metav1.CreateOptions{})
		return err
	})
	d := StartDaemon(t, "--concurrent-syncs", inFlight, "--kube-api-qps", perSecond, "--kube-api-burst", perSecond)
	Eventually(t, "the flood", func(context.Context) error {
		if len(WorksOf(t, flooded)) == 0 {
			return errors.New("no Work yet")
		}
		return nil
	})
	before := leaseOf(t)
	Create(t, ConfigMaps, ConfigMap(ns, "page", Push, "one"))
	MustWork(t, ConfigMapWork(ns, "page", Push))
	written := len(WorksOf(t, flooded))
	t.Logf("%d of %d Works of the flood were written before another tenant's", written, sources)
	if written > sources*3/4 {
		t.Error("another tenant's edit had to wait for the flood")
	}
	after := leaseOf(t)
	if d.HasEnded() || *after.Spec.HolderIdentity != *before.Spec.HolderIdentity || !before.Spec.RenewTime.Before(after.Spec.RenewTime) {
		t.Errorf("the Lease was not renewed: %v, %v", before.Spec, after.Spec)
	}
}

// leaseOf is the Lease of a test's daemons.
func leaseOf(t *testing.T) *coordinationv1.Lease {
	t.Helper()
	lease, err := Env.Client.CoordinationV1().Leases(Home(t)).Get(t.Context(), Account, metav1.GetOptions{})
	Must(t, err)
	return lease
}

// TestFloodOfEdits has one tenant edit faster than the daemon writes. Another tenant's
// edit gets its turn, and so does a Work that was deleted by hand, whose source was not
// edited recently.
func TestFloodOfEdits(t *testing.T) {
	ns := Isolate(t)
	const sources, perSecond = 30, "5"
	flooded := NewNamespace(t)
	StartDaemon(t, "--concurrent-syncs", "2", "--kube-api-qps", perSecond, "--kube-api-burst", perSecond)
	CreatePages(t, ns, Push, 2)
	CreatePages(t, flooded, Push, sources)
	WantSources(t, ns)
	WantSources(t, flooded)

	ctx, end := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for round := 0; ctx.Err() == nil; round++ {
			edit := fmt.Appendf(nil, `{"data":{"key":"%d"}}`, round)
			for i := 0; i < sources && ctx.Err() == nil; i++ {
				// Failed edits are repeated in the next round.
				_, _ = Env.Admin.Resource(ConfigMaps).Namespace(flooded).Patch(ctx, fmt.Sprintf("page-%d", i), types.MergePatchType, edit, metav1.PatchOptions{})
			}
		}
	}()
	defer func() { end(); <-ended }()
	isBehind := func(ctx context.Context) error {
		var lost *LostWorks
		if err := Disagreement(ctx, flooded, ConfigMaps); !errors.As(err, &lost) || lost.Count() < sources/2 {
			return fmt.Errorf("it is not behind: %v", err)
		}
		return nil
	}
	name := ConfigMapWork(ns, "page-0", Push)
	// On a busy machine the flood sometimes ebbs; such a try proves nothing.
	const tries = 10
	for try := 1; ; try++ {
		Eventually(t, "the daemon to fall behind", isBehind)
		Change(t, ConfigMaps, ns, "page-1", SetField(fmt.Sprint(try), "data", "key"))
		Remove(t, Works, name.Namespace, name.Name)
		WantSources(t, ns)
		if err := isBehind(t.Context()); err == nil {
			return
		} else if try == tries {
			t.Fatalf("the flood was over when another tenant's Works were in sync: %v", err)
		}
	}
}

// TestLyingMember has a member report false statuses of its Works: nothing is written or
// deleted because of them.
func TestLyingMember(t *testing.T) {
	ns := Isolate(t)
	StartDaemon(t)
	ids := CreatePages(t, ns, Both, 4)
	WantSources(t, ns)
	for _, id := range ids {
		WantInMembers(t, ns, id.Name, "one", Push, Pull)
	}
	audit := AuditFromNow(t)
	condition := func(kind, status string) any {
		return map[string]any{"type": kind, "status": status, "reason": "Lie", "message": "\x1b[2J", "lastTransitionTime": "2001-01-01T00:00:00Z"}
	}
	manifest := func(kind, resource, namespace, name string) any {
		return map[string]any{
			"identifier": map[string]any{"ordinal": 0, "version": "v1", "kind": kind, "resource": resource, "namespace": namespace, "name": name},
			"status":     map[string]any{"phase": "Failed"}, "health": "Unhealthy",
		}
	}
	lies := []map[string]any{
		{"conditions": []any{condition("Applied", "False"), condition("Available", "False")}},
		{"conditions": []any{condition("Applied", "Unknown"), condition("Dispatching", "False")}, "manifestStatuses": nil},
		{"conditions": []any{condition("Applied", "True")}, "manifestStatuses": []any{manifest("ConfigMap", "configmaps", ns, ids[3].Name)}},
		{"conditions": nil, "manifestStatuses": []any{manifest("Secret", "secrets", "kube-system", "token")}},
	}
	for i, id := range ids {
		patch, err := json.Marshal(map[string]any{"status": lies[i]})
		Must(t, err)
		for _, cluster := range []string{Push, Pull} {
			name := ConfigMapWork(ns, id.Name, cluster)
			_, err := Env.Admin.Resource(Works).Namespace(name.Namespace).Patch(t.Context(), name.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
			Must(t, err)
		}
	}
	Settle(t)
	if writes := audit.Writes(t); len(writes) > 0 {
		t.Errorf("because of a member's reports the daemon wrote %v", writes)
	}
	WantSources(t, ns)
	Change(t, ConfigMaps, ns, ids[0].Name, SetField("two", "data", "key"))
	WantInMembers(t, ns, ids[0].Name, "two", Push, Pull)
}

// TestForgedLines: text in an annotation, or in a server's response, must not form a line
// of its own in the log or in an Event, nor contain control sequences for a terminal.
func TestForgedLines(t *testing.T) {
	ns := Isolate(t)
	const forged = `{"msg":"forged"}`
	p := StartProxy(t)
	d := StartDaemon(t, "--kubeconfig", p.Kubeconfig())
	for name, value := range map[string]string{
		"newline": "x\n" + forged + "\nx", "return": "x\r\n" + forged + "\r\nx", "escape": "\x1b[2K\r" + forged,
		"separator": "x\u2028" + forged + "\u2029x", "backwards": "\u202e" + forged, "nothing": "\x00\x08" + forged,
	} {
		Create(t, ConfigMaps, ConfigMap(ns, name, value, "one"))
		WantEvent(t, ns, name, "InvalidAnnotation", "forged")
		selecting := Plain(ns, name+"-selector", "one")
		selecting.SetAnnotations(map[string]string{render.ClusterSelectorAnnotation: value})
		Create(t, ConfigMaps, selecting)
		WantEvent(t, ns, name+"-selector", "InvalidAnnotation", "forged")
	}
	answers := map[string]fault.Fault{
		"status": fault.Refuse(apierrors.NewInternalError(errors.New("no\n" + forged + "\n\x1b[2K"))),
		"text": func(w http.ResponseWriter, _ *http.Request, _ http.Handler, _ <-chan struct{}) {
			http.Error(w, "no\n"+forged+"\n\x1b[2K", http.StatusInternalServerError)
		},
	}
	for name, answer := range answers {
		rule := p.Inject(fault.Match{Verb: "create", Resource: "works"}, answer)
		Create(t, ConfigMaps, ConfigMap(ns, name, Push, "one"))
		Eventually(t, "the response "+name, func(context.Context) error { return Hit(rule) })
		rule.Remove()
		MustWork(t, ConfigMapWork(ns, name, Push))
	}

	told := 0
	for line := range strings.Lines(d.Log()) {
		var entry struct{ Msg string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil || entry.Msg == "forged" || !isOneLine(strings.TrimSuffix(line, "\n")) {
			t.Errorf("%v: the daemon printed %q", err, line)
		}
		if strings.Contains(line, "forged") {
			told++
		}
	}
	if told < 12 {
		t.Errorf("only %d lines of the log have the forged text", told)
	}
	by, err := eventsIn(t.Context(), ns)
	Must(t, err)
	for name, events := range by {
		for _, e := range events {
			if !isOneLine(e.Message) {
				t.Errorf("the Event on %s says %q", name, e.Message)
			}
		}
	}
}

// isOneLine reports whether a text contains nothing that a terminal or a reader could take
// for the end of a line or a command.
func isOneLine(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

// TestSecurityPage checks that each threat in SECURITY.md has a test, and that the tests
// exist.
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
	page, test := string(RepositoryFile(t, "SECURITY.md")), regexp.MustCompile(`\b(Test|Fuzz)[A-Z]\w*`)
	_, threats, _ := strings.Cut(page, "\n|---|---|---|---|---|\n")
	for threat := range strings.Lines(threats) {
		cells := strings.Split(threat, "|")
		if len(cells) != 7 {
			break // the table ends
		}
		if tests := cells[5]; !test.MatchString(tests) && !strings.Contains(tests, "make check") {
			t.Errorf("no test:%s", threat)
		}
	}
	names := test.FindAllString(page, -1)
	for _, name := range names {
		if !strings.Contains(all.String(), "\nfunc "+name+"(t") && !strings.Contains(all.String(), "\nfunc "+name+"(f") {
			t.Errorf("there is no %s", name)
		}
	}
	if len(names) < 30 {
		t.Errorf("only %d tests are named", len(names))
	}
}
