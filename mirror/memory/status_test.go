package memory

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render/aggregate"
)

// ours is a status as a write of ours has left it; the sources below have another one.
var ours = []byte("ours")

// TestStatusTurn plays what the caches show and what was written, and asks when the next status
// may be written.
func TestStatusTurn(t *testing.T) {
	at := func(version string) *state.SourceStatus {
		return &state.SourceStatus{ID: sample.Page, UID: "1", Version: version}
	}
	undone := func(s *Memory, _ *clocktesting.FakeClock) {
		for i := range maxUndone {
			s.WroteStatus(at("0"), "a", string(rune('1'+i)), ours, aggregate.Complete)
		}
	}
	cases := map[string]struct {
		reason   string
		before   func(*Memory, *clocktesting.FakeClock)
		now      *state.SourceStatus
		content  string
		progress aggregate.Progress
		want     Turn
	}{
		"First": {reason: "nothing was written yet", now: at("1"), content: "a"},
		"Echo": {reason: "the cache is older than our write",
			before: func(s *Memory, _ *clocktesting.FakeClock) { s.WroteStatus(at("1"), "a", "5", ours, aggregate.Complete) },
			now:    at("4"), content: "b", want: Turn{After: AwaitCache}},
		"LostEcho": {reason: "the watch has not shown our write for long",
			before: func(s *Memory, c *clocktesting.FakeClock) {
				s.WroteStatus(at("1"), "a", "5", ours, aggregate.Complete)
				c.Step(AwaitCache)
			},
			now: at("4"), content: "b"},
		"Soon": {reason: "one write a second",
			before: func(s *Memory, c *clocktesting.FakeClock) {
				s.WroteStatus(at("1"), "a", "5", ours, aggregate.Complete)
				c.Step(statusPause / 4)
			},
			now: at("5"), content: "b", want: Turn{After: statusPause * 3 / 4}},
		"Later": {reason: "a second has passed",
			before: func(s *Memory, c *clocktesting.FakeClock) {
				s.WroteStatus(at("1"), "a", "5", ours, aggregate.Complete)
				c.Step(statusPause)
			},
			now: at("5"), content: "b"},
		"Recreated": {reason: "another object of that name owes nothing to the last",
			before: func(s *Memory, _ *clocktesting.FakeClock) { s.WroteStatus(at("1"), "a", "5", ours, aggregate.Complete) },
			now:    &state.SourceStatus{ID: sample.Page, UID: "2", Version: "6"}, content: "b"},
		"Contested": {reason: "the same was undone five times",
			before: undone, now: at("9"), content: "a", want: Turn{After: statusTruce, Contested: true}},
		"AlmostContested": {reason: "something else is to be written, after a second",
			before: undone, now: at("9"), content: "b", want: Turn{After: statusPause}},
		"StillContested": {reason: "whatever is to be written, the truce holds",
			before: func(s *Memory, c *clocktesting.FakeClock) {
				undone(s, c)
				s.StatusTurn(at("9"), "a", aggregate.Complete)
				c.Step(statusTruce / 2)
			},
			now: at("10"), content: "b", want: Turn{After: statusTruce / 2, Contested: true}},
		"Peace": {reason: "the truce is over",
			before: func(s *Memory, c *clocktesting.FakeClock) {
				undone(s, c)
				s.StatusTurn(at("9"), "a", aggregate.Complete)
				c.Step(statusTruce)
			},
			now: at("10"), content: "a"},
		"AsStored": {reason: "the same changed nothing in this version, and would not now",
			before: func(s *Memory, _ *clocktesting.FakeClock) { s.WroteStatus(at("5"), "a", "5", ours, aggregate.Complete) },
			now:    at("5"), content: "a", want: Turn{NoOp: true}},
		"AsStoredBefore": {reason: "it may in another version",
			before: func(s *Memory, c *clocktesting.FakeClock) {
				s.WroteStatus(at("5"), "a", "5", ours, aggregate.Complete)
				c.Step(statusPause)
			},
			now: at("6"), content: "a"},
		"RolloutBegins": {reason: "that of a Deployment that was complete is shown soon",
			before: func(s *Memory, c *clocktesting.FakeClock) { s.WroteStatus(at("1"), "a", "5", ours, aggregate.Complete) },
			now:    at("5"), content: "b", progress: aggregate.Rolling, want: Turn{After: statusPause}},
		"RolloutGoesOn": {reason: "the second status of a rollout",
			before: func(s *Memory, c *clocktesting.FakeClock) { s.WroteStatus(at("1"), "a", "5", ours, aggregate.Rolling) },
			now:    at("5"), content: "b", progress: aggregate.Rolling, want: Turn{After: settlingPause}},
		"LongRollout": {reason: "the third",
			before: func(s *Memory, c *clocktesting.FakeClock) {
				s.WroteStatus(at("1"), "a", "5", ours, aggregate.Rolling)
				c.Step(settlingPause)
				s.WroteStatus(at("5"), "b", "6", ours, aggregate.Rolling)
			},
			now: at("6"), content: "c", progress: aggregate.Rolling, want: Turn{After: rollingPause}},
		"RolloutEnds": {reason: "users wait for that",
			before: func(s *Memory, c *clocktesting.FakeClock) {
				s.WroteStatus(at("1"), "a", "5", ours, aggregate.Rolling)
				c.Step(statusPause)
			},
			now: at("5"), content: "b"},
		"RolloutEndsAtOnce": {reason: "but never two writes in a second",
			before: func(s *Memory, c *clocktesting.FakeClock) { s.WroteStatus(at("1"), "a", "5", ours, aggregate.Rolling) },
			now:    at("5"), content: "b", want: Turn{After: statusPause}},
		"Degraded": {reason: "the third status of a Deployment whose Pods fail",
			before: func(s *Memory, c *clocktesting.FakeClock) {
				s.WroteStatus(at("1"), "a", "5", ours, aggregate.Settling)
				c.Step(settlingPause)
				s.WroteStatus(at("5"), "b", "6", ours, aggregate.Settling)
			},
			now: at("6"), content: "c", progress: aggregate.Settling, want: Turn{After: settlingPause}},
		"NextRollout": {reason: "an edit owes nothing to the rollout before it",
			before: func(s *Memory, c *clocktesting.FakeClock) { s.WroteStatus(at("1"), "a", "5", ours, aggregate.Rolling) },
			now:    &state.SourceStatus{ID: sample.Page, UID: "1", Version: "6", Generation: 2}, content: "b", progress: aggregate.Rolling, want: Turn{After: statusPause}},
		"StuckRollout": {reason: "a rollout that has rested begins again",
			before: func(s *Memory, c *clocktesting.FakeClock) {
				s.WroteStatus(at("1"), "a", "5", ours, aggregate.Rolling)
				s.WroteStatus(at("5"), "b", "6", ours, aggregate.Rolling)
				c.Step(2 * rollingPause)
				s.WroteStatus(at("6"), "c", "7", ours, aggregate.Rolling)
			},
			now: at("7"), content: "d", progress: aggregate.Rolling, want: Turn{After: settlingPause}},
		"Reset": {reason: "a new configuration may have ended the contest",
			before: func(s *Memory, c *clocktesting.FakeClock) {
				undone(s, c)
				s.StatusTurn(at("9"), "a", aggregate.Complete)
				s.ForgetStatuses()
			},
			now: at("10"), content: "a"},
		"Pruned": {reason: "what matters survives",
			before: func(s *Memory, c *clocktesting.FakeClock) { undone(s, c); s.Prune() },
			now:    at("9"), content: "a", want: Turn{After: statusTruce, Contested: true}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(time.Unix(1_000_000, 0))
			s := New(clock)
			if tc.before != nil {
				tc.before(s, clock)
			}
			if got := s.StatusTurn(tc.now, tc.content, tc.progress); got != tc.want {
				t.Errorf("%s: got %+v, want %+v", tc.reason, got, tc.want)
			}
		})
	}
}
