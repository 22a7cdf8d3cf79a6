package memory

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
)

// TestWakeDelay: nothing is woken before the end of the second in which a cluster came back.
func TestWakeDelay(t *testing.T) {
	clock := clocktesting.NewFakeClock(sample.Created)
	m := New(clock)
	down := &state.Cluster{Meta: state.Meta{Name: "m1"}, ReadySince: sample.Created.Add(-time.Hour)}
	ready := &state.Cluster{Meta: down.Meta, IsReady: true, ReadySince: sample.Created.Truncate(time.Second)}
	m.NoteCluster(down, ready)
	for _, in := range []time.Duration{wakeDelay, wakeDelay / 2, 0, 0} {
		if r := m.RecoveryOf(ready); r.At != ready.ReadySince || r.Down != down.ReadySince || r.In != in {
			t.Errorf("%v, want In to be %s", r, in)
		}
		clock.Step(wakeDelay / 2)
	}
}

// TestFlapping: a cluster that comes back again and again wakes its Works later each time, but soon
// enough, and at once after ten minutes of peace.
func TestFlapping(t *testing.T) {
	clock := clocktesting.NewFakeClock(sample.Created)
	m := New(clock)
	down := &state.Cluster{Meta: state.Meta{Name: "m1"}, ReadySince: sample.Created.Add(-time.Hour)}
	for i, tc := range []struct {
		reason string
		after  time.Duration
		left   bool
		want   time.Duration
	}{
		{"the first", 0, false, wakeDelay}, {"the second", time.Minute, false, 2 * wakeDelay}, {"the third", time.Minute, false, 4 * wakeDelay},
		{"", time.Minute, false, 8 * wakeDelay}, {"", time.Minute, false, 16 * wakeDelay}, {"", time.Minute, false, 32 * wakeDelay}, {"", time.Minute, false, 64 * wakeDelay},
		{"", time.Minute, false, 128 * wakeDelay}, {"", time.Minute, false, 256 * wakeDelay}, {"it is bounded", time.Minute, false, maxWakeDelay}, {"still", 2 * maxWakeDelay, false, maxWakeDelay},
		{"after peace", 2*maxWakeDelay + time.Second, false, wakeDelay}, {"again", time.Second, false, 2 * wakeDelay},
		{"another cluster of that name", time.Second, true, wakeDelay},
	} {
		clock.Step(tc.after)
		ready := &state.Cluster{Meta: down.Meta, IsReady: true, ReadySince: clock.Now()}
		if tc.left {
			m.NoteCluster(ready, nil)
		}
		m.NoteCluster(down, ready)
		if r := m.RecoveryOf(ready); r.In != tc.want {
			t.Errorf("recovery %d (%s) wakes after %s, not %s", i, tc.reason, r.In, tc.want)
		}
	}
}

// TestOutageUnseen: if no one has seen when a cluster went, what was known of an earlier outage does not
// tell.
func TestOutageUnseen(t *testing.T) {
	m := New(clocktesting.NewFakeClock(sample.Created))
	ready := func(ago time.Duration) *state.Cluster {
		return &state.Cluster{Meta: state.Meta{Name: "m1"}, IsReady: true, ReadySince: sample.Created.Add(-ago)}
	}
	m.NoteCluster(&state.Cluster{Meta: ready(0).Meta, ReadySince: sample.Created.Add(-time.Hour)}, ready(time.Minute))
	m.NoteCluster(ready(time.Minute), ready(time.Second))
	if r := m.RecoveryOf(ready(time.Second)); !r.Down.IsZero() || r.At != ready(time.Second).ReadySince || r.In != 2*wakeDelay {
		t.Errorf("%+v", r)
	}
	back := ready(time.Second)
	if m.NoteCluster(back, back); !m.IsReturning(ready(0)) || m.IsReturning(ready(time.Second)) {
		t.Error("it does not count as returning until its handler has noted that")
	}
	if r := m.RecoveryOf(ready(0)); r != (judge.Recovery{At: ready(0).ReadySince}) { // the cache is ahead of its handler
		t.Errorf("what is known of the last return is taken for this one's: %+v", r)
	}
}

// TestReturnDatedInThePast: a return that was seen a moment ago is a recent one, whatever the agent's clock says.
func TestReturnDatedInThePast(t *testing.T) {
	m := New(clocktesting.NewFakeClock(sample.Created))
	down := &state.Cluster{Meta: state.Meta{Name: "m1"}, ReadySince: sample.Created.Add(-3 * maxExecutionBackoff)}
	back := &state.Cluster{Meta: down.Meta, IsReady: true, ReadySince: sample.Created.Add(-2 * maxExecutionBackoff)}
	m.NoteCluster(down, back)
	if r := m.RecoveryOf(back); r.Seen != sample.Created || r.In != wakeDelay {
		t.Errorf("%+v", r)
	}
}

func TestRecoveryFollowing(t *testing.T) {
	at := func(seconds int) time.Time { return sample.Created.Add(time.Duration(seconds) * time.Second) }
	long := judge.Recovery{Down: at(0), At: at(100)}
	cases := map[string]struct {
		reason  string
		now     judge.Recovery
		isShort bool
	}{
		"Flapping":  {"a cluster that was hardly back has been away all the time", judge.Recovery{Down: at(102), At: at(105)}, false},
		"Blip":      {"a cluster that was up for a while and then blinked has not been away", judge.Recovery{Down: at(160), At: at(163)}, true},
		"LongAgain": {"but it may be away again", judge.Recovery{Down: at(160), At: at(260)}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := following(tc.now, long); isShort(got) != tc.isShort || got.At != tc.now.At {
				t.Errorf("%s: %v", tc.reason, got)
			}
		})
	}
}
