package memory

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// asking returns the page, asking for clusters; uid distinguishes its incarnations.
func asking(uid, clusters string) *judge.Source {
	return judge.NewSource(sample.Asking(uid, clusters), render.Wishes{})
}

// observed returns the Work that a source's template renders.
func observed(s *judge.Source, cluster string, changes ...sample.Change) *state.Work {
	return state.NewWork(sample.WorkOf(s.Template.Work(cluster), changes...))
}

// wanting returns the verdict on a source that asks for m1.
func wanting(s *judge.Source) judge.Verdict {
	return judge.Decide(judge.Facts{ID: sample.Page, Source: s, Clusters: map[string]judge.ClusterFacts{"m1": {State: judge.ClusterJoined}}})
}

// wrote notes a write that is sent and answered.
func wrote(m *Memory, v judge.Verdict, op judge.Operation, answer Receipt) {
	m.Sending(v.ID, op.Cluster)
	defer m.Answered(v.ID, op.Cluster)
	m.Wrote(v, op, answer)
}

// TestGoneBeforeItIsAnswered: nothing waits for a Work that is deleted before its create
// has been answered.
func TestGoneBeforeItIsAnswered(t *testing.T) {
	m := New(clocktesting.NewFakeClock(time.Unix(1, 0)))
	v, create := wanting(asking("1", "m1")), judge.Operation{Kind: judge.Create, Cluster: "m1"}
	m.Sending(v.ID, "m1")
	m.Forget(v.ID, "m1")
	m.Wrote(v, create, Receipt{"10", 1})
	m.Answered(v.ID, "m1")
	if m.IsUnderWay(v.ID, "m1", nil) {
		t.Error("the deleted Work is waited for")
	}
	wrote(m, v, create, Receipt{"12", 1})
	if !m.IsUnderWay(v.ID, "m1", nil) {
		t.Error("the next one is not")
	}
}

// TestAwaitsAny: a Work that we have created and that the watch has not shown may exist.
func TestAwaitsAny(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1, 0))
	m := New(clock)
	source := asking("1", "m1")
	v := wanting(source)
	if m.AwaitsAny(v.ID) {
		t.Error("nothing was written")
	}
	wrote(m, v, judge.Operation{Kind: judge.Create, Cluster: "m1"}, Receipt{"10", 1})
	if !m.AwaitsAny(v.ID) {
		t.Error("the Work has not been shown yet")
	}
	m.Shown(observed(source, "m1", sample.Version("10")))
	if m.AwaitsAny(v.ID) {
		t.Error("the Work has been shown")
	}
	wrote(m, v, judge.Operation{Kind: judge.Create, Cluster: "m1"}, Receipt{"20", 1})
	clock.Step(AwaitCache)
	if m.AwaitsAny(v.ID) {
		t.Error("the write counts as lost")
	}
}

// TestUnderWay: until the watch has shown a write of ours, the cache is stale.
func TestUnderWay(t *testing.T) {
	source := asking("1", "m1")
	v := wanting(source)
	create := judge.Operation{Kind: judge.Create, Cluster: "m1"}
	update := judge.Operation{Kind: judge.Update, Cluster: "m1", Work: observed(source, "m1", sample.Edited, sample.Version("9"))}
	deletion := judge.Operation{Kind: judge.Delete, Cluster: "m1", Work: observed(source, "m1", sample.Version("9"))}
	amendment := judge.Operation{Kind: judge.Amend, Cluster: "m1", Work: observed(source, "m1", sample.Version("9"))}
	another := func(u *unstructured.Unstructured) { u.SetUID("another") }
	cases := map[string]struct {
		reason  string
		op      judge.Operation
		elapsed time.Duration
		cached  *state.Work
		want    bool
	}{
		"Created":        {"the watch has not shown the created Work", create, 0, nil, true},
		"CreatedLongAgo": {"and never will", create, AwaitCache, nil, false},
		"CreateCame":     {"it has", create, 0, observed(source, "m1", sample.Version("10")), false},
		"Updated":        {"the cache has the Work from before our write", update, 0, observed(source, "m1", sample.Edited, sample.Version("9")), true},
		"UpdateCame":     {"as it was written", update, 0, observed(source, "m1", sample.Version("10")), false},
		"EditedSince":    {"another writer has changed the Work after our write", update, 0, observed(source, "m1", sample.Edited, sample.Version("11")), false},
		"Amended":        {"how to delete it is a write as well", amendment, 0, observed(source, "m1", sample.Version("9")), true},
		"Deleted":        {"it is not being deleted yet", deletion, 0, observed(source, "m1", sample.Version("9")), true},
		"DeletedLongAgo": {"the API server's data may have been restored", deletion, AwaitCache, observed(source, "m1", sample.Version("9")), false},
		"Going":          {"it is being deleted", deletion, 0, observed(source, "m1", sample.Terminating, sample.Version("10")), false},
		"Gone":           {"it is gone", deletion, 0, nil, false},
		"MadeAgain":      {"one that was created since is a different Work", deletion, 0, observed(source, "m1", another, sample.Version("12")), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(time.Unix(1, 0))
			m := New(clock)
			if m.IsUnderWay(sample.Page, "m1", tc.cached) {
				t.Error("under way before anything was written")
			}
			wrote(m, v, tc.op, Receipt{"10", 3})
			clock.Step(tc.elapsed)
			if got := m.IsUnderWay(sample.Page, "m1", tc.cached); got != tc.want {
				t.Errorf("%s: under way: %v", tc.reason, got)
			}
			m.Forget(sample.Page, "m1")
			if m.IsUnderWay(sample.Page, "m1", tc.cached) {
				t.Error("a forgotten write is under way")
			}
		})
	}
}

// TestWriteIsShown: a write that the watch has shown is forgotten, unless admission has altered
// it.
func TestWriteIsShown(t *testing.T) {
	source := asking("1", "m1")
	for name, tc := range map[string]struct {
		reason string
		work   *state.Work
		kept   bool
	}{
		"Echo":                 {"the watch shows what was written", observed(source, "m1", sample.Version("10"), sample.Generation(3)), false},
		"Later":                {"Karmada has added its status already", observed(source, "m1", sample.Version("12"), sample.Generation(3)), false},
		"Earlier":              {"the watch shows what was there before", observed(source, "m1", sample.Version("9"), sample.Generation(2)), true},
		"Altered":              {"admission has altered it", observed(source, "m1", sample.Edited, sample.Version("10"), sample.Generation(3)), true},
		"EditedSince":          {"another writer has changed it", observed(source, "m1", sample.Edited, sample.Version("11"), sample.Generation(4)), false},
		"Remarked":             {"or one of our annotations", observed(source, "m1", sample.Remarked, sample.Version("11"), sample.Generation(3)), false},
		"AlteredAndRemarked":   {"even if admission alters the spec as well", observed(source, "m1", sample.Edited, sample.Remarked, sample.Version("11"), sample.Generation(3)), false},
		"AlteredAndNoted":      {"or a note on the content", observed(source, "m1", sample.Edited, misnoted, sample.Version("11"), sample.Generation(3)), false},
		"MarkedByTheBreaker":   {"the breaker has marked it meanwhile", observed(source, "m1", sample.Marked, sample.Version("11"), sample.Generation(3)), false},
		"SomebodyIsDeletingIt": {"a user has deleted it meanwhile", observed(source, "m1", sample.Terminating, sample.Version("11"), sample.Generation(4)), false},
	} {
		t.Run(name, func(t *testing.T) {
			m := New(clocktesting.NewFakeClock(time.Unix(1, 0)))
			wrote(m, wanting(source), judge.Operation{Kind: judge.Create, Cluster: "m1"}, Receipt{"10", 3})
			m.Shown(tc.work)
			if kept := m.read(sample.Page, "m1").expected != nil; kept != tc.kept {
				t.Errorf("%s: kept: %v", tc.reason, kept)
			}
		})
	}
}

// misnoted gives a Work the note of a policy that has not changed it.
func misnoted(u *unstructured.Unstructured) {
	sample.Annotate(u, render.OverriddenByAnnotation, "OverridePolicy/strange")
}

// TestShownWithoutContent: writes that do not write content also come back, and are settled.
func TestShownWithoutContent(t *testing.T) {
	before := observed(asking("1", "m1"), "m1", sample.Version("9"), sample.Generation(2))
	after := observed(asking("1", "m1"), "m1", sample.Version("10"), sample.Generation(3))
	for _, kind := range []judge.OperationKind{judge.Hold, judge.Wake, judge.Amend} {
		m := New(clocktesting.NewFakeClock(time.Unix(1, 0)))
		wrote(m, wanting(asking("1", "m1")), judge.Operation{Kind: kind, Cluster: "m1", Work: before}, Receipt{"10", 3})
		m.Shown(before)
		if !m.IsUnderWay(sample.Page, "m1", before) {
			t.Errorf("%s: the Work from before it is judged", kind)
		}
		m.Shown(after)
		if m.read(sample.Page, "m1").expected != nil {
			t.Errorf("%s: it is never settled", kind)
		}
	}
}

// TestAltered: what admission alters is never written again, and that is reported
// once.
func TestAltered(t *testing.T) {
	source := asking("1", "m1")
	v := wanting(source)
	clock := clocktesting.NewFakeClock(time.Unix(1, 0))
	m := New(clock)
	update := judge.Operation{Kind: judge.Update, Cluster: "m1"}
	wrote(m, v, judge.Operation{Kind: judge.Create, Cluster: "m1"}, Receipt{"10", 3})
	for i, at := range []string{"10", "10", "11"} { // 11: Karmada's status
		update.Work = observed(source, "m1", sample.Edited, sample.Version(at), sample.Generation(3))
		m.Shown(update.Work)
		m.Holds(v, update) // a check alone reports nothing
		held, ok := m.Check(v, update)
		if said := held.Notice == noticeAltered; !ok || said != (i == 0) {
			t.Errorf("check %d: held back %v, said %q", i, ok, held.Notice)
		}
		m.Reported(v.ID, update.Cluster, held.Notice)
		clock.Step(time.Hour)
	}
	if lost := m.unshown(); len(lost) > 0 {
		t.Errorf("altered writes count as lost: %v", lost)
	}
	update.Work = observed(source, "m1", sample.Edited, sample.Version("12"), sample.Generation(4))
	if _, ok := m.Check(v, update); ok {
		t.Error("an edit by another writer is not repaired")
	}
	if _, ok := m.Check(wanting(asking("2", "m1")), update); ok {
		t.Error("different content is not written")
	}
}

// TestAlteredNotes: what admission alters is written again if only its notes differ, as when one of two policies with the same
// effect has gone.
func TestAlteredNotes(t *testing.T) {
	source := asking("1", "m1")
	overridden := func(names ...string) judge.Verdict {
		f := judge.Facts{ID: sample.Page, Source: source, PoliciesLive: true, Clusters: map[string]judge.ClusterFacts{"m1": {State: judge.ClusterJoined, Member: &render.Member{Name: "m1"}}}}
		for _, name := range names {
			u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "policy.karmada.io/v1alpha1", "kind": "OverridePolicy", "spec": map[string]any{
				"resourceSelectors": []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}},
				"overrideRules":     []any{map[string]any{"overriders": map[string]any{"plaintext": []any{map[string]any{"path": "/data/key", "operator": "replace", "value": "same"}}}}},
			}}}
			u.SetNamespace(sample.Page.Namespace)
			u.SetName(name)
			f.Policies = append(f.Policies, state.NewPolicy(u))
		}
		return judge.Decide(f)
	}
	before, after := overridden("a", "b"), overridden("a")
	if before.Targets["m1"].Digest() != after.Targets["m1"].Digest() || before.Targets["m1"].Notes() == after.Targets["m1"].Notes() {
		t.Fatal("the notes alone were to differ")
	}
	m := New(clocktesting.NewFakeClock(time.Unix(1, 0)))
	wrote(m, before, judge.Operation{Kind: judge.Create, Cluster: "m1"}, Receipt{"10", 3})
	noted := func(u *unstructured.Unstructured) {
		sample.Annotate(u, render.OverriddenByAnnotation, before.Targets["m1"].Notes().OverriddenBy)
		sample.Annotate(u, render.RenderedAnnotation, before.Targets["m1"].Notes().Rendered)
	}
	update := judge.Operation{Kind: judge.Update, Cluster: "m1", Work: observed(source, "m1", sample.Edited, noted, sample.Version("10"), sample.Generation(3))}
	m.Shown(update.Work)
	if _, isHeld := m.Check(before, update); !isHeld {
		t.Error("the same is written again")
	}
	if _, isHeld := m.Check(after, update); isHeld {
		t.Error("the notes stay as they were")
	}
}

// TestLost: a write that the watch has not shown in time is returned once.
func TestLost(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1, 0))
	m := New(clock)
	source := asking("1", "m1")
	v := wanting(source)
	other := v
	other.ID = sample.Numbered(1)
	create := judge.Operation{Kind: judge.Create, Cluster: "m1"}
	wrote(m, v, create, Receipt{"10", 1})
	wrote(m, other, create, Receipt{"10", 1})
	m.Shown(observed(source, "m1", sample.Version("10")))
	expect := func(when string, want ...render.Identity) {
		t.Helper()
		if diff := cmp.Diff(want, m.unshown()); diff != "" {
			t.Errorf("%s: -want +got:\n%s", when, diff)
		}
	}
	expect("at once")
	clock.Step(AwaitCache)
	expect("in due time", sample.Numbered(1))
	expect("after it has been returned")
	wrote(m, other, create, Receipt{"10", 1})
	expect("written again")
	clock.Step(AwaitCache)
	expect("in due time again", sample.Numbered(1))
}

// TestParked: a permanently refused write is not repeated in vain.
func TestParked(t *testing.T) {
	source := asking("1", "m1")
	larger := sample.Object(sample.Annotations{render.ClustersAnnotation: "m1"})
	larger.Object["data"] = map[string]any{"key": "a longer value"}
	other := sample.Asking("1", "m1")
	other.Object["data"] = map[string]any{"key": "eulav"}
	tooLarge := judge.Refusal{Reason: judge.TooLarge, Message: "too large"}
	invalid := judge.Refusal{Reason: judge.RenderFailed, Message: "invalid"}
	create := judge.Operation{Kind: judge.Create, Cluster: "m1"}
	cases := map[string]struct {
		reason  string
		refused *judge.Source
		refusal judge.Refusal
		elapsed time.Duration
		now     *judge.Source
		held    bool
	}{
		"Refused":        {"it would be refused again", source, invalid, 0, source, true},
		"RefusedLongAgo": {"and is retried after a while", source, invalid, retryRefused, source, false},
		"Edited":         {"a change of the object ends the wait", source, invalid, 0, judge.NewSource(larger.DeepCopy(), render.Wishes{}), false},
		"Smaller":        {"smaller content may be small enough", judge.NewSource(larger.DeepCopy(), render.Wishes{}), tooLarge, 0, source, false},
		"Larger":         {"but not larger content", source, tooLarge, 0, judge.NewSource(larger.DeepCopy(), render.Wishes{}), true},
		"AsLarge":        {"or content of the same size", source, tooLarge, 0, judge.NewSource(other, render.Wishes{}), true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(time.Unix(1, 0))
			m := New(clock)
			if retry, isKnown := m.Park(wanting(tc.refused), create, tc.refusal); retry != retryRefused || !isKnown {
				t.Errorf("retried after %s, known: %v", retry, isKnown)
			}
			clock.Step(tc.elapsed)
			held, ok := m.Check(wanting(tc.now), create)
			if ok != tc.held || ok && *held.Refusal != tc.refusal {
				t.Errorf("%s: held back: %v, %+v", tc.reason, ok, held)
			}
			m.Forget(sample.Page, "m1")
			if _, ok := m.Check(wanting(tc.now), create); ok {
				t.Error("held back by a forgotten refusal")
			}
		})
	}
}

// TestParkedRights: the API server may not know our rights yet.
func TestParkedRights(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1, 0))
	m := New(clock)
	v, create := wanting(asking("1", "m1")), judge.Operation{Kind: judge.Create, Cluster: "m1"}
	refusal := judge.Refusal{Reason: judge.NotAuthorized, Message: "no"}
	var waited []time.Duration
	for i := range 12 {
		retry, isKnown := m.Park(v, create, refusal)
		waited = append(waited, retry/time.Second)
		held, ok := m.Check(v, create)
		if told := held.Refusal != nil; !ok || told != isKnown || isKnown != (i+1 >= knownRefused) {
			t.Errorf("time %d: held back %v, reported %v, known %v", i, ok, told, isKnown)
		}
		clock.Step(retry)
	}
	if diff := cmp.Diff([]time.Duration{1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300}, waited); diff != "" {
		t.Errorf("waits in seconds, -want +got:\n%s", diff)
	}
}

// TestParkedDeletion: a denied deletion is not repeated in vain.
func TestParkedDeletion(t *testing.T) {
	source := asking("1", "m1")
	deleting := func(changes ...sample.Change) judge.Operation {
		return judge.Operation{Kind: judge.Delete, Cluster: "m1", Work: observed(source, "m1", changes...)}
	}
	cases := map[string]struct {
		reason  string
		elapsed time.Duration
		now     judge.Operation
		held    bool
	}{
		"Denied":    {"it would be denied again", 0, deleting(), true},
		"LongAgo":   {"and is retried after a while", minParked, deleting(), false},
		"Changed":   {"what protected the Work may have been removed from it", 0, deleting(sample.WrittenAt(time.Unix(8, 0))), false},
		"Reported":  {"what Karmada reports on it lets nothing through", 0, deleting(sample.Version("8")), true},
		"Recreated": {"another Work", 0, deleting(func(u *unstructured.Unstructured) { u.SetUID("another") }), false},
		"Released":  {"another operation", 0, judge.Operation{Kind: judge.Release, Cluster: "m1", Work: observed(source, "m1")}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(time.Unix(1, 0))
			m, unwanted := New(clock), judge.Verdict{ID: sample.Page, Targets: map[string]judge.Target{"m1": {Decision: judge.Unwanted}}}
			m.Park(unwanted, deleting(), judge.Refusal{Reason: judge.NotAuthorized, Message: "no"})
			clock.Step(tc.elapsed)
			m.Retain(sample.Page, unwanted.Targets, false, true)
			if _, held := m.Check(unwanted, tc.now); held != tc.held {
				t.Errorf("%s: held back: %v", tc.reason, held)
			}
		})
	}
}

// TestStrangers: a Work that is missing in the cache is read again now and then.
func TestStrangers(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1, 0))
	m := New(clock)
	w := observed(asking("1", "m1"), "m1", sample.Relabelled)
	m.Meet(sample.Page, "m1", w)
	if found, ok := m.Stranger(sample.Page, "m1", w.Name); !ok || found != w || len(m.old()) > 0 {
		t.Errorf("found %v, %v", found, ok)
	}
	if found, ok := m.Stranger(sample.Page, "m1", sample.Page.LongWorkName()); ok {
		t.Errorf("found at a name where no one looked: %v", found)
	}
	long := *w
	long.Name = sample.Page.LongWorkName()
	m.Meet(sample.Page, "m1", &long)
	for _, want := range []*state.Work{w, &long} {
		if found, ok := m.Stranger(sample.Page, "m1", want.Name); !ok || found != want {
			t.Errorf("of two, found %v, %v at %q", found, ok, want.Name)
		}
	}
	clock.Step(AwaitCache)
	if _, ok := m.Stranger(sample.Page, "m1", w.Name); ok || !m.HasMet(sample.Page, "m1", w.Name) {
		t.Error("a Work that was found long ago is trusted, or forgotten")
	}
	if first, second := m.old(), m.old(); len(first) != 1 || len(second) > 0 {
		t.Errorf("to be read again: %v, and then %v", first, second)
	}
	if m.Left(&long); len(m.old()) != 1 || len(m.old()) > 0 {
		t.Error("a sync does not forget a Work that has gone, or is asked to again and again")
	}
}

// TestStrangersAreReadLess: one that is being deleted is gone soon, and one that stays is read less and less.
func TestStrangersAreReadLess(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1, 0))
	m, w := New(clock), observed(asking("1", "m1"), "m1", sample.Relabelled)
	for _, want := range []time.Duration{3 * time.Second, 6 * time.Second, 12 * time.Second, 24 * time.Second, AwaitCache, AwaitCache} {
		m.Meet(sample.Page, "m1", w)
		if clock.Step(want - 1); len(m.OldStrangers(sample.Page)) > 0 {
			t.Errorf("it is read before %s", want)
		}
		if clock.Step(1); len(m.OldStrangers(sample.Page)) != 1 {
			t.Errorf("it is not read after %s", want)
		}
	}
	other := *w
	other.UID = "another"
	m.Meet(sample.Page, "m1", &other)
	if clock.Step(3 * time.Second); len(m.OldStrangers(sample.Page)) != 1 {
		t.Error("another Work begins with the longest pause")
	}
}

// TestContest undoes each write at once, in each of the possible ways.
func TestContest(t *testing.T) {
	source := asking("1", "m1")
	v := wanting(source)
	for name, undo := range map[string]func(*Memory) judge.Operation{
		"EditedLater": func(m *Memory) judge.Operation {
			m.Shown(observed(source, "m1", sample.Version("10"), sample.Generation(3)))
			return judge.Operation{Kind: judge.Update, Work: observed(source, "m1", sample.Edited, sample.Version("11"), sample.Generation(9))}
		},
		"Edited": func(*Memory) judge.Operation {
			return judge.Operation{Kind: judge.Update, Work: observed(source, "m1", sample.Edited, sample.Version("11"), sample.Generation(9))}
		},
		"Deleted": func(m *Memory) judge.Operation {
			m.Forget(sample.Page, "m1")
			return judge.Operation{Kind: judge.Create}
		},
		"Unlabelled": func(m *Memory) judge.Operation {
			m.Forget(sample.Page, "m1")
			w := observed(source, "m1", sample.Edited)
			m.Meet(sample.Page, "m1", w)
			return judge.Operation{Kind: judge.Update, Work: w}
		},
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(time.Unix(1, 0))
			m := New(clock)
			// fight writes for as long as it may, and returns how often it did.
			fight := func(d time.Duration) (writes, notices int) {
				for end := clock.Now().Add(d); clock.Now().Before(end); {
					op := undo(m)
					op.Cluster = "m1"
					m.Holds(v, op) // a check alone reports nothing
					held, ok := m.Check(v, op)
					if held.Notice != "" {
						notices++
						m.Reported(v.ID, op.Cluster, held.Notice)
					}
					if ok {
						clock.Step(min(held.Retry, end.Sub(clock.Now())))
						continue
					}
					wrote(m, v, op, Receipt{"10", 3})
					if writes++; writes > 100 {
						t.Fatal("written as fast as it is undone")
					}
				}
				return writes, notices
			}
			if writes, notices := fight(15 * time.Second); writes != uncontested+3 || notices != 4 { // after 1, 3 and 7 s
				t.Errorf("%d writes and %d notices in the first seconds", writes, notices)
			}
			fight(15 * time.Minute)
			if writes, notices := fight(time.Hour); writes != 12 || notices != 12 {
				t.Errorf("%d writes and %d notices in an hour of a long contest", writes, notices)
			}
			clusters, _, left := m.Contested(sample.Page, v.Targets)
			clock.Step(left)
			if after, _, _ := m.Contested(sample.Page, v.Targets); !slices.Equal(clusters, []string{"m1"}) || len(after) > 0 {
				t.Errorf("contested in %q, and after %s of peace in %q", clusters, left, after)
			}
			if writes, _ := fight(minContested); writes != uncontested {
				t.Errorf("%d writes at once after some minutes of peace", writes)
			}
		})
	}
}

// TestContestAboutADeletion: a controller undoes each time what prepares a Work for its deletion, which writes the Work.
func TestContestAboutADeletion(t *testing.T) {
	clock := clocktesting.NewFakeClock(sample.Created)
	m, source := New(clock), asking("1", "m1")
	v := judge.Verdict{ID: sample.Page, Targets: map[string]judge.Target{"m1": {Decision: judge.Unwanted}}}
	for i := range uncontested + 5 {
		op := judge.Operation{Kind: judge.Delete, Cluster: "m1", Work: observed(source, "m1", sample.WrittenAt(clock.Now()))}
		if isHeld := m.Holds(v, op); isHeld != (i >= uncontested) {
			t.Fatalf("time %d: held %t", i, isHeld)
		}
		if i < uncontested {
			m.Repeat(v, op)
		}
		clock.Step(100 * time.Millisecond)
	}
}

// TestContestAfterAMove: an object goes away and comes back once, and then another writer undoes its Work.
func TestContestAfterAMove(t *testing.T) {
	source := asking("1", "m1")
	v := wanting(source)
	clock := clocktesting.NewFakeClock(time.Unix(1, 0))
	m := New(clock)
	create := judge.Operation{Kind: judge.Create, Cluster: "m1"}
	wrote(m, v, create, Receipt{"10", 3})
	wrote(m, v, judge.Operation{Kind: judge.Delete, Cluster: "m1", Work: observed(source, "m1")}, Receipt{})
	for range uncontested {
		m.Forget(sample.Page, "m1")
		wrote(m, v, create, Receipt{"10", 3})
		clock.Step(time.Second)
	}
	if undone, comeAndGo, _ := m.Contested(sample.Page, v.Targets); len(undone) != 1 {
		t.Errorf("undone %v, and said to come and go %v", undone, comeAndGo)
	}
}

// TestContestAfterAClockIsSetBack: a write waits no longer than in any contest.
func TestContestAfterAClockIsSetBack(t *testing.T) {
	clock := clocktesting.NewFakeClock(sample.Created)
	m, v, op := New(clock), wanting(asking("1", "m1")), judge.Operation{Kind: judge.Create, Cluster: "m1"}
	for range uncontested {
		m.Repeat(v, op)
	}
	clock.SetTime(sample.Created.Add(-2 * time.Hour))
	began := clock.Now()
	for held, isHeld := m.Check(v, op); isHeld && clock.Since(began) <= maxContested; held, isHeld = m.Check(v, op) {
		clock.Step(held.Retry)
	}
	if waited := clock.Since(began); waited > maxContested {
		t.Errorf("it waits for more than %s", waited)
	}
}

// TestWakes: a Work is woken once per recovery of its cluster, whatever the clocks say.
func TestWakes(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1, 0))
	m := New(clock)
	source := asking("1", "m1")
	waking := func(at int64) judge.Verdict {
		v := wanting(source)
		target := v.Targets["m1"]
		target.Wake = time.Unix(at, 0)
		v.Targets["m1"] = target
		return v
	}
	op := judge.Operation{Kind: judge.Wake, Cluster: "m1", Work: observed(source, "m1")}
	if m.Holds(waking(100), op) {
		t.Error("the first wake is held back")
	}
	wrote(m, waking(100), op, Receipt{"10", 3})
	if !m.Holds(waking(100), op) {
		t.Error("it is woken again")
	}
	if m.Holds(waking(200), op) {
		t.Error("the next recovery does not wake it")
	}
	op.Work = observed(source, "m1", func(u *unstructured.Unstructured) { u.SetUID("another") })
	if m.Holds(waking(100), op) {
		t.Error("a recreated Work is not woken")
	}
	clock.Step(wakesAge)
	if m.Prune(); m.read(sample.Page, "m1").woken != nil {
		t.Error("an old wake is remembered")
	}
}

// TestForgets: nothing is kept of what is over or no longer a target.
func TestForgets(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1, 0))
	m := New(clock)
	v, create := wanting(asking("1", "m1")), judge.Operation{Kind: judge.Create, Cluster: "m1"}
	wrote(m, v, create, Receipt{"10", 3})
	m.Park(v, create, judge.Refusal{Reason: judge.TooLarge})
	m.Meet(sample.Page, "m1", observed(asking("1", "m1"), "m1"))
	m.Retain(sample.Page, map[string]judge.Target{"m1": {}}, false, true)
	if known := m.read(sample.Page, "m1"); known.expected == nil || known.parked == nil || known.strangers == nil {
		t.Error("something about a target is dropped")
	}
	m.Retain(sample.Page, nil, false, true)
	clock.Step(peace + 1)
	m.Prune()
	if left := len(m.of) + len(m.contests.by); left > 0 {
		t.Errorf("%d things are left", left)
	}
}

// TestAlteredLikeness: what admission makes of the content of another Work is recognized as that.
func TestAlteredLikeness(t *testing.T) {
	m := New(clocktesting.NewFakeClock(time.Unix(1, 0)))
	source := asking("1", "m1,m2")
	sibling := observed(source, "m2", sample.Version("7"))
	v := wanting(source)
	op := judge.Operation{Kind: judge.Update, Cluster: "m1", From: sibling, Work: observed(source, "m1", sample.Edited)}
	wrote(m, v, op, Receipt{"10", 3})
	altered := observed(source, "m1", sample.Edited, sample.Version("10"), sample.Generation(3))
	m.Shown(altered)
	op.Work = altered
	if held, ok := m.Check(v, op); !ok || held.Notice != noticeAltered {
		t.Errorf("it is written again: %+v, %v", held, ok)
	}
}

// TestScale: a source is decoded once for each of its manifests, which are not kept.
func TestScale(t *testing.T) {
	m := New(clocktesting.NewFakeClock(sample.Created))
	paths, _ := render.ScalePathsOf(schema.GroupKind{Group: "apps", Kind: "Deployment"}, "")
	func() {
		u := sample.Asking("1", "m1")
		u.SetGroupVersionKind(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"})
		for _, replicas := range []int64{3, 5} {
			u.Object["spec"] = map[string]any{"replicas": replicas}
			manifest := judge.NewSource(u.DeepCopy(), render.Wishes{}).Template.Manifest
			for range 2 {
				if scale, err := m.Scale(manifest, paths); err != nil || scale.Replicas != replicas {
					t.Errorf("%d replicas: %+v, %v", replicas, scale, err)
				}
			}
			if m.Prune(); m.of[manifest.Source()].size.of.Value() != manifest {
				t.Error("it is forgotten")
			}
		}
	}()
	runtime.GC()
	if m.Prune(); len(m.of) > 0 {
		t.Errorf("kept: %v", m.of)
	}
}
