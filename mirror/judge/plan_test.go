package judge

import (
	"testing"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/state"
)

// TestDueDeletions: Works that will not be deleted must not trip the breaker.
func TestDueDeletions(t *testing.T) {
	asks := pageSource("1", "m1")
	works := map[string]*state.Work{
		"m1": pageWork(asks, "m1"), "m2": pageWork(asks, "m2", sample.Relabelled), "m3": pageWork(asks, "m3", sample.Terminating), "m4": pageWork(asks, "m4", sample.BindingLabel),
	}
	for _, live := range []bool{false, true} {
		due := dueDeletions(Decide(Facts{ID: sample.Page, Live: live, Works: works}), works)
		if len(due) != 1 || due[0].Work != works["m1"] {
			t.Errorf("live %v: %d are due", live, len(due))
		}
	}
}
