package memory

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
)

// TestVanished: only what another user has deleted is remembered, until it is back.
func TestVanished(t *testing.T) {
	clock := clocktesting.NewFakeClock(sample.Created)
	m := New(clock)
	w := state.NewWork(sample.Work(sample.Asking("1", "m1"), "m1"))
	m.Vanish(w)
	if got := m.Vanished(sample.Page); len(got) != 1 || got["m1"] != w {
		t.Errorf("%v", got)
	}
	m.Shown(w)
	if got := m.Vanished(sample.Page); len(got) != 0 {
		t.Errorf("once it is back: %v", got)
	}
	takeBack := m.Deleting(w, false)
	m.Deleting(w, false)() // refused, as the first may have been carried out
	m.Vanish(w)
	if got := m.Vanished(sample.Page); len(got) != 0 {
		t.Errorf("after our own deletion: %v", got)
	}
	clock.Step(maxDeletionSent)
	m.Vanish(w)
	if got := m.Vanished(sample.Page); len(got) != 1 {
		t.Errorf("long after our own deletion, which was lost: %v", got)
	}
	m.Shown(w)
	takeBack()
	m.Forget(sample.Page, "m1")
	m.Vanish(w)
	m.Retain(sample.Page, nil, false, true)
	if got := m.Vanished(sample.Page); len(got) != 0 {
		t.Errorf("of a cluster that is no target: %v", got)
	}
}

// TestVanishedByUs: a Work that we have deleted was not deleted by another user, though it takes a while to go.
func TestVanishedByUs(t *testing.T) {
	m := New(clocktesting.NewFakeClock(time.Unix(1, 0)))
	source := asking("1", "m1")
	work := observed(source, "m1", sample.Version("7"))
	v := judge.Verdict{ID: sample.Page, Targets: map[string]judge.Target{"m1": {Decision: judge.Unwanted}}}
	wrote(m, v, judge.Operation{Kind: judge.Delete, Cluster: "m1", Work: work}, Receipt{})
	going := observed(source, "m1", sample.Version("8"), sample.Terminating)
	going.UID = work.UID
	m.Shown(going)
	m.Vanish(going)
	if gone := m.Vanished(sample.Page); len(gone) > 0 {
		t.Errorf("a Work that we have deleted was deleted by another user: %v", gone)
	}
}

// TestVanishesDuringASync: what another user deletes after the facts were gathered is not forgotten.
func TestVanishesDuringASync(t *testing.T) {
	m := New(clocktesting.NewFakeClock(sample.Created))
	w := observed(asking("1", "m1"), "m1")
	f := inWaves(w, sample.Created)
	f.Clusters = map[string]judge.ClusterFacts{"m1": {State: judge.ClusterJoined, Joined: w.Written().Add(-time.Minute)}}
	m.Vanish(w)
	if m.Advance(f, nil); m.Vanished(w.Source)["m1"] != w {
		t.Error("it is forgotten")
	}
	f.Clusters["m1"] = judge.ClusterFacts{State: judge.ClusterJoined, Joined: w.Written().Add(time.Second)}
	if m.Advance(f, nil); len(m.Vanished(w.Source)) > 0 {
		t.Error("it is not forgotten with its cluster")
	}
}
