package memory

import (
	"testing"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
)

// TestFreshUntilItFailsLong: a change that fails again and again holds up no other, and counts from when it was made.
func TestFreshUntilItFailsLong(t *testing.T) {
	clock := clocktesting.NewFakeClock(sample.Created)
	m, id := New(clock), sample.Page
	fail := func() {
		a, _ := m.TakeArrival(id)
		a.Failed = true
		m.ArriveAgain(id, a)
	}
	want := func(what string, isFresh bool) {
		t.Helper()
		if got := m.IsFresh(id); got != isFresh {
			t.Errorf("%s: fresh %t", what, got)
		}
	}
	m.Arrive(id, sample.Created)
	clock.Step(freshPeriod - 1)
	fail()
	fail()
	want("it has failed for a moment", true)
	clock.Step(1)
	want("it has failed for long", false)
	m.Arrive(id, clock.Now()) // perhaps one that repairs it
	want("another edit", true)
	fail()
	taken, _ := m.TakeArrival(id)
	m.Arrive(id, clock.Now())
	m.ArriveAgain(id, taken)
	want("another edit during the sync", true)
	if a, isFresh := m.TakeArrival(id); a != (Arrival{At: sample.Created}) || !isFresh {
		t.Errorf("%+v", a)
	}
	if want("it is taken", false); len(m.of) > 0 {
		t.Error("it is not forgotten")
	}
}
