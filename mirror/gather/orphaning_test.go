package gather

import (
	"testing"
	"time"

	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/memory"
	"github.com/karmada-target/karmada-mirror/mirror/state"
)

// TestOrphaningTime: Karmada gets more time where it has probably only to catch up, and starts over
// when the cluster comes back. Only the local clock counts.
func TestOrphaningTime(t *testing.T) {
	cases := map[string]struct {
		reason string
		work   []sample.Change
		// passes is how much time passes, cameBack when the cluster does.
		passes, cameBack time.Duration
		want             time.Duration
	}{
		"NeverApplied": {"the member may not have the object", nil, 10 * time.Second, 0, orphaningLimit - 10*time.Second},
		"Failed":       {"nor after a failure", []sample.Change{sample.Applied("False")}, 0, 0, orphaningLimit},
		"Suspended":    {"nor if Karmada does not recreate it", []sample.Change{sample.Applied("True"), sample.Edited}, 0, 0, orphaningLimit},
		"InPlace":      {"otherwise Karmada may be busy", []sample.Change{sample.Applied("True")}, orphaningLimit, 0, orphaningLimitInPlace - orphaningLimit},
		"Over":         {"the time is over", nil, orphaningLimit, 0, 0},
		"LongOver":     {"and stays over", nil, time.Hour, 0, 0},
		"CameBack":     {"it could not while the cluster was away", nil, time.Hour, time.Hour, orphaningLimit},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(sample.Created.Add(-time.Hour)) // behind the API server's
			c := NewCaches(Options{Clock: clock, Memory: memory.New(clock), Logger: zap.NewNop()})
			w := state.NewWork(sample.Work(sample.Asking("1", "m1"), "m1", append(tc.work, sample.Terminating, sample.Preserving)...))
			if first := orphaningFor(c, w, true); first != orphaningLimit && first != orphaningLimitInPlace {
				t.Errorf("at first, Karmada has %s", first)
			}
			clock.Step(tc.cameBack)
			if tc.cameBack > 0 {
				c.options.Memory.NoteCluster(&state.Cluster{Meta: state.Meta{Name: "m1"}}, &state.Cluster{Meta: state.Meta{Name: "m1"}, IsReady: true, ReadySince: clock.Now()})
			}
			clock.Step(tc.passes - tc.cameBack)
			if got := orphaningFor(c, w, true); got != tc.want {
				t.Errorf("%s: %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}

// orphaningFor is how long Karmada may still take by facts, which are remembered. isThere: the cluster is ready.
func orphaningFor(c *Caches, w *state.Work, isThere bool) time.Duration {
	f := judge.Facts{ID: w.Source, Works: map[string]*state.Work{"m1": w}, Now: c.options.Clock.Now()}
	if isThere {
		f.Stalls = map[string]time.Duration{"m1": c.orphaningTime(w, f.Now)}
	}
	c.Remember(f)
	return f.Stalls["m1"]
}

// TestOrphaningIsForgotten: a Work that is orphaned, or cannot be, starts over.
func TestOrphaningIsForgotten(t *testing.T) {
	clock := clocktesting.NewFakeClock(sample.Created)
	c := NewCaches(Options{Clock: clock, Memory: memory.New(clock), Logger: zap.NewNop()})
	w := state.NewWork(sample.Work(sample.Asking("1", "m1"), "m1", sample.Terminating, sample.Preserving, func(u *unstructured.Unstructured) { u.SetUID("parting") }))
	orphaningFor(c, w, true)
	clock.Step(orphaningLimit)
	if got := orphaningFor(c, w, true); got != 0 {
		t.Errorf("Karmada has %s", got)
	}
	if stalls := c.stallsOf(map[string]*state.Work{"m1": w}, clock.Now()); len(stalls) > 0 { // there is no such cluster
		t.Errorf("stalls %v", stalls)
	}
	orphaningFor(c, w, false)
	if got := orphaningFor(c, w, true); got != orphaningLimit {
		t.Errorf("Karmada has %s", got)
	}
}
