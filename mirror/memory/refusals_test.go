package memory

import (
	"slices"
	"testing"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
)

// TestWaitingFor: a source waits for a Work until it is refused for another reason; then nothing is left of that.
func TestWaitingFor(t *testing.T) {
	r := &Refusals{}
	r.Replace(sample.Page, []judge.Refusal{{Reason: judge.WorkConflict, Message: "it has another owner"}})
	if waiting := r.WaitingFor(sample.Page.WorkName()); len(waiting) != 1 || waiting[0] != sample.Page {
		t.Errorf("%v waits", waiting)
	}
	r.Replace(sample.Page, []judge.Refusal{{Reason: judge.NotAuthorized, Message: "no"}})
	if len(r.inConflict) > 0 {
		t.Errorf("sources still wait: %v", r.inConflict)
	}
}

// TestRefusedOnce: a refusal is new when its message changes, unless it has a key.
func TestRefusedOnce(t *testing.T) {
	var r Refusals
	said := func(key, message string) bool {
		return len(r.Replace(sample.Page, []judge.Refusal{{Reason: judge.WaveHeld, Key: key, Message: message}})) > 0
	}
	for i, step := range []struct {
		key, message string
		isNew        bool
	}{
		{"", "a", true}, {"", "a", false}, {"", "b", true},
		{"wave 1", "b", true}, {"wave 1", "c", false}, {"wave 2", "c", true}, {"wave 1", "c", true},
	} {
		if got := said(step.key, step.message); got != step.isNew {
			t.Errorf("step %d is new: %t", i, got)
		}
	}
	if !slices.ContainsFunc(r.Of(sample.Page), judge.Refusal{Reason: judge.WaveHeld, Key: "wave 1", Message: "d"}.Is) {
		t.Error("an Event that waits to be recorded is dropped once the message changes")
	}
}
