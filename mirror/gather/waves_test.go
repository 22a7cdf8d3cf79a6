package gather

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// TestSteadiness: a bake lasts as long as a Work stays what it is, and well.
func TestSteadiness(t *testing.T) {
	now := sample.Created
	work := func(value string, uid types.UID, applied string) *state.Work {
		u := sample.Asking("1", "m1")
		u.Object["data"] = map[string]any{"key": value}
		w := sample.Work(u, "m1", sample.Applied(applied))
		w.SetUID(uid)
		return state.NewWork(w)
	}
	good, other := work("a", "w", "True"), work("b", "w", "True")
	s := &steadiness{}
	lasts := func(w *state.Work) time.Duration {
		now = now.Add(time.Minute)
		return s.note(sample.Page, map[string]*state.Work{"m1": w}, now)["m1"]
	}
	for _, step := range []struct {
		what string
		work *state.Work
		want time.Duration
	}{
		{"new", good, 0},
		{"the same", good, time.Minute},
		{"still", good, 2 * time.Minute},
		{"other content", other, 0},
		{"the same", other, time.Minute},
		{"another Work", work("b", "x", "True"), 0},
		{"not applied", work("b", "x", "False"), 0},
		{"applied again", work("b", "x", "True"), 0},
		{"the same", work("b", "x", "True"), time.Minute},
	} {
		if got := lasts(step.work); got != step.want {
			t.Errorf("%s: %s, not %s", step.what, got, step.want)
		}
	}
	if _, isThere := s.note(sample.Page, map[string]*state.Work{"m1": work("b", "x", "False")}, now)["m1"]; isThere {
		t.Error("a Work that is not well has an entry")
	}
	lasts(good)
	s.end(good) // its watch has shown that it was not, for a moment
	if got := lasts(good); got != 0 {
		t.Errorf("after a moment: %s", got)
	}
	if s.forget(sample.Page); len(s.of) != 0 {
		t.Error("a source is not forgotten")
	}
	s.end(&state.Work{Source: render.Identity{Kind: "ConfigMap"}, Cluster: "m1"})
	s.prune()
}
