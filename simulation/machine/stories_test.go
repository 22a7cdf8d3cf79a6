package machine

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/simulation/apiserver"
	"github.com/karmada-target/karmada-mirror/simulation/fault"
	"github.com/karmada-target/karmada-mirror/simulation/model"
)

// stories are sequences of events that went wrong once. Each runs step by step, and is
// judged in the same way as randomly drawn sequences.
var stories = map[string]func(*machine) error{
	// A Namespace's annotations come and go.
	"DefaultTakenAway": func(m *machine) error {
		return m.tell(m.page(nil), m.defaults("m1"), m.quiet, m.defaults(none), m.quiet)
	},
	"DefaultReturns": func(m *machine) error {
		return m.tell(m.page(nil), m.defaults("m1"), m.quiet, m.defaults(none), m.quiet, m.defaults("m1"), m.quiet)
	},
	"DefaultWhileObjectsAreListed": func(m *machine) error {
		return m.tell(m.page(nil), m.quiet, m.listedLate("configmaps"), m.restarted, m.defaults("m1"), pause(time.Second), m.quiet)
	},
	"SuspensionReturns": func(m *machine) error {
		suspended := m.space("a", map[string]string{clustersKey: "m1", "karmada.target/suspend": "true"}, nil)
		return m.tell(m.page(nil), m.defaults("m1"), m.quiet, suspended, m.quiet, m.defaults("m1"), m.quiet, suspended, m.quiet)
	},
	"DefaultWhileItsLeaderDies": func(m *machine) error {
		return m.tell(m.page(nil), m.quiet, m.leaderHangs("create"), m.defaults("m1"), pause(time.Second), m.leaderDies, m.quiet)
	},
	"DefaultThenConfigured": func(m *machine) error {
		return m.tell(m.page(nil), m.configured("b", none), m.quiet, m.defaults("m1"), m.quiet, m.configured("*", none), m.quiet)
	},
	"DefaultThenAllowed": func(m *machine) error {
		allowed := m.space("a", map[string]string{clustersKey: "m1"}, map[string]string{"tier": "gold"})
		return m.tell(m.page(nil), m.configured("*", "gold"), m.quiet, m.defaults("m1"), m.quiet, allowed, m.quiet)
	},
	"OptsOutOfNothingThenAsksNoMore": func(m *machine) error {
		return m.tell(m.page(to("m1")), m.quiet, m.page(to("")), m.quiet, m.page(nil), m.quiet)
	},
	"OptsOutOfNothingThenIsDeleted": func(m *machine) error {
		return m.tell(m.page(to("m1")), m.quiet, m.page(to("")), m.quiet, m.gone, m.quiet)
	},
	"SourceGoesAfterItsNamespace": func(m *machine) error {
		return m.tell(m.page(nil), m.defaults("m1"), m.quiet, m.shut("configmaps"), m.gone,
			m.spaceGoes("a"), m.spaceIsGone("a"), m.open("configmaps"), m.quiet)
	},
	"SourceGoesWhileNobodyWatches": func(m *machine) error {
		return m.tell(m.page(nil), m.defaults("m1"), m.quiet, m.shut("configmaps"), m.gone, m.expired("configmaps"), m.quiet)
	},
	"NamespaceSeenAfterItsObjects": func(m *machine) error {
		suspended := m.space("a", map[string]string{"karmada.target/suspend": "true"}, nil)
		return m.tell(m.spaceGoes("a"), m.spaceIsGone("a"), m.quiet, m.shut("namespaces"), suspended, m.page(to("m1")), pause(time.Second), m.nothingIsThere, m.quiet)
	},
	// An object's annotations or content are reverted.
	"RevertedBeforeItIsSeen": func(m *machine) error {
		seen := pause(500 * time.Millisecond) // the Work must be seen, or nothing is written until it is
		return m.tell(m.page(to("m1")), m.quiet, seen, m.shut("works"), m.edited(2), m.written(2), m.edited(1), pause(500*time.Millisecond), m.quiet)
	},
	"RevertedWhileItIsWritten": func(m *machine) error {
		return m.tell(m.page(to("m1")), m.quiet, m.slowly("patch", "works", fault.DelayAnswer(500*time.Millisecond)), m.edited(2), m.written(2), m.edited(1), m.quiet)
	},
	"WantedAgainWhileAnotherWriteHangs": func(m *machine) error {
		return m.tell(m.page(to("m1")), m.quiet, m.slowly("create", "works", fault.Delay(7*time.Second)), m.page(to("m2")), pause(time.Second), m.page(to("m1")), pause(8*time.Second), m.quiet)
	},
	"WantedAgainWhileItsDeletionIsThrottled": func(m *machine) error {
		busy := fault.Refuse(apierrors.NewTooManyRequests("busy", 6))
		return m.tell(m.page(to("m1,m2")), m.quiet, m.slowly("delete", "works", busy), m.page(to("m2")), pause(time.Second), m.calm, m.page(to("m1,m2")), pause(7*time.Second), m.quiet)
	},
	"WantedAgainWhileItsDeletionHangs": func(m *machine) error {
		return m.tell(m.page(to("m1,m2")), m.quiet, m.slowly("delete", "works", fault.Delay(9*time.Second)), m.page(to("m2")), pause(2*time.Second), m.page(to("m1,m2")), pause(9*time.Second), m.quiet)
	},
	"PreservedInOneEdit": func(m *machine) error {
		// Its options only count if they were there for as long as a proof may cover.
		return m.tell(m.page(to("m1,m2")), m.quiet, pause(proofAge), m.page(map[string]string{clustersKey: "m1", "karmada.target/preserve-on-deletion": "true"}), m.quiet)
	},
	// Clusters change.
	"ClusterReturnsWithoutItsLabel": func(m *machine) error {
		return m.tell(m.page(map[string]string{selectorKey: "tier=edge"}), m.quiet, func() error { return m.removeCluster("m1") }, m.quiet,
			m.cluster("m1", nil), m.quiet)
	},
	"SuspendedClusterLosesItsLabel": func(m *machine) error {
		return m.tell(m.page(map[string]string{selectorKey: "tier=edge", "karmada.target/suspend": "m1"}), m.quiet, m.cluster("m1", nil), m.quiet)
	},
	"SelectorOnASlowAPIServer": func(m *machine) error { // that takes 0.7 s for each request
		return m.tell(m.far(350*time.Millisecond), m.cluster("m1", edge), m.cluster("m2", edge), m.cluster("m3", edge), m.page(map[string]string{selectorKey: "tier=edge"}), m.quiet, m.cluster("m1", nil), m.quiet)
	},
	"OptsOutAndSelects": func(m *machine) error {
		return m.tell(m.page(map[string]string{clustersKey: "", selectorKey: "tier=edge"}), m.quiet,
			m.cluster("m2", edge), m.quiet)
	},
	"InheritedExclusionGoes": func(m *machine) error {
		return m.tell(m.page(map[string]string{selectorKey: "tier=edge"}), m.defaults("!m2"), m.quiet, m.defaults(none), m.quiet,
			m.cluster("m2", edge), m.quiet)
	},
	"OwnListAndInheritedSelector": func(m *machine) error {
		return m.tell(m.space("a", map[string]string{clustersKey: "m2", selectorKey: "tier=edge"}, nil), m.page(to("m3,!m1")), m.quiet,
			m.cluster("m2", edge), m.quiet)
	},
	// Another owner's Work is in the way.
	"AdmissionAltersSomeInWaves": func(m *machine) error { // which is no edit for the next leader, either
		return m.tell(m.altered("m2,m3,m4"), m.page(inTwoWaves), m.quiet, m.ails("m1"), m.edited(2), pause(time.Second), m.restarted, pause(time.Minute), m.quiet)
	},
	"RestoredSuspendedThenReverted": func(m *machine) error { // by hand, while its content waits: it is suspended no longer
		of := target{thePage, "m2"}
		return m.tell(m.page(inTwoWaves), m.quiet, m.ails("m1"), m.edited(2), pause(10*time.Second), func() error { return m.editWork(of, edits["suspended"]) }, func() error { return m.deleteWork(of) }, pause(10*time.Second), m.edited(1), m.quiet)
	},
	"AlteredAndOverriddenByAnother": func(m *machine) error { // with the same content: then the loss of that one is still none
		second := &model.Policy{Kind: "ConfigMap", Value: "overridden"}
		return m.tell(m.altered("m1,m2,m3,m4"), m.override, m.page(inTwoWaves), m.quiet, pause(time.Minute), func() error { return m.putPolicy(policies[1], second) }, pause(2*time.Minute), m.overrideGoes, pause(20*time.Minute), m.keeps("m1", "overridden"),
			m.unserved, pause(time.Minute), m.served, pause(4*time.Minute), m.keeps("m1", "overridden"), m.keeps("m2", "overridden"))
	},
	"AlterationEndsInWaves": func(m *machine) error { // for a new leader: one wave after another gets what admission withheld
		return m.tell(m.altered("m1,m2,m3,m4"), m.page(inTwoWaves), m.quiet, pause(time.Minute), m.altered(""), m.halts("m1"), m.restarted, pause(time.Minute), m.keepsAltered("m2,m3,m4"),
			m.quiet, pause(time.Minute), m.keepsAltered(""))
	},
	"AlterationEndsThenPreserved": func(m *machine) error { // which takes effect at once
		return m.tell(m.altered("m1,m2,m3,m4"), m.page(inTwoWaves), m.quiet, pause(time.Minute), m.altered(""), m.halts("m1"), func() error {
			return m.put(thePage, 1, map[string]string{clustersKey: "*", wavesKey: "m1;*", preserveKey: "true"}, nil)
		}, pause(time.Minute), m.keepsAltered("m2,m3,m4"), m.quiet, pause(time.Minute), m.keepsAltered(""))
	},
	"AlteredContentFailsInALimitedWave": func(m *machine) error { // and each new leader leaves it at that one cluster
		return m.tell(m.altered("m1,m2,m3,m4"), m.page(map[string]string{clustersKey: "*", wavesKey: "*(1)"}), m.quiet, pause(2*time.Minute), m.halts("m1"), m.edited(2), pause(time.Minute), m.keeps("m1", "2"),
			m.restarted, pause(2*time.Minute), m.restarted, pause(2*time.Minute), m.keeps("m2", "1"), m.keeps("m3", "1"), m.keeps("m4", "1"), m.quiet)
	},
	"AlterationEndsThenDeleted": func(m *machine) error { // by hand: it comes back as it was
		return m.tell(m.altered("m1,m2,m3,m4"), m.page(inTwoWaves), m.quiet, pause(time.Minute), m.altered(""), m.halts("m1"), m.restarted, pause(time.Minute), func() error { return m.deleteWork(target{thePage, "m3"}) }, pause(time.Minute), m.keepsAltered("m2,m3,m4"), m.quiet)
	},
	"AlterationEndsThenOverridden": func(m *machine) error { // by another policy, with the same content
		second := &model.Policy{Kind: "ConfigMap", Value: "overridden"}
		return m.tell(m.altered("m1,m2,m3,m4"), m.override, m.page(inTwoWaves), m.quiet, pause(time.Minute), m.altered(""), m.halts("m1"), func() error { return m.putPolicy(policies[1], second) }, pause(2*time.Minute), m.keepsAltered("m2,m3,m4"), m.quiet)
	},
	"AlteredThenInWaves": func(m *machine) error { // which writes nothing, and holds up nothing
		return m.tell(m.altered("m1,m2,m3,m4"), m.page(to("m1,m2")), m.quiet, pause(time.Minute), m.page(map[string]string{clustersKey: "m1,m2", wavesKey: "m1;*"}), pause(time.Hour), m.told("WaveHeld", 0, 0), m.page(inTwoWaves), m.quiet)
	},
	"AlteredAndEditedByHand": func(m *machine) error { // while the canary is away, after a restart
		edit := setField([]any{map[string]any(numbered(thePage, 3))}, "spec", "workload", "manifests")
		return m.tell(m.altered("m1,m2,m3,m4"), m.page(inTwoWaves), m.quiet, pause(time.Minute), m.restarted, pause(time.Minute), m.goes("m1"), pause(30*time.Second), func() error { return m.editWork(target{thePage, "m3"}, edit) }, pause(2*time.Minute), m.keeps("m3", "1"))
	},
	"AlteredAndStandsStill": func(m *machine) error { // is woken, and not written again
		var from time.Time
		return m.tell(m.altered("m1,m2,m3,m4"), m.page(inTwoWaves), m.quiet, pause(time.Minute), m.halts("m1"), m.edited(2), pause(time.Minute), now(&from), pause(2*time.Hour), m.requests(&from, 0, 30, of(works, "patch")))
	},
	"AlteredWithTwoAway": func(m *machine) error { // of a limited wave, of which a third comes through after a restart
		return m.tell(m.altered("m1,m2,m3,m4"), m.page(map[string]string{clustersKey: "*", wavesKey: "m1,m2,m3(1);*"}), m.quiet, pause(time.Minute), m.halts("m3"), m.edited(2), pause(2*time.Minute), m.keeps("m3", "2"), m.goes("m1"), m.goes("m2"), pause(30*time.Second),
			m.restarted, pause(time.Minute), m.keeps("m4", "1"), m.goesOn("m3"), pause(time.Hour), m.keeps("m4", "2"))
	},
	"AdmissionUndoesWhatAWaveIsGiven": func(m *machine) error { // which has no event
		return m.tell(m.altered("m1,m2,m3,m4"), m.page(inTwoWaves), pause(time.Second), m.restarted, m.quiet)
	},
	"KarmadaStandsStillInWaves": func(m *machine) error {
		return m.tell(m.page(inTwoWaves), m.quiet, m.halts("m1"), m.edited(2), pause(30*time.Second), m.quiet)
	}, // and what it has reported is about the content before
	"CanaryIsNotAskedForForAMoment": func(m *machine) error { return m.mislabelled("m1;*", pause(time.Minute), pause(0)) },
	"ContentTakesClustersAway": func(m *machine) error { // in a wave with a limit, an option is set, and one comes back for a moment
		flaps := m.tellAll(m.comes("m1"), pause(5*time.Second), m.goes("m1"), pause(time.Minute))
		return m.tell(m.page(map[string]string{clustersKey: "*", wavesKey: "*(1)"}), m.quiet, pause(2*time.Minute), m.edited(2), pause(3*time.Second), m.keeps("m1", "2"), m.keeps("m2", "1"),
			m.goes("m1"), pause(3*time.Second), m.keeps("m2", "2"), m.goes("m2"), pause(12*time.Minute), m.keeps("m3", "1"), m.told("WaveHeld", 1, 1), func() error {
				return m.put(thePage, 2, map[string]string{clustersKey: "*", wavesKey: "*(1)", preserveKey: "true"}, nil)
			}, pause(time.Minute), m.keeps("m3", "1"), flaps, m.keeps("m3", "1"), m.restarted, m.keeps("m3", "1"), m.quiet, m.keeps("m3", "2"))
	},
	"CanaryOfALimitedWaveIsNotAskedFor": func(m *machine) error { return m.mislabelled("*(1)", pause(time.Minute), pause(0)) },
	"CanaryIsNotAskedForWhileItIsWritten": func(m *machine) error {
		return m.mislabelled("m1;*", pause(time.Second), m.open("works"), m.shut("works"))
	},
	"CanaryFailsUnseen": func(m *machine) error { // in its bake, since the watch of Works lags, and the deadline passes
		loses := func() error { return m.karmada.Member("m1").Store.Delete(refOf(thePage), metav1.DeleteOptions{}) }
		return m.tell(m.page(map[string]string{clustersKey: "*", wavesKey: "m1;*", "karmada.target/wave-bake": "1m", "karmada.target/wave-deadline": "1m"}), m.quiet, m.edited(2), pause(30*time.Second), m.keeps("m1", "2"), m.shut("works"), m.ails("m1"), loses, pause(10*time.Minute), m.keeps("m2", "1"), m.quiet, m.keeps("m2", "2"))
	},
	"MovesInWaves":    func(m *machine) error { return m.moves(pause(0), m.told("WaveHeld", 0, 0)) },
	"MovesFromAway":   func(m *machine) error { return m.moves(m.goes("m1"), m.told("WaveHeld", 0, 0)) },
	"MovesToASickOne": func(m *machine) error { return m.moves(m.ails("m2"), m.told("WaveHeld", 60, 60)) },
	"JoinsDuringTheBake": func(m *machine) error { // and the canary is not asked for for a moment, after an edit that is no content
		return m.tell(m.cluster("m1", edge), m.cluster("m2", edge), m.cluster("m3", map[string]string{"tier": "core"}), m.page(map[string]string{selectorKey: "tier=edge", wavesKey: "m1;*", "karmada.target/wave-bake": "30m"}), m.quiet, m.edited(2), pause(time.Minute), m.keeps("m1", "2"),
			func() error {
				return m.put(thePage, 2, map[string]string{selectorKey: "tier=edge", wavesKey: "m1;*", "karmada.target/wave-bake": "30m", "karmada.target/wave-deadline": "1h"}, nil)
			}, pause(2*time.Second), m.cluster("m3", edge), pause(2*time.Second), m.countOf(2), m.cluster("m1", egde), pause(300*time.Millisecond), m.cluster("m1", edge), pause(time.Minute), m.countOf(2), m.quiet)
	},
	"Sealed": func(m *machine) error { // it is replaced
		return m.tell(m.page(to("m1,m2,m3")), m.quiet, func() error { return m.seal(thePage, 1) }, m.quiet, func() error { return m.edit(thePage, 2) }, m.quiet, m.keeps("m1", "2"), m.keeps("m2", "2"), m.keeps("m3", "2"))
	},
	"SealedIsRefused": func(m *machine) error { // what would replace it: the member keeps what it has
		refuses := func(op string, gr schema.GroupResource, subresource string, new, _ apiserver.Object) (apiserver.Object, error) {
			if manifest, err := model.ManifestOf(&unstructured.Unstructured{Object: new}); gr == works && subresource == "" && op != "DELETE" && err == nil {
				if value, _, _ := unstructured.NestedString(manifest.Object, "data", "key"); value == "2" {
					return nil, apierrors.NewForbidden(gr, "", errors.New("denied by a policy"))
				}
			}
			return new, nil
		}
		return m.tell(m.page(to("m1")), m.quiet, func() error { return m.seal(thePage, 1) }, m.quiet, m.admits(refuses, m.edited(2), pause(10*time.Minute), m.keeps("m1", "1")))
	},
	"SealedLosesItsNote": func(m *machine) error { // an edit of its Work is no other object
		var from time.Time
		return m.tell(m.page(to("m1")), m.override, m.quiet, func() error { return m.seal(thePage, 1) }, m.quiet, now(&from), m.modified(workRef(model.WorkKey("m1", thePage)), func(u *unstructured.Unstructured) {
			annotations := u.GetAnnotations()
			delete(annotations, "karmada.target/source-uid")
			u.SetAnnotations(annotations)
		}), pause(time.Minute), m.deletes(&from, 0, 0))
	},
	"SealedIsContested": func(m *machine) error { // something restores the earlier Work each time
		var from time.Time
		var earlier apiserver.Object
		ref := workRef(model.WorkKey("m1", thePage))
		restores := func() error {
			for end := time.Now().Add(time.Hour); time.Now().Before(end); time.Sleep(time.Second) {
				there := m.store.Get(ref)
				if u := (&unstructured.Unstructured{Object: there}); there == nil || u.GetDeletionTimestamp() != nil || equality.Semantic.DeepEqual(there["spec"], earlier["spec"]) {
					continue
				}
				if _, err := m.store.Modify(ref, "", func(o apiserver.Object) {
					o["spec"] = earlier["spec"]
					(&unstructured.Unstructured{Object: o}).SetAnnotations((&unstructured.Unstructured{Object: earlier}).GetAnnotations())
				}); err != nil {
					return err
				}
			}
			return nil
		}
		return m.tell(m.page(to("m1")), m.quiet, func() error { return m.seal(thePage, 1) }, m.quiet, func() error { earlier = m.store.Get(ref); return nil }, now(&from), m.edited(2), restores, m.deletes(&from, 2, 40))
	},
	"RecreatedInWaves": func(m *machine) error { // a deletion waits for no wave, and a first Work does
		return m.tell(m.page(inTwoWaves), m.quiet, m.gone, m.vanished, m.ails("m1"), m.page(inTwoWaves), pause(time.Minute), m.countOf(1), m.quiet)
	},
	"DeadlineIsOver": func(m *machine) error { // and the canary is well at last: its turn is no progress of the next wave
		return m.tell(m.page(inTwoWaves), m.quiet, m.ails("m1"), m.edited(2), pause(12*time.Minute), m.told("WaveHeld", 1, 1), m.quiet, m.keeps("m2", "2"), m.told("WaveHeld", 1, 1))
	},
	"RevertedDuringSlowReads":  func(m *machine) error { return m.slowReads(m.edited(1), m.keeps("m2", "1"), m.calm, m.quiet) },
	"ForbiddenDuringSlowReads": func(m *machine) error { return m.slowReads(m.configured("*", "gold"), m.keeps("m2", "1")) },
	"PreviousIsUnderWay": func(m *machine) error {
		return m.tell(m.page(map[string]string{clustersKey: "m1,m2,m3", wavesKey: "*(1)"}), m.quiet, m.ails("m3"), m.edited(0), pause(2*time.Minute), m.keeps("m3", "0"), m.edited(2), pause(2*time.Minute), m.keeps("m1", "0"), m.keeps("m2", "0"), m.keeps("m3", "2"), m.quiet)
	},
	"OurDeletionIsAnsweredLate": func(m *machine) error {
		return m.tell(m.page(inTwoWaves), m.quiet, m.slowly("delete", "works", fault.DelayAnswer(4*time.Second)), m.puts(thePage, map[string]string{clustersKey: "m1", wavesKey: "m1;*"}), pause(3*time.Second), m.countOf(1), m.ails("m1"),
			func() error { return m.put(thePage, 2, inTwoWaves, nil) }, pause(time.Minute), m.countOf(1))
	},
	"RejoinsWhileWorksLag": func(m *machine) error { // a first Work waits for its wave
		return m.tell(m.heldBehind("m1,m3"), m.shut("works"), func() error { return m.removeCluster("m3") }, pause(time.Minute), func() error { return m.joinReady("m3") }, pause(10*time.Second), m.open("works"), pause(time.Minute), m.countOf(1))
	},
	"RejoinsBesideASibling": func(m *machine) error { // which still has what it had
		return m.tell(m.heldBehind("m1,m2,m3"), m.shut("clusters"), func() error { return m.removeCluster("m3") }, pause(20*time.Second), func() error { return m.joinReady("m3") }, pause(10*time.Second), m.countOf(2))
	},
	"DeletedWhileAnAnnotationIsWrong": func(m *machine) error {
		suspends := func(value string) act {
			return func() error {
				return m.put(thePage, 2, map[string]string{clustersKey: "m1,m2,m3", wavesKey: "m1;*", suspendKey: value}, nil)
			}
		}
		return m.tell(m.heldBehind("m1,m2,m3"), m.keeps("m3", "1"), suspends("!m1"), pause(5*time.Second), func() error { return m.deleteWork(target{thePage, "m3"}) }, pause(10*time.Second), suspends("false"), pause(10*time.Second), m.keeps("m3", "1"))
	},
	"DeletedWhileClustersAreListed": func(m *machine) error {
		of := func(verb string) fault.Match { return fault.Match{Resource: "clusters", Verb: verb} }
		return m.tell(m.heldBehind("*"), m.keeps("m3", "1"), m.fails(of("watch"), fault.Expire()), m.ended("clusters"), pause(100*time.Millisecond), m.fails(of("watch"), fault.Drop()), m.fails(of("list"), fault.Drop()), pause(50*time.Second),
			func() error { return m.deleteWork(target{thePage, "m3"}) }, pause(10*time.Second), m.calm, pause(3*time.Minute), m.keeps("m3", "1"))
	},
	"OthersChangeDuringSlowReads": func(m *machine) error { // clusters that the source does not choose, and its status
		var from time.Time
		acts := []act{m.puts(inA(deployment), map[string]string{selectorKey: "tier=edge", wavesKey: "m1;*"}), pause(time.Minute), m.far(1200 * time.Millisecond), now(&from), m.changed(inA(deployment), 2)}
		for i := range 300 {
			acts = append(acts, func() error { return m.setReady(fmt.Sprintf("m%d", 2+2*(i%20)), i/20%2 == 1) }, m.beats(inA(deployment), i), pause(800*time.Millisecond))
		}
		return m.tell(append(acts, m.requests(&from, 20, 25, done(works, "patch")), m.calm)...)
	},
	"RecreatedWithSharesMovesNone": func(m *machine) error { // though its UID would break ties the other way
		var before map[model.Place]int64
		again := func() error {
			was := before
			if before = m.shares(); was != nil && !maps.Equal(was, before) {
				return fmt.Errorf("%v are now %v", was, before)
			}
			return m.tell(func() error { return m.recreate(inA(deployment)) }, m.quiet, func() error { return m.deleteWork(target{inA(deployment), "m1"}) }, m.quiet)
		}
		return m.tell(m.puts(inA(deployment), map[string]string{clustersKey: "m1,m2,m3", "karmada.target/replicas": "divide"}), m.changed(inA(deployment), 0), m.quiet, again, again, again, again, again)
	},
	"RejoinsWhileClustersLag": func(m *machine) error {
		return m.tell(m.heldBehind("m1,m3"), m.shut("clusters"), func() error { return m.removeCluster("m3") }, pause(20*time.Second), m.told("WaveSkipped", 0, 0), func() error { return m.joinReady("m3") }, pause(10*time.Second), m.countOf(1))
	},
	"LastLeaderDeletedIt": func(m *machine) error { // which the next one sees late, when the source chooses that cluster again
		asks := func(clusters string) act {
			return func() error {
				return m.put(thePage, 2, map[string]string{clustersKey: clusters, wavesKey: "m1;*"}, nil)
			}
		}
		return m.tell(m.heldBehind("m1,m3"), m.standbyMisses("works"), asks("m1"), pause(30*time.Second), m.countOf(1), m.leaderDies, asks("m1,m3"), pause(10*time.Second), m.countOf(1), m.open("works"), pause(time.Minute), m.countOf(1))
	},
	"DeletedWhileNoOneLooks": func(m *machine) error { // which a list shows: the first since the leader began that the Work is in
		expires := func() error { m.each(func(r *replica) { r.expire("works") }); return nil }
		return m.tell(m.page(inTwoWaves), m.quiet, m.restarted, pause(time.Minute), m.ails("m1"), m.edited(2), pause(time.Minute), m.keeps("m3", "1"), m.shut("works"),
			func() error { return m.deleteWork(target{thePage, "m3"}) }, pause(time.Second), expires, m.open("works"), pause(2*time.Minute), m.keeps("m3", "1"))
	},
	"RefusedInALaterWave": func(m *machine) error { // a source that is touched reads nothing for it
		var from time.Time
		in := target{thePage, "m3"}
		denies := func(op string, gr schema.GroupResource, _ string, o, _ apiserver.Object) (apiserver.Object, error) {
			if gr == works && op == "UPDATE" && (&unstructured.Unstructured{Object: o}).GetNamespace() == workRef(model.WorkKey(in.cluster, in.key)).Namespace {
				return nil, apierrors.NewForbidden(works, "it", errors.New(`admission webhook "x" denied the request`))
			}
			return o, nil
		}
		waves := func(touch int) map[string]string {
			return map[string]string{clustersKey: "*", wavesKey: "*,!m3;*", "kubectl.kubernetes.io/last-applied-configuration": fmt.Sprint(touch)}
		}
		acts := []act{func() error { return m.put(thePage, 2, waves(0), nil) }, pause(2 * time.Minute), m.keeps("m1", "2"), m.keeps("m3", "1"), now(&from)}
		for i := range 30 {
			acts = append(acts, func() error { return m.put(thePage, 2, waves(i+1), nil) }, pause(2*time.Second))
		}
		return m.tell(m.page(waves(0)), m.quiet, m.admits(denies, append(acts, m.requests(&from, 0, 10, of(works, "get")))...))
	},
	"RefusedBesideAWake": func(m *machine) error { // which it does not hold up
		denies := func(op string, gr schema.GroupResource, _ string, o, _ apiserver.Object) (apiserver.Object, error) {
			if gr == works && op == "UPDATE" && (&unstructured.Unstructured{Object: o}).GetNamespace() == "karmada-es-m3" {
				return nil, apierrors.NewForbidden(works, "it", errors.New(`admission webhook "x" denied the request`))
			}
			return o, nil
		}
		var from time.Time
		return m.tell(m.page(to("*")), m.quiet, m.page(inTwoWaves), pause(time.Minute), m.ails("m2"), m.admits(denies, m.edited(2), pause(50*time.Second), m.keeps("m1", "2"), m.keeps("m2", "2"),
			m.goes("m2"), pause(3*time.Minute), now(&from), func() error { return m.setReady("m2", true) }, pause(10*time.Second), m.requests(&from, 1, 2, done(works, "patch"))))
	},
	"SuspendedCannotBeWritten": func(m *machine) error { // and is passed over
		with := func(value int, suspended string) act {
			return func() error {
				return m.put(thePage, value, map[string]string{clustersKey: "m1,m2", wavesKey: "m1;*", expandKey: "true", suspendKey: suspended}, nil)
			}
		}
		return m.tell(func() error { return m.putCluster("m2", map[string]string{"tier": "core"}, "eu") }, with(1, "false"), m.quiet, with(2, "false"), pause(time.Minute), m.keeps("m1", "1"), m.keeps("m2", "1"),
			with(2, "m1"), pause(20*time.Minute), m.keeps("m1", "1"), m.keeps("m2", "2"))
	},
	"FlapsTwice": func(m *machine) error { // what is edited during each outage is applied soon after it
		return m.tell(m.page(to("m1")), m.quiet, pause(time.Hour), m.goes("m1"), pause(5*time.Second), m.edited(2), pause(3*time.Minute), m.comes("m1"), pause(10*time.Second), m.hasInMember("m1", "2"),
			pause(5*time.Second), m.goes("m1"), pause(5*time.Second), m.edited(3), pause(2*time.Minute+10*time.Second), m.comes("m1"), pause(15*time.Second), m.hasInMember("m1", "3"))
	},
	"FlapsForLong": func(m *machine) error { // its Works are woken less and less often
		acts, from := []act{m.crowd(30, 0, to("m1")), m.quiet, pause(time.Hour), m.ails("m1"), m.goes("m1"), pause(5 * time.Second), m.crowd(30, 1, to("m1")), pause(10 * time.Second)}, time.Time{}
		for range 20 {
			acts = append(acts, m.comes("m1"), pause(12*time.Second), m.goes("m1"), pause(8*time.Second))
		}
		return m.tell(append(acts, m.requests(&from, 60, 210, of(works, "patch")), m.comes("m1"), m.quiet)...)
	},
	"CanaryFlapsWhileClustersAreListedAgain": func(m *machine) error { // its bake begins again
		return m.tell(m.page(inTwoWaves), m.quiet, m.puts(thePage, map[string]string{clustersKey: "*", wavesKey: "m1;*", "karmada.target/wave-bake": "4m"}), m.edited(2), pause(30*time.Second), m.keeps("m2", "1"),
			m.clustersStall, m.goes("m1"), pause(30*time.Second), m.comes("m1"), pause(10*time.Second), m.calm, pause(150*time.Second), m.keeps("m2", "1"), pause(2*time.Minute), m.keeps("m2", "2"))
	},
	"ReturnsWhileClustersAreListedAgain": func(m *machine) error { // what was edited meanwhile is applied soon
		return m.tell(m.page(to("m1")), m.quiet, pause(time.Hour), m.goes("m1"), pause(5*time.Second), m.edited(2), pause(5*time.Minute), m.clustersStall, m.comes("m1"), pause(10*time.Second), m.calm, pause(2*time.Minute), m.hasInMember("m1", "2"))
	},
	"CanaryIsNotListed": func(m *machine) error { // by a list of clusters that is cut short
		return m.tell(m.page(map[string]string{clustersKey: "*", wavesKey: "m4;*"}), m.quiet, m.ails("m4"), m.edited(2), pause(time.Minute), m.keeps("m4", "2"), m.misled("clusters", fault.Truncate(2)), pause(3*time.Minute), m.keeps("m1", "1"))
	},
	"OurDeletionIsLost": func(m *machine) error { // and long after, in the midst of a rollout, another user deletes the Work
		asks := func(clusters string) act {
			return m.puts(thePage, map[string]string{clustersKey: clusters, wavesKey: "m1;*"})
		}
		return m.tell(asks("m1,m2,m3"), m.quiet, m.slowly("delete", "works", fault.Drop()), asks("m1,m2"), pause(3*time.Second), asks("m1,m2,m3"), pause(10*time.Second), m.calm, m.quiet, m.countOf(3), pause(time.Hour),
			m.ails("m1"), m.edited(2), pause(time.Minute), m.keeps("m3", "1"), func() error { return m.deleteWork(target{thePage, "m3"}) }, pause(30*time.Second), m.keeps("m3", "1"))
	},
	"UnderWayIsEdited": func(m *machine) error {
		return m.freed(func() error {
			return m.editWork(target{thePage, "m2"}, setField([]any{map[string]any(numbered(thePage, 3))}, "spec", "workload", "manifests"))
		})
	},
	"UnderWayIsDeleted": func(m *machine) error { return m.freed(func() error { return m.deleteWork(target{thePage, "m2"}) }) },
	"CanaryIsHeld": func(m *machine) error { // and m3 joins
		return m.tell(m.careful, m.cluster("m1", edge), m.cluster("m3", nil), m.crowd(60, 1, map[string]string{selectorKey: "tier=edge", wavesKey: "m1;*"}), m.quiet, m.ails("m1"), m.crowd(60, 2, map[string]string{selectorKey: "tier=edge", wavesKey: "m1;*"}), pause(time.Minute),
			m.cluster("m1", egde), pause(time.Minute), m.held(60, 60), m.cluster("m3", edge), pause(time.Minute), m.inCluster(0, "m3"), m.cluster("m1", edge), m.quiet)
	},
	"CanaryGoesUnseen": func(m *machine) error {
		return m.tell(m.page(map[string]string{clustersKey: "*", wavesKey: "m1;*", "karmada.target/wave-bake": "1m"}), m.quiet, m.edited(2), pause(30*time.Second), m.keeps("m1", "2"), m.shut("clusters"), m.goes("m1"), pause(2*time.Minute), m.keeps("m2", "1"), m.quiet)
	}, // in its bake, since the watch of Clusters lags
	"PlaceIsTakenUnseen": func(m *machine) error {
		return m.tell(m.cluster("m1", nil), m.cluster("m2", edge), m.cluster("m3", edge), m.page(map[string]string{selectorKey: "tier=edge", wavesKey: "*(1)"}), m.quiet, m.ails("m2"), m.shut("works"), m.edited(2), pause(45*time.Second), m.keeps("m2", "2"), m.cluster("m1", edge), pause(30*time.Second), m.countOf(2), m.keeps("m3", "1"), m.quiet)
	}, // of a limited wave, since the watch of Works lags, and m1 joins
	"JoinsForTheDying": func(m *machine) error { // that were well for hours
		more := m.page(map[string]string{clustersKey: "m1,m2,m3", wavesKey: "*(1)"})
		return m.tell(m.page(map[string]string{clustersKey: "m1,m2", wavesKey: "*(1)"}), m.quiet, pause(3*time.Hour), m.goes("m1"), m.goes("m2"), pause(5*time.Minute), more, pause(time.Minute), m.keeps("m3", "1"), m.quiet)
	},
	"DeletedWhileTheCanaryIsNotAskedFor": func(m *machine) error { // it is not new, and m3 has what it had
		deleted := func() error { return m.deleteWork(target{thePage, "m2"}) }
		return m.mislabelled("m1;*", m.tellAll(pause(time.Minute), m.cluster("m1", egde), deleted), pause(0), m.cluster("m3", edge), pause(time.Minute))
	},
	"CanaryIsNotAskedForAtFirst": func(m *machine) error { // and no other has a Work
		return m.tell(m.cluster("m1", edge), m.cluster("m2", edge), m.ails("m1"), m.page(map[string]string{selectorKey: "tier=edge", wavesKey: "m1;*"}), pause(time.Minute), m.countOf(1),
			m.cluster("m1", egde), pause(300*time.Millisecond), m.cluster("m1", edge), pause(time.Minute), m.countOf(1), m.quiet)
	},
	"ResumedWithTheContent": func(m *machine) error { // which no member has had
		return m.tell(m.page(map[string]string{clustersKey: "m1,m2", suspendKey: "true"}), m.quiet, m.edited(2), pause(time.Second), m.ails("m1"), func() error { return m.put(thePage, 2, map[string]string{clustersKey: "m1,m2", wavesKey: "m1;*"}, nil) }, pause(time.Minute),
			m.hasInMember("m2", ""), m.quiet, m.hasInMember("m2", "2"))
	},
	"ResumedBeforeItsTurn": func(m *machine) error { // with content that its member never had
		return m.tell(m.page(map[string]string{clustersKey: "m1,m2", suspendKey: "m2"}), m.quiet, m.edited(2), pause(time.Second), m.ails("m1"), m.puts(thePage, map[string]string{clustersKey: "m1,m2", wavesKey: "m1;*"}), m.edited(3), pause(time.Minute),
			m.keeps("m1", "3"), m.hasInMember("m2", ""), m.quiet, m.hasInMember("m2", "3"))
	},
	"DeletedByHandThenNotAskedFor": func(m *machine) error { // and asked for again in waves: it is the first Work
		return m.tell(m.page(map[string]string{clustersKey: "*", deletionKey: "foreground"}), m.quiet, func() error { return m.deleteWork(target{thePage, "m3"}) }, pause(500*time.Millisecond),
			m.page(map[string]string{deletionKey: "foreground", wavesKey: "m1;*"}), m.quiet, m.nothingIsThere, m.ails("m1"), m.page(inTwoWaves), pause(time.Second), m.countOf(1), m.quiet)
	},
	"EventsMayBeReadAgain": func(m *machine) error { // after the last judgement that waited for one is long ago
		forbidden := fault.Refuse(apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "", nil))
		return m.tell(m.page(inTwoWaves), m.quiet, pause(2*time.Minute), m.fails(fault.Match{Verb: "list", Resource: "events"}, forbidden), m.fails(fault.Match{Verb: "watch", Resource: "events"}, forbidden),
			m.edited(2), pause(28*time.Minute), m.keeps("m2", "1"), m.calm, pause(10*time.Minute), m.keeps("m2", "2"), m.quiet)
	},
	"ObstacleGoesWhileAnotherWriteHangs": func(m *machine) error {
		seen := pause(500 * time.Millisecond)
		return m.tell(m.obstacle("m1"), m.slowly("create", "works", fault.Delay(2*time.Second)), seen, m.page(to("m1,m2")), pause(time.Second),
			m.cleared("m1"), seen, m.shut("works"), pause(2*time.Second), m.open("works"), seen, m.quiet)
	},
	// An autoscaler comes, cannot be read, or is listed late.
	"DeletedWhileAListLacksItsWorks": func(m *machine) error { // which are deleted before it may go
		return m.tell(m.crowd(3, 0, foreground), m.quiet, m.misled("works", fault.Truncate(0)), pause(12*time.Second), m.deleted(pageOf(1)), pause(5*time.Second), m.calm, m.expired("works"), m.quiet)
	},
	"AutoscalerComesLater": func(m *machine) error {
		return m.tell(m.web(to("m1,m2")), m.quiet, m.scaler(to("m1")), m.quiet, m.scaler(to("m2")), m.quiet)
	},
	"AutoscalerCannotBeRead": func(m *machine) error {
		mistake := map[string]string{clustersKey: "m1", "karmada.target/suspend": "!m1"}
		return m.tell(m.web(to("m1")), m.scaler(to("m1")), m.quiet, m.scaler(mistake), pause(time.Second), m.isRetained, m.quiet)
	},
	"AutoscalerIsListedLate": func(m *machine) error {
		return m.tell(m.web(to("m1")), m.scaler(to("m1")), m.quiet, m.listedLate("horizontalpodautoscalers"), m.restarted, pause(4*time.Second), m.isRetained, m.quiet)
	},
	// A new leader has not seen everything.
	"LeaderWithAnOldDefault": func(m *machine) error {
		return m.tell(m.defaults("m1"), m.page(nil), m.quiet, m.standbyMisses("namespaces"), m.defaults(none), m.vanished,
			m.leaderDies, m.edited(2), pause(2*time.Second), m.nothingIsThere, m.quiet)
	},
	"LeaderWithAnOldObject": func(m *machine) error {
		return m.tell(m.page(to("m1")), m.quiet, m.standbyMisses("configmaps"), m.edited(2), m.written(2), m.leaderDies, pause(2*time.Second), m.isWritten(2), m.quiet)
	},
	"LeaderWithAnOldConfiguration": func(m *machine) error {
		return m.tell(m.page(to("m1")), m.quiet, m.standbyMisses(theConfiguration), m.configured("b", none), pause(time.Second), m.gone, m.leaderDies, pause(5*time.Second), m.quiet)
	},
	"LeaderWithADeletedObject": func(m *machine) error {
		return m.tell(m.page(to("m1")), m.quiet, m.standbyMisses("configmaps"), m.gone, m.vanished, m.leaderDies, pause(2*time.Second), m.nothingIsThere, m.quiet)
	},
	"LeaderLacksAPolicy": func(m *machine) error {
		return m.tell(m.page(nil), m.quiet, m.standbyMisses("overridepolicies"), m.override, m.leaderDies, m.page(to("m1")), pause(2*time.Second), m.isOverridden, m.quiet)
	},
	"WatchStartsOnAServerThatLags": func(m *machine) error { // while its reader leads
		return m.tell(m.page(to("m1")), m.quiet, pause(lagTime), m.behind(2, configMaps), m.edited(2), m.written(2), m.withoutKind("ConfigMap"), m.moved(2), m.withoutKind(""), pause(5*time.Second), m.quiet)
	},
	"NewerVersionIsPreferred": func(m *machine) error { // which changes no object
		return m.tell(m.puts(inA(widget), to("*")), m.quiet, func() error { return m.upgrade(false) }, pause(time.Second), m.restarted, pause(time.Second), m.quiet)
	},
	"StandbyBeganInAnotherVersion": func(m *machine) error { // when there were no Works
		standbyRestarts := func() error {
			_, standby, err := m.leader()
			if err == nil {
				standby.restart()
			}
			return err
		}
		return m.tell(pause(10*time.Second), m.servesWidgets("v1", "v2"), pause(10*time.Second), standbyRestarts, pause(10*time.Second), m.puts(inA(widget), to("*")), pause(time.Hour), m.countOf(3), m.inVersion("v1"),
			m.leaderDies, pause(time.Minute), m.inVersion("v1"), m.servesWidgets("v2"), pause(time.Minute), m.inVersion("v2")) // v1 is no longer served
	},
	"WorksAreListedShortInVersions": func(m *machine) error { // while the replicas start
		return m.tell(pause(10*time.Second), m.puts(inA(widget), to("*")), pause(time.Minute), m.servesWidgets("v1", "v2"), pause(10*time.Second), m.stopped, m.misled("works", fault.Truncate(0)), m.started, pause(10*time.Second),
			m.puts(inB(widget), to("*")), pause(10*time.Second), m.calm, m.expired("works"), pause(time.Hour), m.countOf(6), m.inVersion("v1"), m.quiet)
	},
	// Override policies go.
	"PolicyGoesWithItsObject": func(m *machine) error {
		var gone time.Time
		arrived := pause(200 * time.Millisecond) // at the gates
		return m.tell(m.page(to("m1")), m.override, m.quiet, m.shut("overridepolicies"), m.shut("configmaps"), m.overrideGoes, m.gone, arrived,
			now(&gone), m.open("overridepolicies"), pause(50*time.Millisecond), m.open("configmaps"), pause(500*time.Millisecond), m.losesNothing(&gone, nil), m.quiet)
	},
	"PolicyReturns": func(m *machine) error {
		var gone, back time.Time
		return m.tell(m.page(to("m1")), m.override, m.quiet,
			now(&gone), m.overrideGoes, pause(10*time.Millisecond), m.override, now(&back), pause(time.Second), m.losesNothing(&gone, &back), m.quiet)
	},
	"PoliciesAreServedLate": func(m *machine) error {
		return m.tell(func() error { return m.define(works) }, m.unserved, m.restarted, m.page(to("m1")), pause(3*time.Second), m.nothingIsThere, m.unready("overridepolicies.policy.karmada.io", "does not serve it"), m.refuses("check", "does not serve overridepolicies"), m.served, m.override, m.quiet)
	},
}

// freed has m2 of a limited wave not apply the content, and someone do something to its Work while m1 waits.
func (m *machine) freed(does act) error {
	return m.tell(m.page(map[string]string{clustersKey: "m1,m2", wavesKey: "*(1)"}), m.quiet, m.goes("m1"), m.ails("m2"), m.edited(2), pause(time.Minute), m.keeps("m2", "2"), m.comes("m1"), pause(time.Minute), m.keeps("m1", "1"), does, pause(30*time.Second), m.keeps("m2", "2"), m.keeps("m1", "1"), m.quiet)
}

// edge are the labels that objects ask for, and egde a mistake.
var edge, egde = map[string]string{"tier": "edge"}, map[string]string{"tier": "egde"}

// mislabelled has an object's canary, which does not apply what the others wait for, not be asked for for a moment, after
// one act and before another.
func (m *machine) mislabelled(waves string, before, after act, first ...act) error {
	var from time.Time
	return m.tell(m.cluster("m1", edge), m.cluster("m2", edge), m.page(map[string]string{selectorKey: "tier=edge", wavesKey: waves}), m.quiet, m.ails("m1"), m.tellAll(first...), m.edited(2), before, now(&from),
		m.cluster("m1", egde), pause(300*time.Millisecond), m.cluster("m1", edge), pause(time.Second), after, pause(time.Minute), m.deletes(&from, 0, 0), m.keeps("m1", "2"), m.keeps("m2", "1"))
}

// hasInMember checks what the page in a member says.
func (m *machine) hasInMember(cluster, want string) act {
	return func() error {
		if got, _, _ := unstructured.NestedString(m.karmada.Member(cluster).Store.Get(refOf(thePage)), "data", "key"); got != want {
			return fmt.Errorf("it says %q in %s, not %q", got, cluster, want)
		}
		return nil
	}
}

// moves moves 60 pages from m1 to m2, whose deletions are held: they are created all the same.
func (m *machine) moves(before act, after ...act) error {
	asks := func(cluster string) act {
		return m.crowd(60, 0, map[string]string{clustersKey: cluster, wavesKey: "m1;*"})
	}
	return m.tell(m.careful, asks("m1"), m.quiet, before, pause(time.Minute), asks("m2"), pause(30*time.Minute), m.held(60, 60), m.inCluster(60, "m2"), m.tellAll(after...), m.approved(""), m.quiet)
}

// inCluster counts the Works on a cluster.
func (m *machine) inCluster(n int, cluster string) act {
	return func() error {
		if all := m.countOn(cluster); all != n {
			return fmt.Errorf("there are %d Works on %s, not %d", all, cluster, n)
		}
		return nil
	}
}

func (m *machine) countOn(cluster string) (n int) {
	for key := range m.works() {
		if strings.HasPrefix(key, "karmada-es-"+cluster+"/") {
			n++
		}
	}
	return n
}

// goes has Karmada not reach a cluster any more.
func (m *machine) comes(cluster string) act {
	return func() error { return m.setReady(cluster, true) }
}

// clustersStall has the Clusters listed again, by a list that stalls.
func (m *machine) clustersStall() error {
	of := func(verb string) fault.Match { return fault.Match{Resource: "clusters", Verb: verb} }
	return m.tell(m.fails(of("watch"), fault.Expire()), m.ended("clusters"), pause(100*time.Millisecond), m.fails(of("watch"), fault.Drop()), m.fails(of("list"), fault.Drop()), pause(50*time.Second))
}

func (m *machine) goes(cluster string) act {
	return func() error { return m.setReady(cluster, false) }
}
