package write

import (
	"fmt"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

const settleTest = time.Second

// breakerTest is a breaker for one resource of which there are total Works.
type breakerTest struct {
	*Breaker
	clock *clocktesting.FakeClock
	total int
}

func newBreakerTest(total int) *breakerTest {
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	b := &breakerTest{NewBreaker(clock, settleTest), clock, total}
	b.Configure(config.HoldAbove{Works: 50, Percent: 25})
	return b
}

func (b *breakerTest) proposeOne(i int, held *render.Hold) *state.Work {
	w := &state.Work{Source: sample.Numbered(i), Held: held}
	b.Propose("configmaps", w.Source, []*state.Work{w})
	return w
}

func (b *breakerTest) admitOne(w *state.Work) admission {
	return b.admit("configmaps", w.Source, w, false, func() int { return b.total })
}

// delete tries to delete what is proposed, and returns how many were let go.
func (b *breakerTest) delete(works []*state.Work) int {
	deleted := 0
	for _, w := range works {
		if a := b.admitOne(w); a.wait == 0 && !a.held {
			b.made("configmaps", w, a.approved)
			b.total--
			deleted++
		}
	}
	return deleted
}

func TestBreaker(t *testing.T) {
	cases := map[string]struct {
		reason    string
		total     int
		threshold config.HoldAbove
		// rounds of deletions, of that many sources each, pause apart.
		rounds []int
		pause  time.Duration
		want   int // deletions let go
	}{
		"Few":          {"what a person does by hand is let go", 1000, config.HoldAbove{Works: 50, Percent: 25}, []int{50}, settleTest, 50},
		"Burst":        {"of a burst not one is let go", 200, config.HoldAbove{Works: 50, Percent: 25}, []int{51}, settleTest, 0},
		"AtThreshold":  {"as many as the threshold allows, whatever the share", 60, config.HoldAbove{Works: 50, Percent: 25}, []int{50}, settleTest, 50},
		"Share":        {"the share is of what was there, and not of what is left", 40, config.HoldAbove{Works: 1, Percent: 25}, ones(20), settleTest, 10},
		"InTenMinutes": {"a deletion counts for ten minutes", 100, config.HoldAbove{Works: 1, Percent: 0}, ones(2), 10*time.Minute - time.Second, 1},
		"TenMinutesOn": {"and no longer", 100, config.HoldAbove{Works: 1, Percent: 0}, ones(2), 10*time.Minute + time.Second, 2},
		"SmallShare":   {"many, but few of all, are let go", 1000, config.HoldAbove{Works: 50, Percent: 25}, []int{250}, settleTest, 250},
		"All":          {"all there were", 51, config.HoldAbove{Works: 50, Percent: 25}, []int{51}, settleTest, 0},
		"Stream":       {"a stream of single deletions trips it too", 100, config.HoldAbove{Works: 5, Percent: 5}, ones(20), settleTest, 5},
		"SlowStream":   {"unless it is slow", 100, config.HoldAbove{Works: 5, Percent: 5}, ones(20), 2*breakerWindow/5 + 1, 20},
		"Off":          {"no threshold, no breaker", 100, config.HoldAbove{}, []int{100}, settleTest, 100},
		"NothingShort": {"before they have settled, none", 1000, config.HoldAbove{Works: 50, Percent: 25}, []int{5}, settleTest / 2, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBreakerTest(tc.total)
			b.Configure(tc.threshold)
			deleted, next := 0, 0
			for _, n := range tc.rounds {
				var works []*state.Work
				for range n {
					works = append(works, b.proposeOne(next, nil))
					next++
				}
				b.clock.Step(tc.pause)
				deleted += b.delete(works)
			}
			if deleted != tc.want {
				t.Errorf("%s: %d deletions were let go, not %d", tc.reason, deleted, tc.want)
			}
		})
	}
}

func ones(n int) []int {
	rounds := make([]int, n)
	for i := range rounds {
		rounds[i] = 1
	}
	return rounds
}

func TestBreakerOneSource(t *testing.T) {
	b := newBreakerTest(100)
	var works []*state.Work
	for i := range 100 {
		works = append(works, &state.Work{Source: sample.Numbered(0), Cluster: fmt.Sprint(i)})
	}
	b.Propose("configmaps", sample.Numbered(0), works)
	b.clock.Step(settleTest)
	if deleted := b.delete(works); deleted != 100 {
		t.Errorf("of one source's own targets %d were let go", deleted)
	}
}

// TestBreakerTwoSources: two are more than one object by hand, though each is on many
// clusters.
func TestBreakerTwoSources(t *testing.T) {
	b := newBreakerTest(100)
	var works []*state.Work
	for i := range 60 {
		works = append(works, &state.Work{Source: sample.Numbered(i % 2), Cluster: fmt.Sprint(i)})
	}
	for i := range 2 {
		b.Propose("configmaps", sample.Numbered(i), works[i*30:i*30+30])
	}
	b.clock.Step(settleTest)
	if deleted := b.delete(works); deleted != 0 {
		t.Errorf("of two sources on thirty clusters each %d were let go", deleted)
	}
}

// TestBreakerProvedMore: where live reads speak against more than the lagging cache does,
// what both speak against has to settle once.
func TestBreakerProvedMore(t *testing.T) {
	b := newBreakerTest(100)
	both := []*state.Work{{Source: sample.Numbered(0), Cluster: "m1"}, {Source: sample.Numbered(0), Cluster: "m2"}}
	for range 3 {
		b.Propose("configmaps", sample.Numbered(0), both[:1])
		b.Propose("configmaps", sample.Numbered(0), both)
		b.clock.Step(settleTest / 2)
	}
	if deleted := b.delete(both); deleted != 1 {
		t.Errorf("%d were let go", deleted)
	}
	if b.circuits["configmaps"].due != 1 {
		t.Errorf("%d are counted", b.circuits["configmaps"].due)
	}
}

// TestBreakerSettlesAnew: targets that are taken off one by one are counted together.
func TestBreakerSettlesAnew(t *testing.T) {
	b := newBreakerTest(100)
	first, second := &state.Work{Source: sample.Numbered(0), Cluster: "m1"}, &state.Work{Source: sample.Numbered(0), Cluster: "m2"}
	b.Propose("configmaps", sample.Numbered(0), []*state.Work{first})
	b.clock.Step(settleTest)
	if left := b.Propose("configmaps", sample.Numbered(0), []*state.Work{first, second}); left != settleTest {
		t.Errorf("with one more the wait is %s", left)
	}
	b.clock.Step(settleTest)
	if left := b.Propose("configmaps", sample.Numbered(0), []*state.Work{second}); left != 0 {
		t.Errorf("with one less the wait is %s", left)
	}
}

// TestBreakerApprovedDoNotCount: what an administrator has let go holds nothing back.
func TestBreakerApprovedDoNotCount(t *testing.T) {
	b := newBreakerTest(100)
	b.Configure(config.HoldAbove{Works: 1})
	since := b.clock.Now()
	b.Approve(config.Approvals{"configmaps": since})
	approved := []*state.Work{b.proposeOne(0, &render.Hold{Since: since}), b.proposeOne(1, &render.Hold{Since: since})}
	b.clock.Step(settleTest)
	if deleted := b.delete(approved); deleted != 2 {
		t.Fatalf("of what was approved %d were let go", deleted)
	}
	next := b.proposeOne(2, nil)
	b.clock.Step(settleTest)
	if deleted := b.delete([]*state.Work{next}); deleted != 1 {
		t.Error("the next deletion by hand is held")
	}
}

// TestBreakerApprovalIsOfMarks: an approval lets go what was held, and does not turn the
// breaker off for what comes later.
func TestBreakerApprovalIsOfMarks(t *testing.T) {
	b := newBreakerTest(100)
	b.Approve(config.Approvals{"configmaps": b.clock.Now().Add(time.Hour)})
	var works []*state.Work
	for i := range 60 {
		works = append(works, b.proposeOne(i, nil))
	}
	b.clock.Step(settleTest)
	if deleted := b.delete(works); deleted != 0 {
		t.Errorf("%d deletions that nobody has held were let go as approved", deleted)
	}
}

func TestBreakerTurnedOff(t *testing.T) {
	b := newBreakerTest(100)
	var works []*state.Work
	for i := range 60 {
		works = append(works, b.proposeOne(i, nil))
	}
	b.clock.Step(settleTest)
	if deleted := b.delete(works); deleted != 0 {
		t.Fatalf("%d deletions were let go", deleted)
	}
	b.Configure(config.HoldAbove{})
	if deleted := b.delete(works); deleted != 60 {
		t.Errorf("%d deletions were let go after the breaker was turned off", deleted)
	}
}

// TestBreakerRemembers: the marks on the Works trip the breaker of a new
// process, though the number alone would not.
func TestBreakerRemembers(t *testing.T) {
	b := newBreakerTest(1000)
	since := b.clock.Now()
	var works []*state.Work
	for i := range 10 {
		works = append(works, b.proposeOne(i, &render.Hold{Since: since}))
	}
	works = append(works, b.proposeOne(10, nil))
	b.clock.Step(settleTest)
	if deleted := b.delete(works); deleted != 0 {
		t.Fatalf("%d deletions were let go after a restart", deleted)
	}

	b.Approve(config.Approvals{"configmaps": since.Add(-time.Millisecond)})
	if deleted := b.delete(works); deleted != 0 {
		t.Errorf("an approval from before let %d deletions go", deleted)
	}
	b.Approve(config.Approvals{"secrets": since})
	if deleted := b.delete(works); deleted != 0 {
		t.Errorf("another resource's approval let %d deletions go", deleted)
	}
	b.Approve(config.Approvals{"configmaps": since})
	if deleted := b.delete(works); deleted != 10 {
		t.Errorf("the approval let %d deletions go, not the 10 that it covers", deleted)
	}
	b.Propose("configmaps", sample.Numbered(10), nil) // it is wanted again
	late := b.proposeOne(11, nil)
	b.clock.Step(settleTest)
	if deleted := b.delete([]*state.Work{late}); deleted != 1 {
		t.Error("with nothing pending any more the breaker has not closed")
	}
}

func TestBreakerNeedsApproval(t *testing.T) {
	b := newBreakerTest(1000)
	b.Configure(config.HoldAbove{})
	w := b.proposeOne(0, nil)
	b.clock.Step(settleTest)
	admit := func() admission { return b.admit("configmaps", w.Source, w, true, func() int { return b.total }) }
	if a := admit(); !a.held || !a.tell {
		t.Errorf("a deletion that needs an approval was let go: %+v", a)
	}
	w.Held = &render.Hold{Since: b.clock.Now()}
	b.Approve(config.Approvals{"configmaps": b.clock.Now()})
	if a := admit(); a.held || !a.approved {
		t.Errorf("an approved deletion was held: %+v", a)
	}
}

// TestBreakerHoldTime: what is marked after an approval is not covered by it,
// whatever clock the approval was made by.
func TestBreakerHoldTime(t *testing.T) {
	b := newBreakerTest(1000)
	for _, ahead := range []time.Duration{-time.Hour, 0, 300 * time.Microsecond, time.Hour} {
		approved := b.clock.Now().Add(ahead)
		b.Approve(config.Approvals{"configmaps": approved})
		for range 3 { // each mark is approved in turn, as the command does
			mark := render.Hold{Since: b.holdTime("configmaps", sample.Page.Namespace), Resource: "configmaps", Because: "of a test"}
			w := b.proposeOne(0, &mark)
			if read, ok := render.ParseHold(map[string]string{render.HeldKey: mark.String()}); !ok || !read.Since.Equal(mark.Since) {
				t.Fatalf("%q is read back as %v", mark, read)
			}
			b.clock.Step(settleTest)
			if deleted := b.delete([]*state.Work{w}); deleted != 0 {
				t.Fatalf("an approval of %s, given before, let go what is marked %s", approved, mark.Since)
			}
			approved = mark.Since
			b.Approve(config.Approvals{"configmaps": approved})
			if deleted := b.delete([]*state.Work{w}); deleted != 1 {
				t.Fatalf("the approval of %s does not cover the mark of that time", approved)
			}
		}
	}
}

func TestBreakerTells(t *testing.T) {
	b := newBreakerTest(100)
	admit := func(w *state.Work) bool {
		return b.admit("configmaps", w.Source, w, false, func() int { return b.total }).tell
	}
	var works []*state.Work
	for i := range 60 {
		works = append(works, b.proposeOne(i, nil))
	}
	b.clock.Step(settleTest)
	told := 0
	for _, w := range works {
		if admit(w) {
			told++
		}
	}
	if told != 1 {
		t.Errorf("told %d times of one burst", told)
	}
	b.clock.Step(tellPeriod)
	if admit(works[0]) {
		t.Error("told again of what was told")
	}
	more := b.proposeOne(60, nil)
	b.clock.Step(settleTest)
	if !admit(more) {
		t.Error("not told that more are held")
	}
}

// BenchmarkAdmit shows that what is held of very many is not counted again and again.
func BenchmarkAdmit(b *testing.B) {
	for _, pending := range []int{1000, 50_000} {
		b.Run(fmt.Sprint(pending), func(b *testing.B) {
			t := newBreakerTest(pending)
			var last *state.Work
			for i := range pending {
				last = t.proposeOne(i, nil)
			}
			t.clock.Step(settleTest)
			for b.Loop() {
				if !t.admitOne(last).held {
					b.Fatal("it is let go")
				}
			}
		})
	}
}
