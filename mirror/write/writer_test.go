package write

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/memory"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// cached implements Caches with one Work.
type cached struct{ *state.Work }

func (c cached) WorkAt(_ render.Identity, _, _ string) (*state.Work, bool) {
	return c.Work, c.Work != nil
}
func (cached) CountWorks(schema.GroupKind) map[string]int { return nil }
func (cached) CountWorksOnClusters() map[string]int       { return nil }
func (cached) WorksVersion() string                       { return "" }
func (cached) ResourceOf(render.Identity) string          { return "configmaps" }

// untold implements Reports and discards them.
type untold struct{}

func (untold) Tried(render.Identity, judge.Operation, string, error) {}
func (untold) Noticed(_ render.Identity, _, _ string)                {}

// newWriterOf creates a Writer, and returns the methods of the requests that it sends. They are
// answered with these resource versions, and after those with 404.
func newWriterOf(t *testing.T, now *state.Work, versions ...string) (w *Writer, sent *[]string) {
	t.Helper()
	sent = new([]string)
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		*sent = append(*sent, r.Method)
		if len(*sent) <= len(versions) {
			_, _ = fmt.Fprintf(rw, `{"metadata": {"resourceVersion": %q}}`, versions[len(*sent)-1])
			return
		}
		rw.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(rw, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}`)
	}))
	t.Cleanup(server.Close)
	client, err := NewClient(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	clock := clocktesting.NewFakeClock(time.Unix(1, 0))
	return NewWriter(Options{
		Client: client, Memory: memory.New(clock), Breaker: NewBreaker(clock, 0), Caches: cached{now}, Reports: untold{}, InFlight: 1,
	}), sent
}

// TestOutdatedOperation: an operation is not carried out on a Work that has changed since it was
// planned.
func TestOutdatedOperation(t *testing.T) {
	source := asking("1", "m1")
	now := observed(source, "m1", sample.Edited, sample.Version("8"))
	w, sent := newWriterOf(t, now, "9")
	before := observed(source, "m1", sample.Edited)
	for _, planned := range []judge.Operation{
		{Kind: judge.Update, Cluster: "m1", Work: before},
		{Kind: judge.Delete, Cluster: "m1", Work: before},
		{Kind: judge.Create, Cluster: "m1"},
	} {
		o := &Outcome{}
		w.CarryOut(t.Context(), wanting(source), planned, o)
		if len(*sent) > 0 || o.Retry == 0 || o.Err() != nil {
			t.Errorf("%s: sent %q, retries after %s: %v", planned.Kind, *sent, o.Retry, o.Err())
		}
	}
	o := &Outcome{}
	w.CarryOut(t.Context(), wanting(source), judge.Operation{Kind: judge.Update, Cluster: "m1", Work: now}, o)
	if diff := cmp.Diff([]string{http.MethodPatch}, *sent); diff != "" || !o.Wrote || o.Err() != nil {
		t.Errorf("unchanged: wrote %v, %v, -want +got:\n%s", o.Wrote, o.Err(), diff)
	}
}

// TestDetach: the API server answers the write that removes the last finalizer of a Work that is
// being deleted with the version before (deleteWithoutFinalizers in
// k8s.io/apiserver/pkg/registry/generic/registry/store.go, v0.35.4). Until the watch has shown that
// the Work is gone, it is under way. If the Work was gone before, that is as good.
func TestDetach(t *testing.T) {
	work := observed(asking("1", "m1"), "m1", sample.Terminating, sample.Preserving, sample.Version("7"))
	detach := judge.Operation{Kind: judge.Detach, Cluster: "m1", Work: work}
	for name, versions := range map[string][]string{"Detached": {"7"}, "Gone": nil} {
		t.Run(name, func(t *testing.T) {
			w, sent := newWriterOf(t, work, versions...)
			o := &Outcome{}
			w.CarryOut(t.Context(), wanting(asking("1", "m1")), detach, o)
			if len(*sent) != 1 || o.Err() != nil {
				t.Errorf("sent %q: %v", *sent, o.Err())
			}
			if !w.Memory.IsUnderWay(sample.Page, "m1", work) {
				t.Error("it is not under way")
			}
			if w.Memory.IsUnderWay(sample.Page, "m1", nil) {
				t.Error("it is under way although the Work is gone")
			}
		})
	}
}

// TestPanic: an operation that panics fails, frees its slot, and holds up no other.
func TestPanic(t *testing.T) {
	w, _ := newWriterOf(t, nil)
	o, done := &Outcome{}, 0
	for range 2 {
		w.Each(t.Context(), []judge.Operation{{Cluster: "m1"}, {Cluster: "m2"}}, Fresh, o, func(op judge.Operation) {
			if op.Cluster == "m1" {
				panic(op)
			}
			done++
		})
	}
	if _, isPanic := errors.AsType[*state.Panic](o.Err()); !isPanic || done != 2 {
		t.Errorf("%d were done: %v", done, o.Err())
	}
}

// TestSlots: the writes of a share do not wait for those of another.
func TestSlots(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	s := newSlots(1)
	ran := 0
	err := s.run(ctx, Slow, func() {
		// The slot for slow writes is taken.
		for _, share := range []Share{Others, Fresh} {
			if err := s.run(ctx, share, func() { ran++ }); err != nil {
				t.Errorf("share %d waits for slow writes: %v", share, err)
			}
		}
		cause := errors.New("stopping")
		cancel(cause)
		if err := s.run(ctx, Slow, func() { ran++ }); !errors.Is(err, cause) {
			t.Errorf("got %v, want %v", err, cause)
		}
	})
	if err != nil || ran != 2 {
		t.Errorf("%d ran in a slot, want 2; %v", ran, err)
	}
	if err := s.run(t.Context(), Slow, func() { ran++ }); err != nil || ran != 3 {
		t.Errorf("a slot was not released: %v", err)
	}
}

// asking returns the page, asking for clusters; uid distinguishes its incarnations.
func asking(uid, clusters string) *judge.Source {
	return judge.NewSource(sample.Asking(uid, clusters), render.Wishes{})
}

// observed returns the Work that a source's template renders.
func observed(s *judge.Source, cluster string, changes ...sample.Change) *state.Work {
	return state.NewWork(sample.WorkOf(s.Template.Work(cluster), changes...))
}

// wanting returns the verdict on a source that asks for m1.
func wanting(s *judge.Source) judge.Verdict {
	return judge.Decide(judge.Facts{ID: sample.Page, Source: s, Clusters: map[string]judge.ClusterFacts{"m1": {State: judge.ClusterJoined}}})
}
