package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/karmada-target/karmada-mirror/render"
)

// watched is a server of which lists can be watched, and objects change.
type watched struct {
	mu     sync.Mutex
	paths  map[string]any
	events map[string]chan any
	// refused are what watches of a path are answered with.
	refused map[string]metav1.Status
}

func newWatched(paths map[string]any) *watched {
	return &watched{paths: paths, events: map[string]chan any{}, refused: map[string]metav1.Status{}}
}

func (s *watched) of(list string) chan any {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.events[list] == nil {
		s.events[list] = make(chan any, 100)
	}
	return s.events[list]
}

// send stores an object, or deletes it, and lets the watches of a list know. A nil event stores only.
func (s *watched) send(kind watch.EventType, list string, u *unstructured.Unstructured) {
	u.SetResourceVersion("2")
	at := path.Join(path.Dir(list), "namespaces", u.GetNamespace(), path.Base(list), u.GetName())
	s.mu.Lock()
	if s.paths[at] = u.DeepCopy().Object; kind == watch.Deleted {
		delete(s.paths, at)
	}
	s.mu.Unlock()
	s.of(list) <- map[string]any{"type": string(kind), "object": u.DeepCopy().Object}
}

func (s *watched) answer(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	// The lists of a namespace are those of all namespaces.
	list := regexp.MustCompile(`/namespaces/[^/]+/(configmaps|works)$`).ReplaceAllString(r.URL.Path, "/$1")
	s.mu.Lock()
	body, ok := s.paths[r.URL.Path]
	if !ok && list != r.URL.Path {
		body, ok = s.paths[list]
	}
	if !ok {
		status := refusal(http.StatusNotFound, metav1.StatusReasonNotFound)
		status.Details = &metav1.StatusDetails{Name: path.Base(r.URL.Path)}
		body = status
	}
	isWatch := r.URL.Query().Get("watch") == "true"
	if refused, ok := s.refused[list]; ok && isWatch {
		body, isWatch = refused, false
	}
	if status, isRefused := body.(metav1.Status); isRefused {
		w.WriteHeader(int(status.Code))
	}
	encoded, _ := json.Marshal(body) // of what a test has
	s.mu.Unlock()
	if !isWatch {
		_, _ = w.Write(encoded) // fails only if the client has disconnected
		return
	}
	w.(http.Flusher).Flush()
	for {
		select {
		case event := <-s.of(list):
			_ = json.NewEncoder(w).Encode(event)
			w.(http.Flusher).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

// following is a command that follows.
type following struct {
	t     *testing.T
	lines *bufio.Scanner
	stop  context.CancelFunc
	end   chan error
}

func follow(t *testing.T, s *watched, arguments ...string) *following {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	from := serve(t, nil, s.answer)
	reads, writes := io.Pipe()
	root := New()
	root.SetArgs(append(append([]string{"status", "-w"}, arguments...), "--kubeconfig", from, "--cache-dir", t.TempDir()))
	root.SetOut(writes)
	root.SetErr(writes)
	f := &following{t: t, lines: bufio.NewScanner(reads), stop: cancel, end: make(chan error, 1)}
	go func() {
		f.end <- root.ExecuteContext(ctx)
		_ = writes.Close() // never fails
	}()
	return f
}

// next wants that the next lines match.
func (f *following) next(patterns ...string) {
	f.t.Helper()
	for _, pattern := range patterns {
		if !f.lines.Scan() {
			f.t.Fatalf("it ended with %v before %q", <-f.end, pattern)
		}
		if !regexp.MustCompile(pattern).MatchString(f.lines.Text()) {
			f.t.Fatalf("the next line does not match %q:\n%s", pattern, f.lines.Text())
		}
	}
}

// interrupt ends it, and wants that it prints nothing more.
func (f *following) interrupt() {
	f.t.Helper()
	f.stop()
	for f.lines.Scan() {
		f.t.Errorf("one more line: %s", f.lines.Text())
	}
	if err := <-f.end; err != nil {
		f.t.Errorf("interrupted, it ended with %v", err)
	}
}

const configMapsPath = "/api/v1/configmaps"

// versioned is the server of TestGolden with resource versions, from which watches start.
func versioned(t *testing.T) *watched {
	t.Helper()
	paths := fleet(t)
	for _, list := range []string{configMapsPath, worksPath} {
		paths[list].(map[string]any)["metadata"] = map[string]any{"resourceVersion": "1"}
	}
	return newWatched(paths)
}

// TestWatchSources: sources are followed as their Works are, each in its own time.
func TestWatchSources(t *testing.T) {
	s := versioned(t)
	f := follow(t, s, "configmaps", "-A")
	f.next(`^NAMESPACE `, `/claimed`, `/page +m1`, `/taken`, `/new +0/2`, `/new +m1`, `/new +nowhere`, `/gone`)

	// A new source, and one that does not ask.
	page := configMapOf("shop", "other", map[string]string{render.ClustersAnnotation: "m1"}, nil)
	s.send(watch.Added, configMapsPath, configMapOf("shop", "silent", nil, nil))
	s.send(watch.Added, configMapsPath, page)
	f.next(`/other +m1 +- +- +- +- +- +its Work does not exist yet$`)

	// Its Work, twice.
	work := reported(t, page, metav1.ConditionTrue, "", "Healthy")
	s.send(watch.Added, worksPath, work)
	f.next(`/other +m1 +other-\S+ +- +True +Healthy +\S+ +-$`)
	s.send(watch.Modified, worksPath, work)
	s.send(watch.Modified, configMapsPath, page)

	// An edit that is refused keeps the Work.
	page.SetAnnotations(map[string]string{render.ClustersAnnotation: "Not A Name"})
	s.send(watch.Modified, configMapsPath, page)
	f.next(`/other +m1 +other-\S+ +- +True +Healthy +\S+ +InvalidAnnotation: `)

	// A second cluster has no Work yet: the source gets a line that sums up.
	page.SetAnnotations(map[string]string{render.ClustersAnnotation: "m1,m2"})
	s.send(watch.Modified, configMapsPath, page)
	f.next(`/other +1/2 .*UnknownCluster: no cluster "m2"`, `/other +m1 .*-$`, `/other +m2 .*there is no such cluster$`)

	// The source is deleted, and then its Work.
	s.send(watch.Deleted, configMapsPath, page)
	f.next(`/other +m1 .*its Work is about to be removed: the source does not exist; if this stays so.*`, `/other +m2 .*it no longer asks for this cluster$`)
	s.send(watch.Deleted, worksPath, work)
	f.next(`/other +m1 +- .*its Work was deleted$`)
	f.interrupt()
}

// TestWatchNamed follows one object by name.
func TestWatchNamed(t *testing.T) {
	s := versioned(t)
	f := follow(t, s, "configmaps/new", "-n", "team", "-o", "name")
	f.next(`^ConfigMap/team/new$`)
	plain := configMapOf("team", "plain", map[string]string{render.ClustersAnnotation: "m1"}, nil)
	s.send(watch.Modified, worksPath, reported(t, plain, metav1.ConditionTrue, "", "Healthy")) // of another source
	f.interrupt()

	f = follow(t, s, "configmaps/new", "-n", "team", "-o", "json", "--failed")
	f.next(`^\{$`) // of the cluster that does not exist
	f.stop()
	var text strings.Builder
	for f.lines.Scan() {
		text.WriteString(f.lines.Text())
	}
	if err := <-f.end; err != nil || strings.Contains(text.String(), `"clusters"`) || !strings.Contains(text.String(), `"nowhere"`) {
		t.Errorf("%v, %s", err, text.String())
	}
}

// TestWatchForbidden: without the right to watch a kind, its Works are followed all the same.
func TestWatchForbidden(t *testing.T) {
	s := versioned(t)
	s.refused[configMapsPath] = refusal(http.StatusForbidden, metav1.StatusReasonForbidden)
	f := follow(t, s, "-n", "shop")
	f.next(`^SOURCE `)
	for !strings.Contains(f.lines.Text(), "may not watch") && f.lines.Scan() {
	}
	if want := "You may not watch configmaps: only changes of their Works are shown."; f.lines.Text() != want {
		t.Errorf("%q, want %q", f.lines.Text(), want)
	}
	taken := configMapOf("shop", "taken", map[string]string{render.ClustersAnnotation: "m1"}, nil)
	s.send(watch.Modified, worksPath, reported(t, taken, metav1.ConditionTrue, "", "Healthy"))
	f.next(`/taken +m1 .*True +Healthy`)
	f.interrupt()
}

// TestWatchExpires: a resource version that is too old ends the command with an error.
func TestWatchExpires(t *testing.T) {
	for _, list := range []string{configMapsPath, worksPath} {
		s := versioned(t)
		s.of(list) <- map[string]any{"type": string(watch.Error), "object": refusal(http.StatusGone, metav1.StatusReasonExpired)}
		f := follow(t, s, "-A")
		for f.lines.Scan() {
		}
		if err := <-f.end; err == nil || !strings.Contains(strings.ToLower(err.Error()), "cannot watch "+path.Base(list)+" any longer") {
			t.Errorf("%s: %v", list, err)
		}
	}
}

// TestWatchNothing: the columns come with the first line.
func TestWatchNothing(t *testing.T) {
	s := versioned(t)
	f := follow(t, s, "configmaps/plain", "-n", "team")
	plain := configMapOf("team", "plain", map[string]string{render.ClustersAnnotation: "m1"}, nil)
	s.send(watch.Modified, configMapsPath, plain)
	f.next(`^SOURCE +CLUSTER +WORK +READY `, `/plain +m1 .*its Work does not exist yet$`)
	f.interrupt()
}
