package write

import (
	"testing"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/state"
)

// TestVanished: only what another user has deleted is remembered, until it is back.
func TestVanished(t *testing.T) {
	clock := clocktesting.NewFakeClock(sample.Created)
	l := NewLedger(clock)
	w := state.NewWork(sample.Work(sample.Asking("1", "m1"), "m1"))
	l.Vanish(w)
	if got := l.Vanished(sample.Page); len(got) != 1 || got["m1"] != w {
		t.Errorf("%v", got)
	}
	l.Arrived(w)
	if got := l.Vanished(sample.Page); len(got) != 0 {
		t.Errorf("once it is back: %v", got)
	}
	takeBack := l.deletes(w)
	l.deletes(w)() // refused, as the first may have been carried out
	l.Vanish(w)
	if got := l.Vanished(sample.Page); len(got) != 0 {
		t.Errorf("after our own deletion: %v", got)
	}
	clock.Step(maxDeletionSent)
	l.Vanish(w)
	if got := l.Vanished(sample.Page); len(got) != 1 {
		t.Errorf("long after our own deletion, which was lost: %v", got)
	}
	l.Arrived(w)
	takeBack()
	l.Forget(sample.Page, "m1")
	l.Vanish(w)
	l.Retain(sample.Page, nil, false, true)
	if got := l.Vanished(sample.Page); len(got) != 0 {
		t.Errorf("of a cluster that is no target: %v", got)
	}
}
