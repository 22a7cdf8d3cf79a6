package judge

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// later judges the fleet some time after the last change, with these times of steadiness.
func (f *fleet) later(after time.Duration, steady map[string]time.Duration) Judgement {
	j := f.judge()
	j.Facts.Now = j.Facts.Now.Add(after)
	if steady != nil {
		j.Facts.HealthyFor = steady
	}
	return On(j.Facts)
}

func reasonsOf(j Judgement) string {
	var all []string
	for _, r := range j.Verdict.Notices {
		all = append(all, string(r.Reason)+": "+r.Message)
	}
	return strings.Join(all, "; ")
}

// TestWavesAwayTakesRoom: a cluster that goes away while it is under way takes no room.
func TestWavesAwayTakesRoom(t *testing.T) {
	f := newFleet(t, "*(1)", "c1", "c2", "c3")
	f.run()
	f.sick["c1"] = true
	f.set("b")
	f.want("the first", f.run(), "update-c1-b")
	f.away("c1", true)
	f.want("the others, once the first is not ready", f.run(), "update-c2-b update-c3-b")
}

// TestWavesOverdueAfterRestart: a restart reports nothing, though all bakes begin again.
func TestWavesOverdueAfterRestart(t *testing.T) {
	f := newFleet(t, "c1;*", "c1", "p1")
	f.run()
	f.want("notices after a restart, one hour after all is done", reasonsOf(f.later(time.Hour, map[string]time.Duration{"c1": 0, "p1": 0})), "")
}

// TestWavesOverdueLongAfter: a member that stumbles long after all was done is no wave without progress.
func TestWavesOverdueLongAfter(t *testing.T) {
	f := newFleet(t, "c1;*", "c1", "p1")
	f.run()
	sample.Applied("False")(f.works["p1"])
	f.want("notices when the last wave stumbles", reasonsOf(f.later(1000*time.Hour, nil)), "")
	sample.Applied("True")(f.works["p1"])
	f.away("c1", true)
	f.want("notices when the first wave is away", reasonsOf(f.later(1000*time.Hour, nil)), "")
}

// TestWavesOverdueAtOnce: a change that does not come from the source has the whole deadline.
func TestWavesOverdueAtOnce(t *testing.T) {
	f := newFleet(t, "c1;*", "c1", "p1")
	f.annotate(render.ExpandAnnotation, "true")
	f.set("$(cluster.label:tier:-none)")
	f.run()
	for _, cluster := range []string{"c1", "p1"} {
		facts := f.facts.Clusters[cluster]
		u := sample.Cluster(cluster, "gold")
		facts.Member = state.NewCluster(u).Member
		f.facts.Clusters[cluster] = facts
	}
	j := f.later(time.Hour, nil)
	j.Facts.StoppedSince = j.Facts.Now // as the daemon, which has seen the waves through
	j = On(j.Facts)
	if len(j.Plan) != 1 {
		t.Fatalf("%v", j.Plan)
	}
	f.want("notices when the change begins", reasonsOf(j), "")
}

// TestWavesUnlabelled: a Work that waits gets back the label by which it is found.
func TestWavesUnlabelled(t *testing.T) {
	f := stoppedFleet(t, "c1", "p1")
	labels := f.works["p1"].GetLabels()
	delete(labels, render.ManagedByLabel)
	f.works["p1"].SetLabels(labels)
	f.want("the repair of the label", f.run(), "adjust-p1")
}

// TestWavesRecreated: what was deleted with an earlier source does not speak for the new one.
func TestWavesRecreated(t *testing.T) {
	f := newFleet(t, "c1;p*;*", "c1", "p1", "p2", "x1")
	f.run()
	for _, cluster := range []string{"c1", "p1", "p2", "x1"} {
		f.remove(cluster)
	}
	f.source.SetUID(types.UID("recreated"))
	f.set("b")
	f.step()
	f.want("the first writes for the new source", strings.Join(f.writes, " "), "create-c1-b")
}

// TestWavesSiblingUnderWay: a Work with the content is waited for while it is being written.
func TestWavesSiblingUnderWay(t *testing.T) {
	f := stoppedFleet(t, "c1", "p1", "p2")
	f.remove("p1")
	facts := f.facts.Clusters["p2"]
	facts.WriteUnderWay = true
	f.facts.Clusters["p2"] = facts
	f.step()
	f.want("while the write is under way", strings.Join(f.writes, " "), "")
	facts.WriteUnderWay = false
	f.facts.Clusters["p2"] = facts
	f.want("then", f.run(), "create-p1-a")
}

// TestWavesSiblingToBeAdjusted: content is lent whatever the options of the lender.
func TestWavesSiblingToBeAdjusted(t *testing.T) {
	f := stoppedFleet(t, "c1", "p1", "p2")
	f.remove("p1")
	f.annotate(render.PreserveOnDeletionAnnotation, "true")
	f.run()
	f.want("the content", f.value("p1"), "a")
}

// TestWavesSuspendedAhead: a suspended Work is repaired with what it had.
func TestWavesSuspendedAhead(t *testing.T) {
	f := newFleet(t, "c1;*", "c1", "p1", "p2")
	f.run()
	f.annotate(render.SuspendAnnotation, "p1")
	f.run()
	f.sick["c1"] = true
	f.set("b")
	f.run()
	f.edit("p1", "by hand")
	f.run()
	f.annotate(render.SuspendAnnotation, "")
	f.run()
	f.want("the content of p1, which is no longer suspended, while wave 1 is not done", f.value("p1"), "a")
}

// TestWavesSiblingOverwritten: a Work that is about to be overwritten lends nothing.
func TestWavesSiblingOverwritten(t *testing.T) {
	f := newFleet(t, "c1;*", "c1", "p1")
	f.run()
	f.set("b")
	f.edit("p1", "by hand")
	j := f.judge()
	writes := map[string]Operation{}
	for _, op := range j.Plan {
		writes[op.Cluster] = op
	}
	if from := writes["p1"].From; from != nil && writes[from.Cluster].Kind == Update {
		t.Errorf("p1 gets the content of %s, which is overwritten in the same plan", from.Cluster)
	}
}

// TestWavesSiblingOverwrittenFirst: another one that waits does.
func TestWavesSiblingOverwrittenFirst(t *testing.T) {
	f := newFleet(t, "c1;*", "c1", "p1", "p2")
	f.run()
	f.set("b")
	f.edit("p1", "by hand")
	for _, op := range f.judge().Plan {
		if op.From != nil && op.From.Cluster == "c1" {
			t.Errorf("%s gets the content of c1, which is overwritten in the same plan; p2 keeps it", op.Cluster)
		}
	}
}

// TestWavesTurnRepair: a cluster whose turn it is gets the new content at once.
func TestWavesTurnRepair(t *testing.T) {
	f := newFleet(t, "c1;*", "c1", "p1")
	f.run()
	f.edit("c1", "by hand")
	f.set("b")
	f.want("writes", f.run(), "update-c1-b update-p1-b")
}

// TestWavesSkippedInTurn: and nothing was skipped.
func TestWavesSkippedInTurn(t *testing.T) {
	f := newFleet(t, "c1;*", "c1")
	f.run()
	f.edit("c1", "by hand")
	f.set("b")
	f.want("notices", f.reasons(), "")
}

// TestWavesAltered: what admission has made of every Work is no edit.
func TestWavesAltered(t *testing.T) {
	f := newFleet(t, "c1;*", "c1", "p1", "p2")
	f.run()
	for _, cluster := range []string{"c1", "p1", "p2"} {
		f.alter(cluster, "a, altered")
	}
	f.set("b")
	f.step()
	f.want("the first writes", strings.Join(f.writes, " "), "update-c1-b")
}

// TestWavesAlteredNeverDone: a Work that admission alters comes through as it is.
func TestWavesAlteredNeverDone(t *testing.T) {
	f := newFleet(t, "c1;*", "c1", "p1")
	f.step()
	f.report()
	f.alter("c1", "a, altered")
	f.want("what wave 1 waits for", f.judge().Verdict.Rollout.Waves[0].String(), "wave 1 (c1)")
}

// TestWavesAlteredOnSome: admission alters the Works of some clusters. That is no edit for the next leader, either, nor after
// a write that leaves the content, in the middle of a rollout.
func TestWavesAlteredOnSome(t *testing.T) {
	f := newFleet(t, "c1;*", "c1", "p1", "p2")
	altering := func() {
		f.step()
		for _, cluster := range []string{"p1", "p2"} {
			if value := f.value(cluster); !strings.HasSuffix(value, "!") {
				f.alter(cluster, value+"!")
			}
		}
		f.report()
	}
	for range 3 {
		f.report()
		f.step()
	}
	f.alter("p1", "a!")
	f.alter("p2", "a!")
	f.sick["c1"], f.writes = true, nil
	f.set("b")
	altering()
	f.annotate(render.PreserveOnDeletionAnnotation, "true")
	for range 3 {
		altering()
	}
	f.want("writes", strings.Join(f.writes, " "), "update-c1-b update-c1-b adjust-p1 adjust-p2")
	f.edit("p1", "by hand")
	f.writes = nil
	altering()
	f.want("an edit, if admission has altered what the others have", f.value("p1"), "by hand!")
}

// TestWavesNotesOfAnotherVersion: what another version has noted says nothing.
func TestWavesNotesOfAnotherVersion(t *testing.T) {
	f := newFleet(t, "c1;*", "c1", "p1", "p2")
	f.run()
	for _, work := range f.works {
		sample.Annotate(work, render.WrittenAnnotation, strings.Repeat("0", 32)+"-1")
	}
	f.sick["c1"] = true
	f.set("b")
	f.want("writes", f.run(), "update-c1-b")
	f.want("what the others have", f.value("p1")+f.value("p2"), "aa")
}

// TestWavesRecreatedOptions: the options of a recreated source take effect at once.
func TestWavesRecreatedOptions(t *testing.T) {
	f := newFleet(t, "c1;*", "c1", "p1")
	f.run()
	f.sick["c1"] = true
	f.source.SetUID("recreated")
	f.set("b")
	f.run()
	f.annotate(render.SuspendAnnotation, "true")
	f.want("the options of a recreated source", f.run(), "update-c1-b adjust-p1")
}

// TestWavesTaken: a repaired Work has the name that is free.
func TestWavesTaken(t *testing.T) {
	f := stoppedFleet(t, "c1", "p1", "p2")
	f.remove("p1")
	f.facts.Taken = map[string]bool{"p1": true}
	j := f.judge()
	for _, op := range j.Plan {
		var body []byte
		var err error
		if op.From != nil {
			body, err = op.BodyLike(j.Verdict, f.works[op.From.Cluster].Object)
		} else {
			body, err = op.Body(j.Verdict)
		}
		if err != nil {
			t.Fatal(err)
		}
		f.want("the name of the Work that is created", sample.WorkOf(body).GetName(), op.WorkName(j.Verdict))
	}
}

// TestWavesAlteredElsewhere: what admission has made of one cluster's Work is not for another.
func TestWavesAlteredElsewhere(t *testing.T) {
	f := stoppedFleet(t, "c1", "p1", "p2", "p3")
	f.alter("p1", "a, altered")
	f.remove("p2")
	f.run()
	f.want("what a deleted Work gets back", f.value("p2"), "a")
	f.edit("p3", "by hand")
	f.run()
	f.want("what an edited Work gets back", f.value("p3"), "a")
	f.remove("p2")
	f.remove("p3")
	f.run()
	f.want("what they get if no one else has it", f.value("p2")+f.value("p3"), "bb")
}

// TestWavesEditedAfterAnAdjustment: a write that leaves the spec as it is does not give another generation, and so the next
// edit is one.
func TestWavesEditedAfterAnAdjustment(t *testing.T) {
	f := stoppedFleet(t, "c1", "p1", "p2")
	f.works["p1"].SetLabels(map[string]string{render.ManagedByLabel: f.works["p1"].GetLabels()[render.ManagedByLabel]})
	f.want("a label that comes back", f.run(), "adjust-p1")
	f.edit("p1", "by hand")
	f.run()
	f.want("what it gets back", f.value("p1"), "a")
}

// TestWavesSuspendedThenDeleted: a cluster that was suspended with content that its member never had does not get it
// because its Work is deleted.
func TestWavesSuspendedThenDeleted(t *testing.T) {
	f := newFleet(t, "c1;*", "c1", "p1", "p2")
	f.run()
	f.sick["c1"] = true
	f.annotate(render.SuspendAnnotation, "c1,p1")
	f.annotate(render.WavesAnnotation, "*")
	f.set("b")
	f.run()
	f.annotate(render.WavesAnnotation, "c1;*")
	f.annotate(render.SuspendAnnotation, "")
	f.run()
	f.works["p1"].SetDeletionTimestamp(&metav1.Time{Time: f.at})
	f.remove("p1")
	f.want("writes", f.run(), "")
}
