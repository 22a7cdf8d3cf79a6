package memory

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// noted are the Facts about a Work, and an Event about it, after all that was noted before.
func noted(m *Memory, w *state.Work, now time.Time, applied *state.Applied) judge.Facts {
	f, appliedOf := inWaves(w, now), func(*state.Work) *state.Applied { return applied }
	f.Works = map[string]*state.Work{"m1": w}
	m.AddHealth(&f, appliedOf)
	m.Advance(f, appliedOf)
	return f
}

// inWaves are the Facts about the source of a Work without that.
func inWaves(w *state.Work, now time.Time) judge.Facts {
	source := sample.Asking("1", "m1")
	sample.Annotate(source, render.WavesAnnotation, "*")
	return judge.Facts{ID: w.Source, Source: judge.NewSource(source, render.Wishes{}), Now: now}
}

// TestSteadiness: a bake lasts as long as a Work stays what it is, and well.
func TestSteadiness(t *testing.T) {
	now := sample.Created
	work := func(value string, uid types.UID, applied string) *state.Work {
		u := sample.Asking("1", "m1")
		u.Object["data"] = map[string]any{"key": value}
		w := sample.Work(u, "m1", sample.Applied(applied))
		w.SetUID(uid)
		return state.NewWork(w)
	}
	good, other := work("a", "w", "True"), work("b", "w", "True")
	m := New(clocktesting.NewFakeClock(sample.Created))
	lasts := func(w *state.Work) time.Duration {
		now = now.Add(time.Minute)
		return noted(m, w, now, nil).HealthyFor["m1"]
	}
	for _, step := range []struct {
		what string
		work *state.Work
		want time.Duration
	}{
		{"new", good, 0},
		{"the same", good, time.Minute},
		{"still", good, 2 * time.Minute},
		{"other content", other, 0},
		{"the same", other, time.Minute},
		{"another Work", work("b", "x", "True"), 0},
		{"not applied", work("b", "x", "False"), 0},
		{"applied again: it has stood still", work("b", "x", "True"), time.Minute},
		{"the same", work("b", "x", "True"), 2 * time.Minute},
	} {
		if got := lasts(step.work); got != step.want {
			t.Errorf("%s: %s, not %s", step.what, got, step.want)
		}
	}
	lasts(work("b", "x", "False"))
	for range flap / time.Minute {
		lasts(work("b", "x", "False"))
	}
	if got := lasts(work("b", "x", "True")); got != 0 {
		t.Errorf("it was not applied for long: %s", got)
	}
	if f := noted(m, work("b", "x", "False"), now, nil); len(f.HealthyFor) > 0 {
		t.Error("a Work that is not well has an entry")
	}
	lasts(good)
	m.markUnreachable("m1") // it was away, for a moment
	if got := lasts(good); got != 0 {
		t.Errorf("after a moment: %s", got)
	}
	if m.Advance(judge.Facts{ID: sample.Page}, nil); len(m.of) != 0 {
		t.Error("a source is not forgotten")
	}
}

// TestSteadinessOfAStranger: a list of Works was cut short, so that the cache lacks one that a refused create finds.
func TestSteadinessOfAStranger(t *testing.T) {
	m, w := New(clocktesting.NewFakeClock(sample.Created)), state.NewWork(sample.Work(sample.Asking("1", "m1"), "m1", sample.Applied("True")))
	noted(m, w, sample.Created, nil)
	unseen := inWaves(w, sample.Created)
	m.Meet(w.Source, "m1", w)
	m.Advance(unseen, nil) // it is to be read again
	if f := noted(m, w, sample.Created.Add(time.Minute), nil); f.HealthyFor["m1"] != time.Minute {
		t.Errorf("healthy for %s", f.HealthyFor["m1"])
	}
	m.MeetNone(w.Source, "m1", w.Name)
	m.Advance(unseen, nil)
	if f := noted(m, w, sample.Created.Add(2*time.Minute), nil); f.HealthyFor["m1"] != 0 {
		t.Errorf("after it was gone: healthy for %s", f.HealthyFor["m1"])
	}
}

// TestSteadinessWhileScaled: Pods that an autoscaler adds or removes do not begin a bake again; Pods that are
// lost, or have other content, do.
func TestSteadinessWhileScaled(t *testing.T) {
	type pods struct{ all, updated, available int64 }
	now := sample.Created
	work := func(p pods) *state.Work {
		u := sample.Asking("1", "m1")
		u.SetAPIVersion("apps/v1")
		u.SetKind("Deployment")
		w := sample.Work(u, "m1", sample.Applied("True"))
		sample.Annotate(w, render.WrittenAnnotation, "1-a-1")
		w.Object["status"].(map[string]any)["manifestStatuses"] = []any{map[string]any{"status": map[string]any{
			"replicas": p.all, "updatedReplicas": p.updated, "readyReplicas": p.available, "availableReplicas": p.available, "unavailableReplicas": p.all - p.available,
		}}}
		return state.NewWork(w)
	}
	for name, c := range map[string]struct {
		reason  string
		reports []pods
		isNew   bool
	}{
		"Up":            {"the added Pods are not ready yet", []pods{{2, 2, 2}, {5, 5, 2}, {5, 5, 4}, {5, 5, 5}}, false},
		"Down":          {"three are removed, and one is added later", []pods{{5, 5, 5}, {2, 2, 2}, {3, 3, 2}, {3, 3, 3}}, false},
		"UpTwice":       {"it is scaled again before it was ready", []pods{{2, 2, 2}, {4, 4, 3}, {8, 8, 4}, {8, 8, 8}}, false},
		"Crashed":       {"a Pod that was available is not", []pods{{2, 2, 2}, {2, 2, 1}, {2, 2, 2}}, true},
		"CrashedWhile":  {"one is lost while others are added", []pods{{3, 3, 3}, {5, 5, 2}, {5, 5, 5}}, true},
		"AddedCrash":    {"an added one is lost after it was ready", []pods{{2, 2, 2}, {3, 3, 3}, {3, 3, 2}, {3, 3, 3}}, true},
		"OtherContent":  {"the old Pod is the one that is available", []pods{{1, 1, 1}, {2, 1, 1}, {1, 1, 1}}, true},
		"OthersContent": {"a new Pod is added for each old one", []pods{{4, 4, 4}, {5, 1, 4}, {4, 4, 4}}, true},
		"FromNone":      {"there were none", []pods{{0, 0, 0}, {2, 2, 1}, {2, 2, 2}}, false},
	} {
		for how, look := range map[string]func(*Memory, *state.Work){"sync": func(*Memory, *state.Work) {}, "event": (*Memory).Saw} {
			clock, lasts := clocktesting.NewFakeClock(now), map[string]time.Duration{}
			m := New(clock)
			for _, p := range c.reports {
				w := work(p)
				now = now.Add(time.Minute)
				clock.SetTime(now)
				look(m, w)
				lasts = noted(m, w, now, nil).HealthyFor
				if _, has := lasts["m1"]; has != w.IsWell() {
					t.Errorf("%s: %s: %v is in the list: %t", name, how, p, has)
				}
			}
			want := time.Duration(len(c.reports)-1) * time.Minute
			if got := lasts["m1"]; (got != want) != c.isNew {
				t.Errorf("%s (%s): %s: the bake has lasted %s", name, c.reason, how, got)
			}
		}
	}
}

// TestUndated: a report names the generation of the source, and tells contents apart that were made
// from different ones.
func TestUndated(t *testing.T) {
	const unnoted = "unnoted"
	type content struct {
		value      string
		generation int64
		uid        types.UID
		spec       int64
	}
	work := func(c content) *state.Work {
		u := sample.Asking("1", "m1")
		u.SetAPIVersion("apps/v1")
		u.SetKind("Deployment")
		u.Object["spec"] = map[string]any{"key": c.value}
		u.SetGeneration(c.generation)
		w := sample.Work(u, "m1", sample.Applied("True"), sample.Generation(c.spec))
		w.SetUID(c.uid)
		annotations := w.GetAnnotations()
		if annotations[render.WrittenAnnotation] = "1-" + c.value + "-1"; c.value == unnoted {
			delete(annotations, render.WrittenAnnotation)
		}
		w.SetAnnotations(annotations)
		return state.NewWork(w)
	}
	m := New(clocktesting.NewFakeClock(sample.Created))
	for _, step := range []struct {
		what      string
		work      content
		isUndated bool
	}{
		{"seen for the first time, as after a restart", content{"a", 3, "w", 2}, true},
		{"the source is edited", content{"b", 4, "w", 3}, false},
		{"the same", content{"b", 4, "w", 3}, false},
		{"an override policy is edited", content{"c", 4, "w", 4}, true},
		{"the same", content{"c", 4, "w", 4}, true},
		{"it is taken back", content{"b", 4, "w", 5}, true},
		{"the source is edited", content{"d", 5, "w", 6}, false},
		{"the source is edited and taken back", content{"d", 7, "w", 7}, false},
		{"an override policy is edited", content{"e", 7, "w", 8}, true},
		{"a Work that notes nothing", content{unnoted, 8, "w", 9}, true},
		{"it notes what was written", content{"f", 9, "w", 10}, true},
		{"a new Work", content{"d", 5, "x", 1}, false},
		{"one whose spec was written twice", content{"d", 5, "y", 2}, true},
	} {
		if f := noted(m, work(step.work), sample.Created, nil); f.Ambiguous["m1"] != step.isUndated {
			t.Errorf("%s: undated %t", step.what, f.Ambiguous["m1"])
		}
	}
}

// madeOf is a Work with some content, made from a generation of a source.
func madeOf(value string, generation int64, source types.UID, spec int64) *state.Work {
	u := sample.Asking("1", "m1")
	u.SetAPIVersion("apps/v1")
	u.SetKind("Deployment")
	u.SetUID(source)
	u.Object["spec"] = map[string]any{"key": value}
	u.SetGeneration(generation)
	w := sample.Work(u, "m1", sample.Applied("True"), sample.Generation(spec))
	w.SetUID("w")
	annotations := w.GetAnnotations()
	annotations[render.WrittenAnnotation] = "1-" + value + "-1"
	w.SetAnnotations(annotations)
	return state.NewWork(w)
}

// TestSteadinessGoesBack: contents a (generation 4), b (5) and c (5, an override policy was edited) are
// written one after the other. Facts of one source are gathered by the sync and by the status worker at the
// same time: one that has read the Works before b came, and notes them after the other has noted b, takes the
// memory back to a. Then c counts as dated, and the report about b, of generation 5, as one about c.
func TestSteadinessGoesBack(t *testing.T) {
	a, b, c := madeOf("a", 4, "1", 2), madeOf("b", 5, "1", 3), madeOf("c", 5, "1", 4)
	for name, looks := range map[string][]*state.Work{"InOrder": {a, b, c}, "StaleLook": {a, b, a, c}} {
		m := New(clocktesting.NewFakeClock(sample.Created))
		var undated map[string]bool
		for _, w := range looks {
			undated = noted(m, w, sample.Created, nil).Ambiguous
		}
		if !undated["m1"] {
			t.Errorf("%s: a report about b counts as one about c", name)
		}
	}
}

// TestSteadinessRecreated: x was made from generation 2 of a source, which is recreated: y is made from
// generation 1 of the new one, and z from generation 2 after an edit. A report about x, of generation 2,
// counts as one about z.
func TestSteadinessRecreated(t *testing.T) {
	m := New(clocktesting.NewFakeClock(sample.Created))
	var undated map[string]bool
	for _, w := range []*state.Work{madeOf("w", 1, "1", 1), madeOf("x", 2, "1", 2), madeOf("y", 1, "2", 3), madeOf("z", 2, "2", 4)} {
		undated = noted(m, w, sample.Created, nil).Ambiguous
	}
	if !undated["m1"] {
		t.Error("a report about x, of the earlier object's generation 2, counts as one about z")
	}

}

// TestShown: Karmada's Event about a Work shows that it has applied the content if it is newer.
func TestShown(t *testing.T) {
	work := func(value, version string) *state.Work {
		u := sample.Asking("1", "m1")
		u.Object["data"] = map[string]any{"key": value}
		w := sample.Work(u, "m1", sample.Applied("True"), sample.Generation(2))
		w.SetResourceVersion(version)
		w.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "karmada-mirror", Time: new(metav1.NewTime(sample.Created))}})
		return state.NewWork(w)
	}
	event := func(version string, after time.Duration) *state.Applied {
		return state.NewApplied(&unstructured.Unstructured{Object: map[string]any{
			"metadata":       map[string]any{"resourceVersion": version},
			"involvedObject": map[string]any{"uid": string(work("a", "1").UID)},
			"lastTimestamp":  sample.Created.Add(after).UTC().Format(time.RFC3339),
		}})
	}
	m := New(clocktesting.NewFakeClock(sample.Created))
	for _, step := range []struct {
		what      string
		work      *state.Work
		event     *state.Applied
		isUnshown bool
	}{
		{"after a restart, without an Event", work("a", "10"), nil, true},
		{"after a restart, one as old as the write", work("a", "10"), event("9", 0), true},
		{"after a restart, a later one", work("a", "10"), event("9", time.Second), false},
		{"the Event has expired", work("a", "10"), nil, false},
		{"other content", work("b", "20"), event("11", time.Second), true},
		{"its status has changed", work("b", "25"), event("11", time.Second), true},
		{"a newer Event, by a clock that is slow", work("b", "30"), event("22", -time.Hour), false},
		{"and one that is fast, after the next content", work("d", "35"), event("22", time.Hour), true},
		{"other content, and the Event is newer", work("c", "40"), event("41", 0), false},
	} {
		if _, isUnshown := noted(m, step.work, sample.Created, step.event).Unshown["m1"]; isUnshown != step.isUnshown {
			t.Errorf("%s: unshown %t", step.what, isUnshown)
		}
	}
	// An Event is kept for an hour. What is younger when it is found must have one, however long that cannot be read.
	for age, wantUnshown := range map[time.Duration]bool{30 * time.Minute: true, 61 * time.Minute: false} {
		m := New(clocktesting.NewFakeClock(sample.Created))
		noted(m, work("a", "10"), sample.Created.Add(age), nil)
		if _, isUnshown := noted(m, work("a", "10"), sample.Created.Add(age+time.Hour), nil).Unshown["m1"]; isUnshown != wantUnshown {
			t.Errorf("found after %s: unshown %t", age, isUnshown)
		}
	}
}
