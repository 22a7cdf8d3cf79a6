package memory

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
	m.Vanish(w, true)
	if got := m.Vanished(sample.Page); len(got) != 1 || got["m1"] != w {
		t.Errorf("%v", got)
	}
	m.Shown(w)
	if got := m.Vanished(sample.Page); len(got) != 0 {
		t.Errorf("once it is back: %v", got)
	}
	takeBack := m.Deleting(w, false)
	m.Deleting(w, false)() // refused, as the first may have been carried out
	m.Vanish(w, true)
	if got := m.Vanished(sample.Page); len(got) != 0 {
		t.Errorf("after our own deletion: %v", got)
	}
	clock.Step(maxDeletionSent)
	m.Vanish(w, true)
	if got := m.Vanished(sample.Page); len(got) != 1 {
		t.Errorf("long after our own deletion, which was lost: %v", got)
	}
	m.Shown(w)
	takeBack()
	m.Forget(sample.Page, "m1")
	m.Vanish(w, true)
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
	m.Vanish(going, true)
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
	m.Vanish(w, true)
	if m.Advance(f, nil); m.Vanished(w.Source)["m1"] != w {
		t.Error("it is forgotten")
	}
	f.Clusters["m1"] = judge.ClusterFacts{State: judge.ClusterJoined, Joined: w.Written().Add(time.Second)}
	if m.Advance(f, nil); len(m.Vanished(w.Source)) > 0 {
		t.Error("it is not forgotten with its cluster")
	}
}

// TestReplaced: what we have deleted to replace it is remembered until another Work is there, and without its source for an hour.
func TestReplaced(t *testing.T) {
	clock := clocktesting.NewFakeClock(sample.Created)
	m, source, others := New(clock), asking("1", "m1"), wanting(asking("1", "m2")).Targets
	was := observed(source, "m1")
	is := func() bool { return m.Replaced(sample.Page, nil)["m1"] }
	m.Deleting(was, true)
	if !m.Replaced(sample.Page, map[string]*state.Work{"m1": was})["m1"] {
		t.Error("it is still going, and not remembered")
	}
	others["m3"] = others["m1"]
	delete(others, "m1")
	m.Retain(sample.Page, others, false, true)
	m.Vanish(was, false)
	m.Retain(sample.Page, others, false, true)
	if !is() {
		t.Error("it is forgotten while its source, or its cluster, is not asked for for a moment")
	}
	v, create := wanting(source), judge.Operation{Kind: judge.Create, Cluster: "m1"}
	for range uncontested + 1 {
		m.Repeat(v, create)
	}
	if m.Holds(v, create) {
		t.Error("the member has nothing, and its creation waits")
	}
	clock.Step(maxAbsence)
	if is() || len(m.Vanished(sample.Page)) != 0 {
		t.Error("it is remembered for long, though nothing asks for it")
	}
	if m.Prune(); m.read(sample.Page, "m1").ours != nil {
		t.Error("it is kept")
	}
	m.Deleting(was, true)
	m.Vanish(was, false)
	m.Retain(sample.Page, others, false, true)
	m.Retain(sample.Page, wanting(source).Targets, false, true)
	if clock.Step(maxAbsence); !is() {
		t.Error("it is forgotten, though it was asked for again in time")
	}
	m.Deleting(was, true)
	m.Vanish(was, true)
	m.Shown(observed(source, "m1", func(u *unstructured.Unstructured) { u.SetUID("another") }))
	if clock.Step(peace + 1); is() || len(m.of) != 0 {
		t.Errorf("there is another Work, and it is remembered: %v", m.of[sample.Page])
	}
	m.Deleting(was, true)
	if m.Retain(sample.Page, nil, false, true); len(m.of) != 0 {
		t.Error("the source has no Work any more, and it is remembered")
	}
}
