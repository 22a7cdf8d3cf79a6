package write

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

const settleTest = time.Second

// breakerTest is a breaker for one resource that has total Works.
type breakerTest struct {
	*Breaker
	clock *clocktesting.FakeClock
	total int
}

func newBreakerTest(total int) *breakerTest {
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	b := &breakerTest{NewBreaker(clock, settleTest), clock, total}
	b.Configure(config.HoldAbove{Works: 50, Percent: 25}, everything)
	return b
}

func everything(schema.GroupResource, string) bool { return true }

// Propose proposes deletions that have nothing to do with the labels of clusters.
func (b *breakerTest) Propose(resource string, source render.Identity, works []*state.Work) time.Duration {
	var due []judge.Due
	for _, w := range works {
		due = append(due, judge.Due{Work: w})
	}
	return b.Breaker.Propose(resource, source, due, nil)
}

func (b *breakerTest) holdsAll() bool { return b.circuits["configmaps"].tripped() }

func (b *breakerTest) proposeOne(i int, held *render.Hold) *state.Work {
	w := &state.Work{Source: sample.Numbered(i), Held: held}
	b.Propose("configmaps", w.Source, []*state.Work{w})
	return w
}

func (b *breakerTest) admitOne(w *state.Work) admission {
	return b.admit("configmaps", w.Source, w, false, counts{inNamespaces: func() map[string]int { return map[string]int{w.Source.Namespace: b.total} }})
}

// delete tries to delete the proposed Works, and returns how many the breaker admits.
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
		// rounds of deletions, each of that many sources, pause apart.
		rounds []int
		pause  time.Duration
		want   int // deletions admitted
	}{
		"Few":          {"what a user does by hand is admitted", 1000, config.HoldAbove{Works: 50, Percent: 25}, []int{50}, settleTest, 50},
		"Burst":        {"no deletion of a burst is admitted", 200, config.HoldAbove{Works: 50, Percent: 25}, []int{51}, settleTest, 0},
		"AtThreshold":  {"as many as the threshold allows, whatever the percentage", 60, config.HoldAbove{Works: 50, Percent: 25}, []int{50}, settleTest, 50},
		"Share":        {"the percentage is relative to what was there, not to what remains", 40, config.HoldAbove{Works: 1, Percent: 25}, ones(20), settleTest, 10},
		"InTenMinutes": {"a deletion counts for ten minutes", 100, config.HoldAbove{Works: 1, Percent: 0}, ones(2), 10*time.Minute - time.Second, 1},
		"TenMinutesOn": {"and no longer", 100, config.HoldAbove{Works: 1, Percent: 0}, ones(2), 10*time.Minute + time.Second, 2},
		"SmallShare":   {"many, but a small percentage, are admitted", 1000, config.HoldAbove{Works: 50, Percent: 25}, []int{250}, settleTest, 250},
		"All":          {"all that there were", 51, config.HoldAbove{Works: 50, Percent: 25}, []int{51}, settleTest, 0},
		"Stream":       {"a stream of single deletions trips it too", 100, config.HoldAbove{Works: 5, Percent: 5}, ones(20), settleTest, 5},
		"SlowStream":   {"unless it is slow", 100, config.HoldAbove{Works: 5, Percent: 5}, ones(20), 2*breakerWindow/5 + 1, 20},
		"Off":          {"no threshold, no breaker", 100, config.HoldAbove{}, []int{100}, settleTest, 100},
		"NothingShort": {"none before the settle period is over", 1000, config.HoldAbove{Works: 50, Percent: 25}, []int{5}, settleTest / 2, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBreakerTest(tc.total)
			b.Configure(tc.threshold, everything)
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
				t.Errorf("%s: admitted %d deletions, want %d", tc.reason, deleted, tc.want)
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

// finishedJob returns a Work of a Job that has ended in its member, or not.
func finishedJob(i int, cluster string, hasEnded bool) *state.Work {
	status := map[string]any{"active": int64(1)}
	if hasEnded {
		status = map[string]any{"conditions": []any{map[string]any{"type": "Complete", "status": "True"}}}
	}
	source := sample.Asking("1", cluster)
	source.SetAPIVersion("batch/v1")
	source.SetKind("Job")
	source.SetName(fmt.Sprint(i))
	return state.NewWork(sample.Work(source, cluster, func(u *unstructured.Unstructured) {
		u.Object["status"] = map[string]any{"manifestStatuses": []any{map[string]any{"status": status}}}
	}))
}

// TestBreakerFinishedJobs deletes many Jobs that have ended, some that have not, and both.
func TestBreakerFinishedJobs(t *testing.T) {
	cases := map[string]struct {
		reason          string
		ended, running  int
		wantEnded, want int // deletions admitted
	}{
		"Ended":   {"they count for nothing", 100, 0, 100, 0},
		"Running": {"others do", 0, 100, 0, 0},
		"Both":    {"only those that run are held", 100, 100, 100, 0},
		"Few":     {"those that have ended do not trip it for the others", 100, 50, 100, 50},
		"Diluted": {"those that have ended make the percentage no smaller", 400, 100, 400, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBreakerTest(tc.running) // CountWorks counts no Job that has ended
			var ended, running []*state.Work
			for i := range tc.ended {
				ended = append(ended, finishedJob(i, "m1", true))
			}
			for i := range tc.running {
				running = append(running, finishedJob(1000+i, "m1", false))
			}
			for _, w := range slices.Concat(ended, running) {
				b.Propose("configmaps", w.Source, []*state.Work{w})
			}
			b.clock.Step(settleTest)
			if got, gotEnded := b.delete(running), b.delete(ended); got != tc.want || gotEnded != tc.wantEnded {
				t.Errorf("%s: admitted %d that have ended, want %d, and %d others, want %d", tc.reason, gotEnded, tc.wantEnded, got, tc.want)
			}
		})
	}
}

// TestBreakerHalfFinished: a Job that still runs in one member counts in all of them.
func TestBreakerHalfFinished(t *testing.T) {
	b := newBreakerTest(200)
	var works []*state.Work
	for i := range 51 {
		both := []*state.Work{finishedJob(i, "m1", true), finishedJob(i, "m2", false)}
		b.Propose("configmaps", both[0].Source, both)
		works = append(works, both...)
	}
	b.clock.Step(settleTest)
	if deleted := b.delete(works); deleted != 0 {
		t.Errorf("admitted %d deletions", deleted)
	}
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
		t.Errorf("admitted %d of the 100 deletions of one source", deleted)
	}
}

// TestBreakerNamespaces deletes in several Namespaces.
func TestBreakerNamespaces(t *testing.T) {
	cases := map[string]struct {
		reason string
		// works is how many Works there are, and due how many of them are due for deletion,
		// by namespace.
		works, due map[string]int
		// want is how many are admitted.
		want map[string]int
	}{
		"OneForAll":     {"deletions in one Namespace do not hold up others", map[string]int{"a": 60, "b": 60}, map[string]int{"a": 60, "b": 5}, map[string]int{"a": 0, "b": 5}},
		"JustBelow":     {"also if they are admitted themselves", map[string]int{"a": 50, "b": 60}, map[string]int{"a": 50, "b": 5}, map[string]int{"a": 50, "b": 5}},
		"ShareOfOwn":    {"the percentage is relative to the Works of the Namespace", map[string]int{"a": 60, "b": 10_000}, map[string]int{"a": 60}, map[string]int{"a": 0}},
		"Spread":        {"many Namespaces that delete a little each are held together", map[string]int{"a": 30, "b": 30, "c": 30}, map[string]int{"a": 30, "b": 30, "c": 30}, map[string]int{"a": 0, "b": 0, "c": 0}},
		"Two":           {"few deletions in each of two are admitted: neither holds up the other", map[string]int{"a": 50, "b": 50}, map[string]int{"a": 50, "b": 50}, map[string]int{"a": 50, "b": 50}},
		"FewOfTheRest":  {"so is a small percentage of all but the largest", map[string]int{"a": 50, "b": 1000}, map[string]int{"a": 50, "b": 200}, map[string]int{"a": 50, "b": 200}},
		"SeveralOfOne":  {"a tenant with several held Namespaces does not hold up others", map[string]int{"a": 60, "b": 60, "c": 60, "d": 20}, map[string]int{"a": 60, "b": 60, "c": 60, "d": 20}, map[string]int{"a": 0, "b": 0, "c": 0, "d": 20}},
		"LargeAndSmall": {"the percentage of the small ones does not include a large one that is held", map[string]int{"a": 1000, "b": 30, "c": 30, "d": 30}, map[string]int{"a": 1000, "b": 30, "c": 30, "d": 30}, map[string]int{"a": 0, "b": 0, "c": 0, "d": 0}},
		"ClusterWide":   {"cluster-scoped objects are counted together", map[string]int{"": 60, "a": 60}, map[string]int{"": 60, "a": 1}, map[string]int{"": 0, "a": 1}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBreakerTest(0)
			var works []*state.Work
			for namespace, n := range tc.due {
				for i := range n {
					id := sample.Numbered(i)
					id.Namespace = namespace
					works = append(works, &state.Work{Source: id})
					b.Propose("configmaps", id, works[len(works)-1:])
				}
			}
			b.clock.Step(settleTest)
			got := map[string]int{}
			for namespace := range tc.due {
				got[namespace] = 0
			}
			for _, w := range works {
				if a := b.admit("configmaps", w.Source, w, false, counts{inNamespaces: func() map[string]int { return tc.works }}); a.wait == 0 && !a.held {
					b.made("configmaps", w, false)
					got[w.Source.Namespace]++
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestBreakerOnClusters: deletions that a change of a cluster's labels may have made due are counted by
// cluster as well, over all resources, however small a share of each resource the cluster has.
func TestBreakerOnClusters(t *testing.T) {
	cases := map[string]struct {
		reason string
		// due are the deletions that labels make due on m1, named those that a user has asked for; both are
		// halved between two resources. works is how many Works m1 has.
		due, named, works int
		// want is how many of due are admitted, all at once and one by one.
		want, wantStream int
	}{
		"All":     {"a label is mistyped", 200, 0, 200, 0, 50},
		"Few":     {"a selector of some objects has another meaning", 50, 0, 50, 50, 50},
		"Share":   {"a quarter of a large cluster moves", 200, 0, 800, 200, 200},
		"Retired": {"objects that are deleted or go elsewhere by name do not count", 50, 200, 250, 50, 50},
	}
	for name, tc := range cases {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%v", name, stream), func(t *testing.T) {
				b, left := newBreakerTest(0), tc.works
				count := counts{func() map[string]int { return map[string]int{sample.Page.Namespace: 10_000} }, func() map[string]int { return map[string]int{"m1": left} }}
				resource := func(i int) string { return []string{"configmaps", "secrets"}[i%2] }
				propose := func(i int) *state.Work {
					w := &state.Work{Source: sample.Numbered(i), Cluster: "m1"}
					b.Breaker.Propose(resource(i), w.Source, []judge.Due{{Work: w, Unselected: i < tc.due}}, nil)
					return w
				}
				admitted, works, on := 0, []*state.Work{}, ""
				admit := func(i int) {
					a := b.admit(resource(i), works[i].Source, works[i], false, count)
					if a.held {
						works[i].Held = new(b.mark(resource(i), works[i], ""))
						for _, told := range b.alarms() {
							on = told.Cluster
						}
						return
					}
					b.made(resource(i), works[i], false)
					if left--; i < tc.due {
						admitted++
					}
				}
				for i := range tc.due + tc.named {
					if works = append(works, propose(i)); stream {
						b.clock.Step(settleTest)
						admit(i)
					}
				}
				b.clock.Step(settleTest)
				for i := range works {
					if !stream {
						admit(i)
					}
				}
				want := tc.want
				if stream {
					want = tc.wantStream
				}
				if admitted != want || want < tc.due && on != "m1" {
					t.Errorf("%s: admitted %d of %d, want %d, held on %q", tc.reason, admitted, tc.due, want, on)
				}
			})
		}
	}
}

// TestBreakerRemembersCluster: the mark holds what is unselected on its cluster after a restart, and nothing
// else; an approval for the cluster releases it.
func TestBreakerRemembersCluster(t *testing.T) {
	b := newBreakerTest(1000)
	since := b.clock.Now()
	mark, _ := render.ParseHold(map[string]string{render.HeldKey: render.Hold{Since: since, Resource: "configmaps", Because: "of a test", Cluster: true}.String()})
	propose := func(i int, cluster string, unselected bool, held *render.Hold) *state.Work {
		w := &state.Work{Source: sample.Numbered(i), Cluster: cluster, Held: held}
		b.Breaker.Propose("configmaps", w.Source, []judge.Due{{Work: w, Unselected: unselected}}, nil)
		return w
	}
	works := []*state.Work{propose(0, "m1", false, &mark), propose(1, "m1", true, nil), propose(2, "m1", false, nil), propose(3, "m2", true, nil)}
	b.clock.Step(settleTest)
	for i, want := range []bool{true, true, false, false} {
		if a := b.admitOne(works[i]); a.held != want {
			t.Errorf("deletion %d: %+v", i, a)
		}
	}
	b.Approve(config.Approvals{"configmaps@m1": since})
	if deleted := b.delete(works[:1]); deleted != 1 {
		t.Error("the approved one is held")
	}
	propose(1, "m1", false, nil) // another user's retargeting: no label is at fault
	b.Propose("configmaps", sample.Numbered(1), nil)
	late := propose(4, "m1", true, nil)
	b.clock.Step(settleTest)
	if deleted := b.delete([]*state.Work{late}); deleted != 1 || len(b.clusters.parts) != 2 {
		t.Errorf("the circuit has not closed: %d, %v", deleted, b.clusters.parts)
	}
}

// TestBreakerCountsUnanswered: deletions that were not answered count once they are gone, so that
// an API server that answers too late does not get around the threshold.
func TestBreakerCountsUnanswered(t *testing.T) {
	b := newBreakerTest(100)
	for i := range 50 {
		w := b.proposeOne(i, nil)
		b.clock.Step(settleTest)
		if a := b.admitOne(w); a.held {
			t.Fatalf("deletion %d is held", i)
		}
		b.sent("configmaps", w, false)
		b.sent("configmaps", w, false) // a retry counts once
		b.Propose("configmaps", w.Source, nil)
	}
	last := b.proposeOne(50, nil)
	b.clock.Step(settleTest)
	if a := b.admitOne(last); !a.held {
		t.Error("the deletion after 50 that were not answered is not held")
	}
}

// TestBreakerRemembersAll: if all Namespaces were held, a new process holds all of them again,
// even one without a mark yet.
func TestBreakerRemembersAll(t *testing.T) {
	for _, whole := range []bool{true, false} {
		b := newBreakerTest(1000)
		b.proposeOne(0, &render.Hold{Since: b.clock.Now(), Whole: whole})
		other := sample.Numbered(1)
		other.Namespace = "other"
		w := &state.Work{Source: other}
		b.Propose("configmaps", other, []*state.Work{w})
		b.clock.Step(settleTest)
		if a := b.admitOne(w); a.held != whole || b.holdsAll() != whole {
			t.Errorf("with a mark with Whole %v, another Namespace's deletion: %+v", whole, a)
		}
	}
}

// TestBreakerClosesForAll: when all deletions held for the whole resource have been made, those
// held for one Namespace stay held, and do not hold up others.
func TestBreakerClosesForAll(t *testing.T) {
	b := newBreakerTest(0)
	total := map[string]int{"tenant": 60, "b": 60, "c": 60, "d": 60, "other": 100}
	propose := func(namespace string, n int) (works []*state.Work) {
		for i := range n {
			id := sample.Numbered(i)
			id.Namespace = namespace
			works = append(works, &state.Work{Source: id})
			b.Propose("configmaps", id, works[i:])
		}
		b.clock.Step(settleTest)
		return works
	}
	admit := func(works []*state.Work) (held int) {
		for _, w := range works {
			a := b.admit("configmaps", w.Source, w, false, counts{inNamespaces: func() map[string]int { return total }})
			switch {
			case !a.held:
				b.made("configmaps", w, a.approved)
			case w.Held == nil:
				w.Held = new(b.mark("configmaps", w, ""))
				b.Propose("configmaps", w.Source, []*state.Work{w})
				fallthrough
			default:
				held++
			}
		}
		return held
	}
	tenants := propose("tenant", 60)
	if held := admit(tenants); held != 60 || b.holdsAll() {
		t.Fatalf("%d of one Namespace's are held, and all: %v", held, b.holdsAll())
	}
	spread := slices.Concat(propose("b", 40), propose("c", 40), propose("d", 40))
	if held := admit(spread); held != 120 || !b.holdsAll() {
		t.Fatalf("%d of three Namespaces' are held, and all: %v", held, b.holdsAll())
	}
	if held := admit(propose("other", 1)); held != 1 {
		t.Error("while all are held, one of another Namespace is admitted")
	}
	if held := admit(tenants); held != 60 {
		t.Errorf("%d of the 60 held for the one Namespace are still held", held)
	}
	b.clock.Step(time.Minute)
	now := b.clock.Now()
	b.Approve(config.Approvals{"b/configmaps": now, "c/configmaps": now, "d/configmaps": now, "other/configmaps": now})
	if held := admit(spread); held != 0 {
		t.Fatalf("%d approved ones are held", held)
	}
	b.Propose("configmaps", sample.Numbered(0), nil)
	other := sample.Numbered(0)
	other.Namespace = "other"
	b.Propose("configmaps", other, nil)
	if held := admit(propose("other", 1)); held != 0 {
		t.Error("after all of those have been made, one of another Namespace is held")
	}
	if held := admit(tenants); held != 60 {
		t.Errorf("in the end, %d of the 60 held for the one Namespace are still held", held)
	}
}

// alarms are those of two looks at what does not change.
func (b breakerTest) alarms() []Alarm { return append(b.Alarms(), b.Alarms()...) }

// TestBreakerPartCloses: the circuit of a Namespace closes when nothing is pending in it.
func TestBreakerPartCloses(t *testing.T) {
	b := newBreakerTest(100)
	var works []*state.Work
	for i := range 60 {
		works = append(works, b.proposeOne(i, nil))
	}
	b.clock.Step(settleTest)
	for _, w := range works {
		b.admitOne(w)
	}
	told := b.alarms()
	if on := &b.circuits["configmaps"].in(sample.Page.Namespace).fuse; len(told) != 1 || told[0] != (Alarm{"configmaps", sample.Page.Namespace, "", 60, "more than deletion.holdAbove allows", on}) || !b.Holds(told[0]) {
		t.Fatalf("after a burst in one Namespace: %+v", told)
	}
	for _, w := range works {
		b.Propose("configmaps", w.Source, nil)
	}
	if n := len(b.circuits["configmaps"].parts); n != 0 || b.Holds(told[0]) {
		t.Errorf("%d Namespaces are remembered", n)
	}
	again := b.proposeOne(0, nil)
	b.clock.Step(settleTest)
	if a := b.admitOne(again); a.held {
		t.Errorf("with nothing pending, the circuit has not closed: %+v", a)
	}
}

// TestBreakerTwoSources: only one source is taken for a deletion by hand, not two, however many
// clusters each is on.
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
		t.Errorf("admitted %d deletions of two sources on thirty clusters each", deleted)
	}
}

// TestBreakerProvedMore: if live reads find more deletions due than the lagging cache, those that
// both find due must settle only once.
func TestBreakerProvedMore(t *testing.T) {
	b := newBreakerTest(100)
	both := []*state.Work{{Source: sample.Numbered(0), Cluster: "m1"}, {Source: sample.Numbered(0), Cluster: "m2"}}
	for range 3 {
		b.Propose("configmaps", sample.Numbered(0), both[:1])
		b.Propose("configmaps", sample.Numbered(0), both)
		b.clock.Step(settleTest / 2)
	}
	if deleted := b.delete(both); deleted != 1 {
		t.Errorf("admitted %d", deleted)
	}
	if due := b.circuits["configmaps"].in(sample.Page.Namespace).due; due != 1 {
		t.Errorf("%d are counted", due)
	}
}

// TestBreakerSettlesAgain: targets that are removed one by one are counted together.
func TestBreakerSettlesAgain(t *testing.T) {
	b := newBreakerTest(100)
	first, second := &state.Work{Source: sample.Numbered(0), Cluster: "m1"}, &state.Work{Source: sample.Numbered(0), Cluster: "m2"}
	b.Propose("configmaps", sample.Numbered(0), []*state.Work{first})
	b.clock.Step(settleTest)
	if left := b.Propose("configmaps", sample.Numbered(0), []*state.Work{first, second}); left != settleTest {
		t.Errorf("with one more, the wait is %s", left)
	}
	b.clock.Step(settleTest)
	if left := b.Propose("configmaps", sample.Numbered(0), []*state.Work{second}); left != 0 {
		t.Errorf("with one fewer, the wait is %s", left)
	}
}

// TestBreakerTwoLeaders: two processes that lead by mistake delete no more than one does, whichever
// comes first each time.
func TestBreakerTwoLeaders(t *testing.T) {
	const sources, allowed = 60, 5
	leaders := []*breakerTest{newBreakerTest(100), newBreakerTest(100)}
	deleted := 0
	for i := range sources {
		var w *state.Work
		for _, b := range leaders {
			b.Configure(config.HoldAbove{Works: allowed, Percent: 5}, everything)
			w = b.proposeOne(i, nil)
			b.clock.Step(settleTest)
		}
		for turn := range leaders {
			first, other := leaders[(i+turn)%2], leaders[(i+turn+1)%2]
			if first.delete([]*state.Work{w}) == 1 {
				deleted++
				other.Saw(w)
				other.Propose("configmaps", w.Source, nil) // no Work is left
				break
			}
		}
	}
	if deleted != allowed {
		t.Errorf("admitted %d deletions, want %d", deleted, allowed)
	}
}

// TestBreakerSaw counts the deletions that a watch shows.
func TestBreakerSaw(t *testing.T) {
	held := &render.Hold{Since: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	cases := map[string]struct {
		reason string
		// deleted is what happens to a Work that was proposed.
		deleted func(*breakerTest, *state.Work)
		hold    *render.Hold
		approve bool
		want    int // deletions that count
	}{
		"Another's":  {reason: "another process has deleted what is due here too", deleted: func(b *breakerTest, w *state.Work) { b.Saw(w) }, want: 1},
		"Twice":      {reason: "it counts once", deleted: func(b *breakerTest, w *state.Work) { b.Saw(w); b.Saw(w) }, want: 1},
		"Ours":       {reason: "ours has been counted", deleted: func(b *breakerTest, w *state.Work) { b.made("configmaps", w, false); b.Saw(w) }, want: 1},
		"OursFirst":  {reason: "the watch was faster than the answer", deleted: func(b *breakerTest, w *state.Work) { b.Saw(w); b.made("configmaps", w, false) }, want: 1},
		"Wanted":     {reason: "a user deletes what is not due: it is restored", deleted: func(b *breakerTest, w *state.Work) { b.Propose("configmaps", w.Source, nil); b.Saw(w) }},
		"Held":       {reason: "an administrator deletes what is held", deleted: func(b *breakerTest, w *state.Work) { b.Saw(w) }, hold: held},
		"Approved":   {reason: "what was approved does not count, no matter who deletes it", deleted: func(b *breakerTest, w *state.Work) { b.Saw(w) }, hold: held, approve: true},
		"OtherPlace": {reason: "the same source in a cluster where nothing is due", deleted: func(b *breakerTest, w *state.Work) { b.Saw(&state.Work{Source: w.Source, Cluster: "m2"}) }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBreakerTest(100)
			if tc.approve {
				b.Approve(config.Approvals{"configmaps": b.clock.Now()})
			}
			w := b.proposeOne(0, tc.hold)
			tc.deleted(b, w)
			made := 0
			for _, p := range b.circuits["configmaps"].parts {
				made += len(p.made)
			}
			if made != tc.want {
				t.Errorf("%s: %d deletions count, want %d", tc.reason, made, tc.want)
			}
		})
	}
}

// TestBreakerApprovedDoNotCount: approved deletions do not hold back later ones.
func TestBreakerApprovedDoNotCount(t *testing.T) {
	b := newBreakerTest(100)
	b.Configure(config.HoldAbove{Works: 1}, everything)
	since := b.clock.Now()
	b.Approve(config.Approvals{"configmaps": since})
	approved := []*state.Work{b.proposeOne(0, &render.Hold{Since: since}), b.proposeOne(1, &render.Hold{Since: since})}
	b.clock.Step(settleTest)
	if deleted := b.delete(approved); deleted != 2 {
		t.Fatalf("admitted %d of the approved deletions", deleted)
	}
	next := b.proposeOne(2, nil)
	b.clock.Step(settleTest)
	if deleted := b.delete([]*state.Work{next}); deleted != 1 {
		t.Error("the next deletion by hand is held")
	}
}

// TestBreakerApprovalIsOfMarks: an approval covers what was held, and does not turn the breaker
// off for what comes later.
func TestBreakerApprovalIsOfMarks(t *testing.T) {
	b := newBreakerTest(100)
	b.Approve(config.Approvals{"configmaps": b.clock.Now().Add(time.Hour)})
	var works []*state.Work
	for i := range 60 {
		works = append(works, b.proposeOne(i, nil))
	}
	b.clock.Step(settleTest)
	if deleted := b.delete(works); deleted != 0 {
		t.Errorf("admitted %d deletions that were never held as approved", deleted)
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
		t.Fatalf("admitted %d deletions", deleted)
	}
	b.Configure(config.HoldAbove{}, everything)
	if deleted := b.delete(works); deleted != 60 {
		t.Errorf("admitted %d deletions after the breaker was turned off", deleted)
	}
}

// TestBreakerRemembers: the marks on the Works trip the breaker of a new process, even if
// the number alone would not.
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
		t.Fatalf("admitted %d deletions after a restart", deleted)
	}

	b.Approve(config.Approvals{"configmaps": since.Add(-time.Millisecond)})
	if deleted := b.delete(works); deleted != 0 {
		t.Errorf("an earlier approval admitted %d deletions", deleted)
	}
	b.Approve(config.Approvals{"secrets": since})
	if deleted := b.delete(works); deleted != 0 {
		t.Errorf("another resource's approval admitted %d deletions", deleted)
	}
	b.Approve(config.Approvals{"configmaps": since})
	if deleted := b.delete(works); deleted != 10 {
		t.Errorf("the approval admitted %d deletions, not the 10 that it covers", deleted)
	}
	b.Propose("configmaps", sample.Numbered(10), nil) // it is wanted again
	late := b.proposeOne(11, nil)
	b.clock.Step(settleTest)
	if deleted := b.delete([]*state.Work{late}); deleted != 1 {
		t.Error("with nothing pending, the breaker has not closed")
	}
}

func TestBreakerNeedsApproval(t *testing.T) {
	b := newBreakerTest(1000)
	b.Configure(config.HoldAbove{}, everything)
	w := b.proposeOne(0, nil)
	b.clock.Step(settleTest)
	admit := func() admission {
		return b.admit("configmaps", w.Source, w, true, counts{inNamespaces: func() map[string]int { return map[string]int{w.Source.Namespace: b.total} }})
	}
	if a := admit(); !a.held || a.because != "their CRD was deleted" {
		t.Errorf("a deletion that needs an approval was admitted: %+v", a)
	}
	w.Held = &render.Hold{Since: b.clock.Now()}
	b.Approve(config.Approvals{"configmaps": b.clock.Now()})
	if a := admit(); a.held || !a.approved {
		t.Errorf("an approved deletion was held: %+v", a)
	}
}

// TestBreakerHoldTime: an approval does not cover later marks, whatever clock it was made
// by.
func TestBreakerHoldTime(t *testing.T) {
	b := newBreakerTest(1000)
	for _, ahead := range []time.Duration{-time.Hour, 0, 300 * time.Microsecond, time.Hour} {
		approved := b.clock.Now().Add(ahead)
		b.Approve(config.Approvals{"configmaps": approved})
		for range 3 { // approve each mark in turn, as the command does
			mark := render.Hold{Since: b.holdTime("configmaps", sample.Page.Namespace, "m1"), Resource: "configmaps", Because: "of a test"}
			w := b.proposeOne(0, &mark)
			if read, ok := render.ParseHold(map[string]string{render.HeldKey: mark.String()}); !ok || !read.Since.Equal(mark.Since) {
				t.Fatalf("%q is read back as %v", mark, read)
			}
			b.clock.Step(settleTest)
			if deleted := b.delete([]*state.Work{w}); deleted != 0 {
				t.Fatalf("an earlier approval of %s covers a mark of %s", approved, mark.Since)
			}
			approved = mark.Since
			b.Approve(config.Approvals{"configmaps": approved})
			if deleted := b.delete([]*state.Work{w}); deleted != 1 {
				t.Fatalf("an approval of %s does not cover the mark of the same time", approved)
			}
		}
	}
}

// TestBreakerCause: what is held along with objects that went with their definition is held for
// that reason, until none of these is left.
func TestBreakerCause(t *testing.T) {
	const tooMany, definition = "more than deletion.holdAbove allows", "their CRD was deleted"
	cases := map[string]struct {
		reason        string
		needsApproval []bool // for each deletion, in turn
		want          string
	}{
		"TooMany":    {"the number alone trips it", slices.Repeat([]bool{false}, 60), tooMany},
		"Definition": {"however many there are", slices.Repeat([]bool{true}, 60), definition},
		"Both":       {"a new object's deletion is held with the old ones", []bool{true, false}, definition},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBreakerTest(100)
			var works []*state.Work
			for i := range c.needsApproval {
				works = append(works, b.proposeOne(i, nil))
			}
			b.clock.Step(settleTest)
			for i, w := range works {
				a := b.admit("configmaps", w.Source, w, c.needsApproval[i], counts{inNamespaces: func() map[string]int { return map[string]int{w.Source.Namespace: b.total} }})
				if !a.held || a.because != c.want {
					t.Errorf("%s: deletion %d: held %v, %s", c.reason, i, a.held, a.because)
				}
			}
		})
	}
}

func TestBreakerTells(t *testing.T) {
	b := newBreakerTest(100)
	admit := func(w *state.Work) bool { b.admitOne(w); return len(b.Alarms()) > 0 }
	var works []*state.Work
	for i := range 60 {
		works = append(works, b.proposeOne(i, nil))
	}
	b.clock.Step(settleTest)
	for _, w := range works {
		if admit(w) {
			t.Error("a burst was reported before its end")
		}
	}
	if told := b.Alarms(); len(told) != 1 || told[0].Held != 60 {
		t.Errorf("one burst was reported as %+v", told)
	}
	b.clock.Step(tellPeriod)
	if admit(works[0]) {
		t.Error("the same deletions were reported again")
	}
	b.proposeOne(61, nil)
	if len(b.Alarms()) > 0 {
		t.Error("one that may come back at once was reported")
	}
	more := b.proposeOne(60, nil)
	b.clock.Step(settleTest)
	if b.admitOne(more); len(b.alarms()) != 1 {
		t.Error("further held deletions were not reported")
	}
}

// BenchmarkAdmit shows that admitting one of very many pending deletions does not count them all.
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
					b.Fatal("it is admitted")
				}
			}
		})
	}
}

// TestAlarm: administrators hear of more deletions than before, at most once a minute, also if there were fewer in between, and
// now and again of those that are still held.
func TestAlarm(t *testing.T) {
	const look = time.Second
	f, now := fuse{}, time.Unix(0, 0)
	for i, step := range []struct {
		more, less int
		after      time.Duration
		want       bool
	}{
		{0, 0, look, false}, {20, 0, look, false}, {40, 0, look, false}, {0, 0, look, true}, {0, 0, look, false}, {0, 0, tellPeriod, false}, // of a burst, the whole number
		{1, 0, look, false}, {0, 0, look, true}, {1, 0, look, false}, {0, 0, look, false}, {0, 0, tellPeriod, true}, // more
		{0, 0, tellPeriod, false}, {20, 55, look, false}, {0, 0, look, true}, {0, 0, tellPeriod, false}, {7, 7, look, true}, // less, of which some is new
		{0, 10, tellPeriod, false}, {0, 1, renewPeriod, false}, {0, 0, look, true}, {0, 0, look, false}, // renewed
		{1, 0, look, false}, {1, 0, tellPeriod, true}, {0, 0, renewPeriod, true}, // a burst that lasts
		{0, 18, renewPeriod, false}, {1, 0, look, false}, {0, 0, look, true}, // again
	} {
		now = now.Add(step.after)
		f.hold(step.more)
		f.hold(-step.less)
		if got := f.raise(f.holds, now); got != step.want {
			t.Errorf("step %d, %d held: %v", i+1, f.holds, got)
		}
	}
}
