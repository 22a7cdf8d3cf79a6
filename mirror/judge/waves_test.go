package judge

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// fleet is a source in waves, and the Works of its clusters as the API server has them.
type fleet struct {
	t      *testing.T
	source *unstructured.Unstructured
	facts  Facts
	works  map[string]*unstructured.Unstructured
	// sick are the clusters where nothing becomes healthy, and at is the time.
	sick map[string]bool
	at   time.Time
	// steady is for how long what is well has been well; an hour if it is 0.
	steady time.Duration
	// writes are what was written since someone asked: operation and cluster, and the value for content.
	writes []string
}

// newFleet makes a fleet whose source asks for all clusters, with a value.
func newFleet(t *testing.T, waves string, clusters ...string) *fleet {
	f := &fleet{
		t: t, source: sample.Object(sample.Annotations{render.ClustersAnnotation: "*", render.WavesAnnotation: waves}), sick: map[string]bool{},
		works: map[string]*unstructured.Unstructured{}, at: sample.Created.Add(time.Hour),
		facts: Facts{ID: sample.Page, Clusters: joinedClusters(clusters...), Vanished: map[string]*state.Work{}, PoliciesLive: true},
	}
	f.set("a")
	return f
}

// stoppedFleet makes a fleet with the value a, whose first wave, c1, does not come through with b.
func stoppedFleet(t *testing.T, clusters ...string) *fleet {
	t.Helper()
	f := newFleet(t, "c1;*", clusters...)
	f.run()
	f.sick["c1"] = true
	f.set("b")
	f.run()
	return f
}

// TestCanaryIsRemoved: no other cluster gets the content while the Work of the canary, whose Cluster goes, is still there.
func TestCanaryIsRemoved(t *testing.T) {
	for name, state := range map[string]ClusterState{"Missing": ClusterMissing, "Terminating": ClusterTerminating} {
		t.Run(name, func(t *testing.T) {
			f := stoppedFleet(t, "c1", "p1", "p2")
			f.facts.Clusters["c1"] = ClusterFacts{State: state, Labels: f.facts.Clusters["c1"].Labels}
			f.want("the canary goes", f.run(), "")
		})
	}
}

// TestCanaryLosesItsName: Karmada takes the name of the canary's Work, which does not come through. It gets
// another Work, and the others wait for that.
func TestCanaryLosesItsName(t *testing.T) {
	f := stoppedFleet(t, "c1", "p1", "p2")
	f.want("before", f.value("p1")+f.value("p2"), "aa")
	sample.Overwritten(f.works["c1"])
	for _, op := range f.judge().Plan {
		if op.Kind.WritesContent() {
			t.Errorf("%s on %s, though the canary has not come through", op.Kind, op.Cluster)
		}
	}
}

func (f *fleet) set(value string) {
	f.source.Object["data"] = map[string]any{"key": value}
}

func (f *fleet) annotate(key, value string) {
	f.t.Helper()
	annotations := f.source.GetAnnotations()
	if annotations[key] = value; value == "" {
		delete(annotations, key)
	}
	f.source.SetAnnotations(annotations)
}

// judge returns what the daemon would make of the Works.
func (f *fleet) judge() Judgement {
	facts := f.facts
	facts.Source = NewSource(f.source.DeepCopy(), render.Wishes{})
	facts.Source.Written = f.at
	facts.Works, facts.HealthyFor, facts.Now, facts.Live = map[string]*state.Work{}, map[string]time.Duration{}, f.at, true
	facts.LeastBake = DefaultLeastBake
	for cluster, work := range f.works {
		facts.Works[cluster] = state.NewWork(work.DeepCopy())
		if facts.Works[cluster].IsWell() {
			facts.HealthyFor[cluster] = cmp.Or(f.steady, time.Hour)
		}
	}
	return On(facts)
}

// step carries out what the daemon would do now, once.
func (f *fleet) step() (wrote bool) {
	f.t.Helper()
	j := f.judge()
	for _, op := range j.Plan {
		f.write(j.Verdict, op)
		wrote = true
	}
	return wrote
}

// run does so until nothing is left to do, and members report meanwhile. It returns the writes.
func (f *fleet) run() string {
	f.t.Helper()
	for range 100 {
		wrote := f.step()
		if f.report() || wrote {
			continue
		}
		did := strings.Join(f.writes, " ")
		f.writes = nil
		return did
	}
	f.t.Fatalf("it does not end: %q", f.writes)
	return ""
}

func (f *fleet) write(v Verdict, op Operation) {
	f.t.Helper()
	var like map[string]any
	if op.From != nil {
		like = f.works[op.From.Cluster].Object
	}
	body, err := op.BodyLike(v, like)
	if err != nil {
		f.t.Fatal(err)
	}
	word := string(op.Kind) + "-" + op.Cluster
	switch op.Kind {
	case Create:
		f.works[op.Cluster] = sample.WorkOf(body, sample.Generation(1))
	case Delete:
		delete(f.works, op.Cluster)
	default:
		f.patch(op.Cluster, body)
	}
	if op.Kind.WritesContent() {
		delete(f.works[op.Cluster].Object, "status") // what it reports is about the content before
		delete(f.facts.Vanished, op.Cluster)
		word += "-" + f.value(op.Cluster)
	}
	f.writes = append(f.writes, word)
}

func (f *fleet) patch(cluster string, body []byte) {
	f.t.Helper()
	before := f.works[cluster].DeepCopy()
	encoded, err := before.MarshalJSON()
	if err != nil {
		f.t.Fatal(err)
	}
	after, err := jsonpatch.MergePatch(encoded, body)
	if err != nil {
		f.t.Fatal(err)
	}
	if err := f.works[cluster].UnmarshalJSON(after); err != nil {
		f.t.Fatal(err)
	}
	f.changed(cluster, before)
}

// changed counts a change of a Work's spec, as the API server does.
func (f *fleet) changed(cluster string, before *unstructured.Unstructured) {
	if w := f.works[cluster]; !equality.Semantic.DeepEqual(before.Object["spec"], w.Object["spec"]) {
		w.SetGeneration(w.GetGeneration() + 1)
	}
}

// report makes the members apply what they were given, unless they are sick, suspended or away.
func (f *fleet) report() (changed bool) {
	for cluster, work := range f.works {
		suspended, _, _ := unstructured.NestedBool(work.Object, "spec", "suspendDispatching")
		if work.Object["status"] == nil && !f.sick[cluster] && !suspended && !f.facts.Clusters[cluster].Away {
			sample.Applied("True")(work)
			changed = true
		}
	}
	return changed
}

func (f *fleet) value(cluster string) string {
	manifest, err := render.ManifestOf(f.works[cluster].Object)
	if err != nil {
		f.t.Fatal(err)
	}
	value, _, _ := unstructured.NestedString(manifest, "data", "key")
	return value
}

// edit changes the value in a Work by hand, and alter does so by a webhook when it is written.
func (f *fleet) edit(cluster, value string) {
	before := f.works[cluster].DeepCopy()
	f.alter(cluster, value)
	f.changed(cluster, before)
}

func (f *fleet) alter(cluster, value string) {
	manifest, err := render.ManifestOf(f.works[cluster].Object)
	if err != nil {
		f.t.Fatal(err)
	}
	manifest["data"] = map[string]any{"key": value}
}

// remove deletes a Work by hand.
func (f *fleet) remove(cluster string) {
	f.facts.Vanished[cluster] = state.NewWork(f.works[cluster].DeepCopy())
	delete(f.works, cluster)
}

func (f *fleet) want(what, got, want string) {
	f.t.Helper()
	if got != want {
		f.t.Errorf("%s: %q, not %q", what, got, want)
	}
}

// away makes a cluster ready, or not.
func (f *fleet) away(cluster string, isAway bool) {
	facts := f.facts.Clusters[cluster]
	facts.Away = isAway
	f.facts.Clusters[cluster] = facts
}

// cameBack makes a cluster ready, some time after the fleet's.
func (f *fleet) cameBack(cluster string, after time.Duration) {
	facts := f.facts.Clusters[cluster]
	facts.Recovery.At = f.at.Add(after)
	f.facts.Clusters[cluster] = facts
}

func (f *fleet) why(cluster string) string { return f.judge().Verdict.Targets[cluster].Because }

func (f *fleet) reasons() string {
	var all []string
	for _, r := range f.judge().Verdict.Notices {
		all = append(all, string(r.Reason))
	}
	return strings.Join(all, " ")
}

func TestWavesInOrder(t *testing.T) {
	f := newFleet(t, "c*; p*(2)", "c1", "c2", "p1", "p2", "p3", "x")
	f.want("the first creation", f.run(), "create-c1-a create-c2-a create-p1-a create-p2-a create-p3-a create-x-a")
	f.set("b")
	f.step()
	f.want("a change", strings.Join(f.writes, " "), "update-c1-b update-c2-b")
	f.want("why p1 waits", f.why("p1"), "it is in wave 2, and wave 1 (c*) waits: c1 has not been applied, c2 has not been applied")
	if f.step() {
		t.Errorf("it goes on: %q", f.writes)
	}
	f.report()
	f.step()
	f.want("two at once", strings.Join(f.writes[2:], " "), "update-p1-b update-p2-b")
	f.want("why p3 waits", f.why("p3"), "wave 2 (p*(2)) goes on once fewer of its clusters are under way or away")
	f.want("the rest", f.run(), "update-c1-b update-c2-b update-p1-b update-p2-b update-p3-b update-x-b")
	f.want("nothing more", f.run(), "")
	if r := f.judge().Verdict.Rollout; r.Current() != nil || len(r.Waves) != 3 || r.Waves[1].Done != 3 {
		t.Errorf("%+v", r)
	}
}

func TestWavesHold(t *testing.T) {
	f := newFleet(t, "c1;*", "c1", "p1", "p2")
	f.run()
	f.sick["c1"] = true
	f.set("b")
	f.want("a bad change", f.run(), "update-c1-b")
	f.want("what is noticed", f.reasons(), "")
	f.at = f.at.Add(time.Minute)
	f.facts.Clusters["p3"] = ClusterFacts{State: ClusterJoined}
	f.want("a cluster that joins", f.run(), "")
	f.sick["c1"] = false
	f.set("a")
	f.want("the revert", f.run(), "update-c1-a create-p3-a")
	f.sick["c1"] = true
	f.set("c")
	f.run()
	f.annotate(render.WavesAnnotation, "")
	f.want("without waves", f.run(), "update-p1-c update-p2-c update-p3-c")
}

func TestWavesAreOverdue(t *testing.T) {
	f := stoppedFleet(t, "c1", "p1")
	j := f.judge()
	if in := j.Verdict.Rollout.recheckAfter(j.Facts); in != 10*time.Minute {
		t.Errorf("it is looked at again in %s", in)
	}
	j.Facts.Now = j.Facts.Now.Add(10*time.Minute + time.Second)
	j = On(j.Facts)
	if len(j.Verdict.Notices) != 1 || j.Verdict.Notices[0].Reason != WaveHeld || j.Verdict.Rollout.recheckAfter(j.Facts) != 0 ||
		j.Verdict.Notices[0].Message != "wave 1 (c1) waits: c1 has not been applied; no progress for 10m0s; it holds 1 of 2 clusters" {
		t.Errorf("%+v, %s", j.Verdict.Notices, j.Verdict.Rollout.recheckAfter(j.Facts))
	}
}

// TestWaveHeldInTime: a wave that is being written is not held, however long the one before took. If it cannot
// be written, it is, once the deadline has passed since its turn came.
func TestWaveHeldInTime(t *testing.T) {
	hour := func(steady time.Duration, change func(*fleet)) (held string) {
		f := stoppedFleet(t, "c1", "p1")
		f.sick["c1"] = false
		f.report()
		change(f)
		j := f.judge()
		j.Facts.Now, j.Facts.HealthyFor["c1"] = f.at.Add(time.Hour), steady
		j.Facts.StoppedSince = f.at
		for _, n := range On(j.Facts).Verdict.Notices {
			held = n.Message
		}
		return held
	}
	none, underWay := func(*fleet) {}, func(f *fleet) {
		f.facts.Clusters["p1"] = ClusterFacts{State: ClusterJoined, WriteUnderWay: true}
	}
	for name, c := range map[string]struct {
		steady time.Duration
		change func(*fleet)
		isHeld bool
	}{
		"ItsTurnHasCome":  {DefaultLeastBake, none, false},
		"IsBeingWritten":  {time.Minute, underWay, false},
		"IsNeverWritten":  {11 * time.Minute, none, true},
		"HasNotArrived":   {11 * time.Minute, underWay, true},
		"WasAway":         {30 * time.Minute, func(f *fleet) { f.cameBack("p1", time.Hour) }, false},
		"WasAwayForLong":  {50 * time.Minute, func(f *fleet) { f.cameBack("p1", 40*time.Minute) }, true},
		"IsAway":          {30 * time.Minute, func(f *fleet) { f.away("p1", true) }, true},
		"CanaryIsNotWell": {0, func(f *fleet) { sample.Applied("False")(f.works["c1"]) }, true},
	} {
		if held := hour(c.steady, c.change); (held != "") != c.isHeld {
			t.Errorf("%s: %q", name, held)
		}
	}
	f := newFleet(t, "c1;*", "c1", "p1")
	f.run()
	f.away("p1", true)
	j := f.judge()
	j.Facts.StoppedSince, j.Facts.Now = f.at, f.at.Add(time.Hour)
	if j = On(j.Facts); len(j.Verdict.Notices) > 0 {
		t.Errorf("a rollout is complete, and then a cluster goes away: %+v", j.Verdict.Notices)
	}
}

// TestWaveHeldReports: the notice says what Karmada reports, and stays the same one when that changes.
func TestWaveHeldReports(t *testing.T) {
	f := stoppedFleet(t, "c1", "p1")
	notice := func() Refusal {
		j := f.judge()
		j.Facts.Now = j.Facts.Now.Add(time.Hour)
		if j = On(j.Facts); len(j.Verdict.Notices) != 1 {
			t.Fatalf("%+v", j.Verdict.Notices)
		}
		return j.Verdict.Notices[0]
	}
	silent := notice()
	sample.Applied("False")(f.works["c1"])
	told := notice()
	f.want("the notice", told.Message, "wave 1 (c1) waits: c1 has not been applied (Karmada reports: x); no progress for 10m0s; it holds 1 of 2 clusters")
	f.want("why c1 waits", f.judge().Verdict.Rollout.noteOn("c1"), "it is in wave 1 of 2: 0 of 1 clusters are done, and it has not been applied (Karmada reports: x)")
	f.want("why p1 waits", f.why("p1"), "it is in wave 2, and wave 1 (c1) waits: c1 has not been applied")
	if !told.Is(silent) || !silent.Is(told) {
		t.Error("what Karmada reports makes another notice")
	}
	other := told
	if other.Key = "wave 2"; told.Is(other) || told.Is(Refusal{Reason: WaveHeld, Message: told.Message}) {
		t.Error("another wave makes no other notice")
	}
}

func TestWavesBake(t *testing.T) {
	f := newFleet(t, "c1;*", "c1", "p1")
	f.step()
	f.report()
	for _, c := range []struct {
		bake         string
		steady, left time.Duration
	}{
		{"", 9 * time.Second, time.Second}, // a ConfigMap has no health
		{"30s", 29 * time.Second, time.Second},
		{"30s", 10 * time.Second, 20 * time.Second},
	} {
		f.annotate(render.WaveBakeAnnotation, c.bake)
		j := f.judge()
		j.Facts.HealthyFor["c1"] = c.steady
		if j = On(j.Facts); len(j.Plan) > 0 || j.Verdict.Rollout.recheckAfter(j.Facts) != c.left {
			t.Errorf("bake %q after %s: %v, next look in %s", c.bake, c.steady, j.Plan, j.Verdict.Rollout.recheckAfter(j.Facts))
		}
		j.Facts.HealthyFor["c1"] = c.steady + c.left
		if j = On(j.Facts); len(j.Plan) != 1 {
			t.Errorf("bake %q after all of it: %v", c.bake, j.Plan)
		}
		delete(j.Facts.HealthyFor, "c1")
		if j = On(j.Facts); len(j.Plan) > 0 {
			t.Errorf("bake %q of a Work that is not well: %v", c.bake, j.Plan)
		}
	}
}

// TestWavesUndated: a report that may be about the content before counts as none.
func TestWavesUndated(t *testing.T) {
	source := sample.Asking("1", "m1")
	source.SetAPIVersion("apps/v1")
	source.SetKind("Deployment")
	source.SetGeneration(5)
	work := sample.Work(source, "m1", sample.Applied("True"))
	work.Object["status"].(map[string]any)["manifestStatuses"] = []any{map[string]any{"health": "Healthy", "status": map[string]any{"resourceTemplateGeneration": int64(5)}}}
	work.SetManagedFields([]metav1.ManagedFieldsEntry{
		{Manager: "karmada-mirror", Time: new(metav1.NewTime(sample.Created))}, {Manager: "karmada", Subresource: "status", Time: new(metav1.NewTime(sample.Created.Add(time.Second)))},
	})
	w := state.NewWork(work)
	for _, c := range []struct {
		isUndated bool
		steady    time.Duration
		want      stage
	}{
		{false, 0, through}, {true, 0, underWay}, {true, DefaultLeastBake - 1, underWay}, {true, DefaultLeastBake, through},
	} {
		f := Facts{Source: &Source{}, LeastBake: DefaultLeastBake, HealthyFor: map[string]time.Duration{"m1": c.steady}, Ambiguous: map[string]bool{"m1": c.isUndated}}
		if got, because, _ := f.judgeWork(w); got != c.want {
			t.Errorf("undated %t, after %s: %d %s, not %d", c.isUndated, c.steady, got, because, c.want)
		}
	}
}

func TestWavesPassOver(t *testing.T) {
	f := newFleet(t, "c*;*", "c1", "c2", "p1")
	f.run()
	f.away("c1", true)
	f.set("b")
	f.want("one of the wave is away", f.run(), "update-c2-b update-p1-b")
	f.away("c1", false)
	f.want("it comes back", f.run(), "update-c1-b")
	f.away("c1", true)
	f.away("c2", true)
	f.set("c")
	f.want("all of the wave are away", f.run(), "")
	f.away("c2", false)
	f.want("one of them comes back", f.run(), "update-c2-c update-p1-c")
	f.annotate(render.SuspendAnnotation, "c*")
	f.away("c1", false)
	f.want("the suspension comes at once, without the content", f.run(), "adjust-c1 update-c2-c")
	f.set("d")
	f.want("a suspended wave holds up nothing, and gets nothing", f.run(), "update-p1-d")
	f.want("why", f.why("c1"), "skipped by wave 1 until it is no longer suspended")
	f.annotate(render.SuspendAnnotation, "")
	f.want("the end of the suspension", f.run(), "update-c1-d update-c2-d")
	f.annotate(render.ClustersAnnotation, "*,gone,!c2")
	f.set("e")
	f.want("one is missing, and one leaves", f.run(), "update-c1-e delete-c2 update-p1-e")
	f.facts.Clusters["c1"] = ClusterFacts{State: ClusterJoined, Forbidden: true}
	f.set("f")
	f.want("one is not allowed", f.run(), "update-p1-f")
}

// TestWavesTakenLate: more clusters than the limit went away after they got the content, however long after, while another
// still has older content. One that has none joined, or was asked for, since then.
func TestWavesTakenLate(t *testing.T) {
	f := newFleet(t, "*(1)", "c1", "c2", "c3")
	f.run()
	f.set("b")
	for _, cluster := range []string{"c1", "c2"} {
		f.step()
		facts := f.facts.Clusters[cluster]
		facts.Away, facts.AwaySince = true, state.NewWork(f.works[cluster]).Written().Add(24*time.Hour)
		f.facts.Clusters[cluster] = facts
	}
	f.want("two are away with the content", f.run(), "update-c1-b update-c2-b")
	delete(f.works, "c3")
	f.want("one joins", f.run(), "create-c3-b")
}

// TestWavesAreBusy: what has not come through with the content before keeps its place, and gets the new content first; one at
// a time, if it is not known any more what has come through.
func TestWavesAreBusy(t *testing.T) {
	f := newFleet(t, "*(1)", "c1", "c2", "c3")
	f.run()
	f.sick["c3"] = true
	f.set("b")
	f.run()
	f.set("c")
	f.want("while c3 is busy", f.run(), "update-c3-c")
	f.sick["c3"] = false
	f.run()
	f.sick["c1"] = true
	f.set("d")
	j := f.judge()
	j.Facts.HealthyFor = nil // by a new process
	writes := 0
	for _, op := range On(j.Facts).Plan {
		if op.Kind.WritesContent() {
			writes++
		}
	}
	if writes != 1 {
		t.Errorf("after a restart, %d are written at once", writes)
	}
}

// TestWavesKeepTheirPlace: in a wave with a limit, what has the content and has not come through with it keeps its place,
// whatever another user does to its Work, and though its cluster is away.
func TestWavesKeepTheirPlace(t *testing.T) {
	suspend := func(f *fleet, cluster string) {
		before := f.works[cluster].DeepCopy()
		if err := unstructured.SetNestedField(f.works[cluster].Object, true, "spec", "suspendDispatching"); err != nil {
			t.Fatal(err)
		}
		f.changed(cluster, before)
	}
	edit := func(f *fleet, cluster string) { f.edit(cluster, "by hand") }
	terminate := func(f *fleet, cluster string) { // of what admission has altered
		f.alter(cluster, "by admission")
		work := f.works[cluster]
		work.SetGeneration(work.GetGeneration() + 1)
		sample.Terminating(work)
	}
	for name, tc := range map[string]struct {
		change func(f *fleet, cluster string)
		want   string
	}{
		"Edited":     {edit, "update-c2-b"},
		"Suspended":  {suspend, "update-c2-b"},
		"Terminates": {terminate, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, "*(1)", "c1", "c2")
			f.t = t
			f.run()
			f.away("c1", true)
			f.sick["c2"] = true
			f.set("b")
			f.run()
			f.away("c1", false)
			tc.change(f, "c2")
			f.want("c1 has come back", f.run(), tc.want)
			f.want("c1 has", f.value("c1"), "a")
		})
		t.Run(name+"Away", func(t *testing.T) {
			f := newFleet(t, "*(1)", "c1", "c2", "c3")
			f.t = t
			f.run()
			f.set("b")
			for _, cluster := range []string{"c1", "c2"} {
				f.step()
				f.away(cluster, true)
			}
			tc.change(f, "c1")
			f.run()
			f.want("c3 has", f.value("c3"), "a")
		})
	}
}

// TestWavesAwaitLabels: a cluster without a Work that was asked for until a moment ago holds up its wave for some time.
func TestWavesAwaitLabels(t *testing.T) {
	f := newFleet(t, "c1;*", "c1", "p1")
	f.annotate(render.ClustersAnnotation, "")
	f.annotate(render.ClusterSelectorAnnotation, "tier=edge")
	edge, core := map[string]string{"tier": "edge"}, map[string]string{"tier": "core"}
	f.facts.Clusters["p1"] = ClusterFacts{State: ClusterJoined, Labels: edge}
	f.facts.Clusters["c1"] = ClusterFacts{State: ClusterJoined, Labels: core, Had: []HadLabels{{core, time.Minute}, {edge, time.Second}}}
	f.want("its label is wrong", f.run(), "")
	if next := f.judge().Verdict.RecheckAfter; next != time.Second {
		t.Errorf("it is looked at again in %s", next)
	}
	f.facts.Clusters["c1"] = ClusterFacts{State: ClusterJoined, Labels: core, Had: []HadLabels{{core, time.Second}}}
	f.want("it was not asked for before, either", f.run(), "create-p1-a")
}

// TestWavesReadTheAway: what is passed over because it is away is read first.
func TestWavesReadTheAway(t *testing.T) {
	f := newFleet(t, "c1,c2;*", "c1", "c2", "p1")
	f.run()
	f.away("c2", true)
	f.set("b")
	f.step()
	f.report()
	if on := f.judge().Verdict.Rollout.RestsOn; !slices.Equal(on, []string{"c1", "c2"}) {
		t.Errorf("it rests on %q", on)
	}
	f.writes, f.facts.Changed = nil, map[string]bool{"c2": true}
	f.want("it is ready, by a live read", f.run(), "")
}

// TestWavesRestOn: what is written rests on the Works that have come through, of very many only on those that have lately.
// One that has changed since has not.
func TestWavesRestOn(t *testing.T) {
	for before, steady := range map[int]time.Duration{1: time.Hour, maxReads: time.Hour, maxReads + 1: time.Minute} {
		clusters := []string{"p"}
		for i := range before {
			clusters = append(clusters, fmt.Sprintf("c%03d", i))
		}
		f := newFleet(t, "c*;*", clusters...)
		f.run()
		f.set("b")
		f.step()
		f.report()
		f.steady = steady
		if got := len(f.judge().Verdict.Rollout.RestsOn); got != before {
			t.Errorf("it rests on %d Works, not %d", got, before)
		}
		if f.steady = time.Hour; before > maxReads && len(f.judge().Verdict.Rollout.RestsOn) != 0 {
			t.Error("it rests on very many")
		}
		f.writes, f.facts.Changed = nil, map[string]bool{"c000": true}
		f.want("c000 has changed", f.run(), "")
		f.facts.Changed["p"] = true
		f.want("p has changed, too", f.run(), "")
	}
}

// TestWavesAdjust: what takes effect at once does not wait, and brings no content.
func TestWavesAdjust(t *testing.T) {
	f := stoppedFleet(t, "c1", "p1")
	f.annotate(render.SuspendAnnotation, "true")
	f.annotate(render.PreserveOnDeletionAnnotation, "true")
	f.want("options", f.run(), "update-c1-b adjust-p1")
	f.want("the content that waits", f.value("p1"), "a")
	f.annotate(render.SuspendAnnotation, "")
	f.want("what may never have reached the member is not resumed", f.run(), "update-c1-b")
}

func TestWavesAdjustOnly(t *testing.T) {
	f := stoppedFleet(t, "c1", "p1")
	f.annotate(render.PreserveOnDeletionAnnotation, "true")
	f.want("an option", f.run(), "update-c1-b adjust-p1")
	f.want("the content that waits", f.value("p1"), "a")
	if w := state.NewWork(f.works["p1"]); !w.Preserves() || !w.IsAsWritten() {
		t.Errorf("%+v", w)
	}
	sample.Misfiled(f.works["p1"])
	f.want("a label", f.run(), "adjust-p1")
	sample.Marked(f.works["p1"])
	f.want("a mark of the breaker", f.run(), "adjust-p1")
	f.want("nothing more", f.run(), "")
}

// TestWavesRepair: what a user edits or deletes gets back what it had.
func TestWavesRepair(t *testing.T) {
	f := newFleet(t, "c1;*", "c1", "p1", "p2", "p3")
	f.run()
	f.edit("p1", "by hand")
	f.want("an edit while nothing changes", f.run(), "update-p1-a")
	f.sick["c1"] = true
	f.set("b")
	f.run()
	f.edit("p1", "by hand")
	f.want("an edit", f.run(), "update-p1-a")
	f.remove("p2")
	f.want("a deletion", f.run(), "create-p2-a")
	f.edit("c1", "by hand")
	f.want("an edit of what has come", f.run(), "update-c1-b")
	f.remove("c1")
	f.want("its deletion", f.run(), "create-c1-b")
	f.remove("p1")
	f.remove("p2")
	f.want("two deletions", f.run(), "create-p1-a create-p2-a")
	f.edit("p3", "b")
	f.want("an edit to what will come", f.run(), "update-p3-b") // it notes what it has
}

func TestWavesSkip(t *testing.T) {
	f := stoppedFleet(t, "c1", "p1")
	f.remove("p1")
	f.want("what is noticed", f.reasons(), string(WaveSkipped))
	f.want("a deletion, and no other has the content", f.run(), "create-p1-b")
	f.want("what is noticed then", f.reasons(), "")
}

// TestWavesOfOthers: a wave waits for a cluster that cannot be written, and for what the cache does not
// show yet.
func TestWavesOfOthers(t *testing.T) {
	f := newFleet(t, "c1;*", "c1", "p1")
	f.run()
	f.set("b")
	sample.Quota(f.works["c1"])
	f.want("another owner has the Work", f.run(), "")
	if why := f.why("p1"); !strings.HasPrefix(why, "it is in wave 2, and wave 1 (c1) waits: c1 cannot be written: Work karmada-es-c1/") {
		t.Errorf("p1 waits because %s", why)
	}
}

// TestWavesAwaitTheirWrites: the Work of the first wave is as it was before the last write, by the cache.
func TestWavesAwaitTheirWrites(t *testing.T) {
	f := newFleet(t, "c1;*", "c1", "p1")
	f.run()
	f.set("b")
	f.step()
	f.report()
	facts := f.facts.Clusters["c1"]
	facts.WriteUnderWay = true
	f.facts.Clusters["c1"] = facts
	if f.step() {
		t.Errorf("%q", f.writes)
	}
}

// TestWavesOfSuspended: a suspended cluster gets no content beside others that do.
func TestWavesOfSuspended(t *testing.T) {
	f := newFleet(t, "c1;*", "c1", "p1", "p2", "p3")
	f.run()
	f.annotate(render.SuspendAnnotation, "p2")
	f.set("b")
	f.want("a change", f.run(), "update-c1-b adjust-p2 update-p1-b update-p3-b")
	f.sick["c1"] = true
	f.annotate(render.SuspendAnnotation, "p1,p2,p3")
	f.set("c")
	f.run()
	f.annotate(render.SuspendAnnotation, "p1,p2")
	f.run()
	f.edit("p3", "by hand")
	f.want("a suspended one lends its content, and not its options", f.run(), "update-p3-b")
}

// TestWavesAreNoted: the note costs no write of its own.
func TestWavesAreNoted(t *testing.T) {
	f := newFleet(t, "c1;*", "c1", "p1", "p2", "p3")
	f.annotate(render.WavesAnnotation, "")
	f.run()
	f.annotate(render.WavesAnnotation, "c1;*")
	f.want("waves are added", f.run(), "")
	f.sick["c1"] = true
	f.set("b")
	f.want("a change", f.run(), "update-c1-b")
	f.remove("p2")
	f.want("a deletion of a Work that notes nothing", f.run(), "create-p2-a")
	f.edit("p1", "by hand")
	f.want("an edit of a Work that notes nothing", f.run(), "")
	f.remove("p1")
	f.want("a deletion of it", f.run(), "create-p1-b")
}

// TestWavesOfReplicas: a cluster gets fewer replicas although those that get more wait for it.
func TestWavesOfReplicas(t *testing.T) {
	asks := sample.Annotations{render.ClustersAnnotation: "c1,p1", render.ReplicasAnnotation: "c1=5"}
	f := dividedFacts(t, 6, asks, joinedClusters("c1", "p1"))
	if did := carryOut(t, f); !slices.Equal(did, []string{"create c1 5", "create p1 1"}) {
		t.Errorf("%q", did)
	}
	asks[render.ReplicasAnnotation], asks[render.WavesAnnotation] = "p1=5", "c1;*"
	after := dividedFacts(t, 6, asks, f.Clusters)
	after.Works = f.Works
	if did := carryOut(t, after); !slices.Equal(did, []string{"update c1 1"}) {
		t.Errorf("%q", did)
	}
	if got := unplacedIn(Decide(after)); got != "" {
		t.Errorf("unplaced: %s", got)
	}
}

// TestWavesAtRandom plays users and members, and looks at each write.
func TestWavesAtRandom(t *testing.T) {
	clusters := []string{"a1", "a2", "b1", "b2", "b3", "c1"}
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 22))
		f := newFleet(t, "a*;b*(2);*", clusters...)
		f.run()
		for range 60 {
			cluster := clusters[r.IntN(len(clusters))]
			switch r.IntN(8) {
			case 0, 1:
				f.set(string(rune('a' + r.IntN(4))))
			case 2:
				f.sick[cluster] = !f.sick[cluster]
			case 3:
				f.away(cluster, r.IntN(2) == 0)
			case 4:
				f.report()
			case 5:
				if f.works[cluster] != nil && r.IntN(3) == 0 {
					f.remove(cluster)
				}
			case 6:
				facts := f.facts.Clusters[cluster]
				if facts.State = ClusterJoined; r.IntN(4) == 0 {
					facts.State = ClusterMissing
				}
				f.facts.Clusters[cluster] = facts
			default:
				before := maps.Clone(f.works)
				written := len(f.writes)
				f.step()
				f.checkOrder(seed, before, f.writes[written:])
			}
		}
		f.sick = map[string]bool{}
		for _, cluster := range clusters {
			f.facts.Clusters[cluster] = ClusterFacts{State: ClusterJoined}
		}
		f.run()
		for _, cluster := range clusters {
			f.want(fmt.Sprintf("the end of game %d on %s", seed, cluster), f.value(cluster), f.source.Object["data"].(map[string]any)["key"].(string))
		}
		if t.Failed() {
			return
		}
	}
}

// checkOrder checks that no write of new content has gone ahead of its wave, by what the Works were
// before: content that none of the writes repaired.
func (f *fleet) checkOrder(seed uint64, before map[string]*unstructured.Unstructured, writes []string) {
	f.t.Helper()
	value := f.source.Object["data"].(map[string]any)["key"].(string)
	isDone := func(cluster string) bool {
		g := &fleet{t: f.t, works: before}
		return before[cluster] != nil && before[cluster].Object["status"] != nil && g.value(cluster) == value
	}
	for _, write := range writes {
		parts := strings.Split(write, "-")
		cluster := parts[1]
		if (parts[0] != "create" && parts[0] != "update") || parts[2] != value || before[cluster] == nil || f.facts.Vanished[cluster] != nil {
			continue
		}
		var ahead, ready []string
		for _, other := range slices.Sorted(maps.Keys(f.facts.Clusters)) {
			facts := f.facts.Clusters[other]
			if other[0] >= cluster[0] || facts.State != ClusterJoined {
				continue
			}
			if !facts.Away {
				ready = append(ready, other)
			}
			if !isDone(other) && !facts.Away {
				ahead = append(ahead, other)
			}
		}
		if len(ahead) > 0 {
			f.t.Errorf("game %d: %s before %v of %v", seed, write, ahead, ready)
		}
	}
}

// TestWavesUnshown: while others wait, a Work that Karmada has not been seen to apply does not come through. It is
// woken after a while, which is no progress; not if the Events could not be seen either.
func TestWavesUnshown(t *testing.T) {
	f := newFleet(t, "c1;*", "c1", "p1")
	f.run()
	f.set("b")
	f.write(f.judge().Verdict, f.judge().Plan[0])
	f.report()
	f.at = f.at.Add(time.Hour)
	judge := func(unshown map[string]time.Duration, because string) Verdict {
		f.facts.Unshown, f.facts.UnshownBecause = unshown, because
		return f.judge().Verdict
	}
	if v := judge(nil, ""); v.Targets["p1"].Decision != Wanted || v.Rollout.AwaitsApplied {
		t.Errorf("it was seen: %+v", v.Targets["p1"])
	}
	for name, c := range map[string]struct {
		seen    time.Duration
		because string
		wake    bool
		in      time.Duration
	}{
		"Soon":      {10 * time.Second, "", true, 20 * time.Second},
		"Late":      {time.Minute, "", true, 0},
		"Forbidden": {time.Minute, "no right", false, 0},
	} {
		v := judge(map[string]time.Duration{"c1": c.seen}, c.because)
		canary := v.Targets["c1"]
		if v.Targets["p1"].Decision != Unknown || !v.Rollout.AwaitsApplied || !canary.Wake.IsZero() != c.wake || canary.wakeIn != c.in {
			t.Errorf("%s: %s, %+v", name, v.Targets["p1"].Because, canary)
		}
		if !v.Rollout.Since.Equal(f.at) { // when the source was written
			t.Errorf("%s: progress at %s", name, v.Rollout.Since)
		}
	}
	f.away("p1", true)
	if v := judge(map[string]time.Duration{"c1": time.Minute}, ""); v.Rollout.AwaitsApplied || !v.Targets["c1"].Wake.IsZero() {
		t.Error("only a cluster waits that is away, and the canary is woken")
	}
}
