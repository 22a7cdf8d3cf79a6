package memory

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
)

// TestFreshUntilItFailsTwice: a change that fails again and again holds up no other, and counts from when it was made.
func TestFreshUntilItFailsTwice(t *testing.T) {
	m, id := New(clocktesting.NewFakeClock(sample.Created)), sample.Page
	fail := func() {
		a := m.TakeArrival(id)
		a.Failures++
		m.ArriveAgain(id, a)
	}
	want := func(what string, isFresh bool) {
		t.Helper()
		if got := m.IsFresh(id); got != isFresh {
			t.Errorf("%s: fresh %t", what, got)
		}
	}
	m.Arrive(id, sample.Created)
	fail()
	want("it has failed once", true)
	fail()
	want("it has failed twice", false)
	m.Arrive(id, sample.Created.Add(time.Hour)) // perhaps one that repairs it
	want("another edit", true)
	fail()
	fail()
	taken := m.TakeArrival(id)
	m.Arrive(id, sample.Created.Add(2*time.Hour))
	m.ArriveAgain(id, taken)
	want("another edit during the sync", true)
	if a := m.TakeArrival(id); a != (Arrival{At: sample.Created}) {
		t.Errorf("%+v", a)
	}
	if want("it is taken", false); len(m.of) > 0 {
		t.Error("it is not forgotten")
	}
}
