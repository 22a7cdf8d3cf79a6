package machine

import (
	"errors"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/daemon"
	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/simulation/apiserver"
	"github.com/karmada-target/karmada-mirror/simulation/fault"
	"github.com/karmada-target/karmada-mirror/simulation/model"
)

var configuration = apiserver.Ref{Resource: configMaps, Namespace: daemon.Namespace, Name: "karmada-mirror"}

const approvals = "karmada.target/approve-deletions"

// markedLater is what the agent of a cluster can do to a Work of its own: its mark says another time.
func (m *machine) markedLater(cluster string) act {
	return func() error {
		const mark = "karmada.target/deletion-held"
		for key, work := range m.works() {
			_, why, isHeld := strings.Cut(work.GetAnnotations()[mark], " ")
			if strings.HasPrefix(key, "karmada-es-"+cluster+"/") && isHeld {
				_, err := m.store.Modify(workRef(key), "", func(o apiserver.Object) {
					setField("2999-01-01T00:00:00.000Z "+why, "metadata", "annotations", mark)(&unstructured.Unstructured{Object: o})
				})
				return err
			}
		}
		return errors.New("no Work is held")
	}
}

// approves writes an approval by hand.
func (m *machine) approves(text *string) act {
	return func() error {
		return m.modified(configuration, setField(*text, "metadata", "annotations", approvals))()
	}
}

// approval notes the approval in force.
func (m *machine) approval(text *string) act {
	return func() error {
		*text = (&unstructured.Unstructured{Object: m.store.Get(configuration)}).GetAnnotations()[approvals]
		if *text == "" {
			return errors.New("there is no approval")
		}
		return nil
	}
}

// breakers are stories of deletions that are held.
const heldPages = `karmada_mirror_deletions_held{resource="configmaps"}`

var breakers = map[string]func(*machine) error{
	"OneClusterSpoilsAMark": func(m *machine) error { // the daemon corrects it, and approvals are for the others meanwhile
		return m.tell(m.careful, m.crowd(60, 0, to("m1,m2")), m.quiet, m.crowdGoes(60), pause(time.Minute), m.held(120, 120), m.stopped, m.markedLater("m2"),
			m.runs("deletions approve --yes", "not approved: the mark on Work karmada-es-m2/"), m.started, pause(2*time.Minute), m.held(1, 1), m.approved(""), pause(time.Minute), m.quiet)
	},
	"MarkOnAnothersWork": func(m *machine) error { // is none: an agent can make one, without our label
		forged := object("work.karmada.io/v1alpha1", "Work", "karmada-es-m1", "forged", map[string]any{"spec": map[string]any{}})
		u := &unstructured.Unstructured{Object: forged}
		u.SetLabels(map[string]string{"karmada.target/deletion-held": "true"})
		u.SetAnnotations(map[string]string{"karmada.target/deletion-held": "2000-01-01T00:00:00.000Z configmaps the source does not exist"})
		create := func() error { _, err := m.store.Create(works, forged); return err }
		return m.tell(m.page(to("m1")), m.quiet, create, m.runs("deletions list", "No deletion is held."), m.refuses("deletions approve --yes", "no deletion is held"))
	},
	"ApprovedIsNotHeld": func(m *machine) error { // while its cluster takes its time
		return m.tell(m.careful, m.crowd(60, 0, to("m1")), m.quiet, m.crowdGoes(60), pause(time.Minute), m.held(60, 60), m.halts("m1"), m.approved(""), pause(time.Minute),
			m.counted(`karmada_mirror_works{member_cluster="m1",state="deleting"}`, 60), m.runs("deletions list", "No deletion is held."), m.quiet)
	},
	"LeaderDiesBeforeItMarks": func(m *machine) error {
		var from time.Time
		return m.tell(now(&from), m.heldUnmarked(m.leaderDies, pause(2*time.Minute), m.counted(heldPages, 30), m.leaderDies, pause(time.Minute)),
			pause(5*time.Minute), m.held(30, 30), m.approved(""), pause(10*time.Minute), m.deletes(&from, 70, 70), m.deleted(pageOf(80)), pause(10*time.Second), m.deletes(&from, 71, 71))
	},
	"HeldUnmarkedThenNotKnown": func(m *machine) error { // the namespace is not in the configuration for a moment
		return m.heldUnmarked(pause(11*time.Minute), m.configured("b", none), pause(10*time.Second), m.configured("*", none), pause(time.Minute))()
	},
	"MarksAreNotInTheCacheYet": func(m *machine) error { // and what members report has the sources looked at again
		var from time.Time
		lags := func() error {
			for i := range m.servers {
				m.lag(i, works, 1600*time.Millisecond)
			}
			return nil
		}
		return m.tell(m.careful, m.crowd(100, 0, to("m1")), m.quiet, pause(10*time.Second), lags, pause(10*time.Second), now(&from), m.crowdGoes(60), m.worksReport, pause(800*time.Millisecond), m.some(60, 80, m.deleted), pause(20*time.Second), m.deletes(&from, 0, 0), m.held(80, 80))
	},
	"NextLeaderLacksTheMarks": func(m *machine) error { // until its watch of Works has caught up
		var from time.Time
		return m.tell(m.careful, m.crowd(100, 0, to("m1")), m.quiet, m.crowdGoes(40), pause(30*time.Second), m.countOf(60), m.standbyMisses("works"), m.some(40, 70, m.deleted), pause(10*time.Second), m.held(30, 30), now(&from), m.leaderDies, m.some(70, 90, m.deleted), pause(20*time.Second),
			m.requests(&from, 0, 0, done(works, "delete")))
	},
	"SuspicionEndsBesideWhatIsNotServed": func(m *machine) error {
		var from time.Time
		m.more = "- {group: nothing.example.org, resource: nothings}\n"
		return m.tell(m.heldUnmarked(m.leaderDies, pause(time.Minute)), pause(5*time.Minute), m.held(30, 30), m.approved(""), pause(30*time.Minute), m.leaderDies, pause(time.Minute), now(&from), m.deleted(pageOf(80)), pause(2*time.Minute), m.deletes(&from, 1, 1))
	},
	"SuspicionIsOfWhatWasThere": func(m *machine) error { // then: what begins later makes no next leader suspicious
		var from time.Time
		return m.tell(m.heldUnmarked(m.leaderDies, pause(time.Minute)), pause(5*time.Minute), m.approved(""), m.quiet, pause(3*time.Hour), m.space("c", nil, nil), m.puts(model.Key{Kind: "ConfigMap", Namespace: "c", Name: "page-0"}, to("m1")), pause(10*time.Second),
			m.leaderDies, pause(time.Minute), now(&from), m.deleted(pageOf(80)), pause(time.Minute), m.deletes(&from, 1, 1))
	},
	"HeldUnmarkedHasLeft": func(m *machine) error { // the configuration: it counts for nothing, neither there nor on its cluster
		var from time.Time
		selects := map[string]string{selectorKey: "tier=edge"}
		return m.tell(m.careful, m.cluster("m2", nil), m.cluster("m3", nil), m.cluster("m1", edge), m.crowd(60, 0, selects), m.puts(inB(pages[0]), selects), m.quiet,
			m.admits(denies("UPDATE"), m.cluster("m1", nil), pause(30*time.Second), m.countOf(61), m.counted(heldPages, 61), m.configured("b", none), m.cluster("m1", edge), pause(time.Minute)), m.counted(heldPages, 0),
			pause(30*time.Minute), now(&from), m.cluster("m1", nil), pause(time.Minute), m.deletes(&from, 1, 1))
	},
	"HeldUnmarkedHasLeftForLong": func(m *machine) error { // and karmada-webhook is back at once
		return m.tell(m.heldUnmarked(m.configured("b", none), pause(time.Second)), pause(11*time.Minute), m.configured("*", none), pause(time.Minute), m.held(30, 30))
	},
	"SuspicionIsOfANamespace": func(m *machine) error { // what is held by it there holds up no other
		var from time.Time
		return m.tell(m.heldUnmarked(m.puts(inB(pages[0]), to("m1")), m.leaderDies, pause(time.Minute)), pause(15*time.Minute), m.held(30, 30), now(&from), m.deleted(inB(pages[0])), pause(2*time.Minute), m.deletes(&from, 1, 1), m.held(30, 30))
	},
	"ListLacksSources": func(m *machine) error { // which are there: nothing is held, and no one alarmed
		return m.tell(m.careful, m.crowd(100, 0, to("m1")), m.quiet, m.misled("configmaps", fault.Truncate(0)), pause(10*time.Minute), m.countOf(100), m.held(0, 0), m.told("DeletionHeld", 0, 0))
	},
	"NextLeaderCannotListWhatIsHeld": func(m *machine) error {
		return m.heldUnmarked(m.fails(watchOf("configmaps"), broken), m.fails(fault.Match{Verb: "list", Resource: "configmaps", AllNamespaces: true}, broken), m.restarted, pause(12*time.Minute), m.calm, pause(2*time.Minute))()
	},
	"NextLeaderCannotLead": func(m *machine) error {
		return m.heldUnmarked(m.fails(watchOf("clusters"), broken), m.fails(fault.Match{Verb: "list", Resource: "clusters"}, broken), m.restarted, pause(13*time.Minute), m.calm, pause(2*time.Minute))()
	},
	"HeldComesBackRefused": func(m *machine) error { // an approval is for nothing then
		var from time.Time
		return m.tell(m.careful, m.crowd(60, 0, to("m1")), m.quiet, m.crowdGoes(60), pause(time.Minute), m.held(60, 60), m.crowd(60, 0, to("!m1")), pause(time.Minute), m.held(0, 0), m.counted(heldPages, 0),
			m.refuses("deletions approve --yes", "no deletion is held"), now(&from), m.crowdGoes(60), pause(time.Minute), m.held(60, 60), m.deletes(&from, 0, 0))
	},
	"HeldComesBackForbidden": func(m *machine) error { // its Namespace has lost the label that the authorization wants
		var from time.Time
		return m.tell(m.careful, func() error { return m.configure("*", "gold", true) }, m.space("a", nil, map[string]string{"tier": "gold"}), m.crowd(60, 0, to("m1")), m.quiet, m.crowdGoes(60), pause(time.Minute), m.held(60, 60),
			m.space("a", nil, nil), m.crowd(60, 0, to("m1")), pause(time.Minute), m.held(0, 0), m.countOf(60), now(&from), m.crowdGoes(60), pause(time.Minute), m.held(60, 60), m.deletes(&from, 0, 0))
	},
	"MoreIsHeldIsTold": func(m *machine) error { // within a minute, after some has come back, and for as long as it lasts
		return m.tell(m.careful, m.crowd(200, 0, to("m1")), m.quiet, m.crowdGoes(60), pause(30*time.Second), m.held(60, 60), m.told("DeletionHeld karmada-mirror held 60", 1, 1), m.some(60, 150, m.deleted), pause(2*time.Minute), m.held(150, 150), m.told("DeletionHeld karmada-mirror held 150", 1, 1),
			m.crowd(145, 0, to("m1")), pause(time.Minute), m.held(5, 5), m.told("DeletionHeld", 2, 3), m.some(0, 60, m.deleted), pause(2*time.Minute), m.held(65, 65), m.told("DeletionHeld karmada-mirror held 65", 1, 1),
			m.eventsExpire, pause(30*time.Minute), m.told("DeletionHeld karmada-mirror held 65", 1, 1), m.eventsExpire, m.leaderDies, pause(3*time.Minute), m.told("DeletionHeld karmada-mirror held 65", 1, 1), m.told("DeletionHeld", 1, 1), m.approved(""), m.quiet, m.eventsExpire, pause(30*time.Minute), m.told("DeletionHeld", 0, 0))
	},
	"ApprovedWhileAMarkIsUnderWay": func(m *machine) error { // which no list has shown
		var from time.Time
		late := fault.Match{Verb: "patch", Resource: "works", Name: render.Identity{Kind: "ConfigMap", Namespace: "a", Name: "page-7"}.WorkName()}
		return m.tell(m.careful, m.crowd(60, 0, to("m1")), m.quiet, m.fails(late, fault.Delay(4*time.Second)), now(&from), m.crowdGoes(60), pause(3*time.Second),
			m.approved(""), pause(time.Minute), m.deletes(&from, 59, 59), m.held(1, 1), m.calm, m.approved(""), m.quiet)
	},
	"ApprovedWhileItWasElsewhere": func(m *machine) error { // what an approval did not show, it does not cover later
		var from time.Time
		alsoB := func(do func(k model.Key) act) act { return m.some(0, 60, func(k model.Key) act { return do(inB(k)) }) }
		return m.tell(m.careful, m.crowd(60, 0, to("m1")), alsoB(func(k model.Key) act { return m.puts(k, to("m1")) }), m.quiet, m.crowdGoes(60), pause(time.Minute), m.held(60, 60),
			m.part("own.yaml", withoutA), pause(time.Minute), alsoB(m.deleted), pause(time.Minute), m.held(120, 120),
			m.approved(""), pause(time.Minute), m.held(60, 60), now(&from), m.part("own.yaml", ""), pause(2*time.Minute), m.deletes(&from, 0, 0), m.held(60, 60), m.approved(""), m.quiet, m.deletes(&from, 60, 60))
	},
	"HeldDuringACleanUp": func(m *machine) error { // which is approved, and takes some seconds
		return m.tell(m.careful, m.crowd(200, 0, to("m1")), m.quiet, m.crowdGoes(60), pause(time.Minute), m.held(60, 60), m.told("DeletionHeld karmada-mirror held 60", 1, 1), m.slowly("delete", works.Resource, fault.DelayAnswer(4*time.Second)), m.approved(""), pause(5*time.Second),
			m.some(60, 121, m.deleted), pause(2*time.Minute), m.calm, m.held(61, 61), m.told("DeletionHeld karmada-mirror held 61", 1, 1), m.told("DeletionHeld", 2, 2))
	},
	"HeldJustBeforeItEnds": func(m *machine) error { // and after the last renewal of the Lease
		var from time.Time
		return m.tell(m.careful, m.crowd(100, 0, to("m1")), m.quiet, m.crowdGoes(40), pause(30*time.Second), m.countOf(60), now(&from),
			m.admits(denies("UPDATE"), m.some(40, 70, m.deleted), pause(1500*time.Millisecond), m.stopped, m.started, pause(3*time.Minute), m.deletes(&from, 0, 0)))
	},
	"HeldBesideApproved": func(m *machine) error { // which are denied, and count for nothing
		return m.tell(m.careful, m.crowd(200, 0, to("m1")), m.quiet, m.crowdGoes(60), pause(time.Minute), m.held(60, 60), m.admits(denies("DELETE"), m.approved(""), pause(20*time.Minute), m.some(60, 121, m.deleted), pause(3*time.Minute), m.counted(heldPages, 61), m.told("DeletionHeld karmada-mirror held 61", 1, 1),
			m.some(121, 180, m.deleted), pause(3*time.Minute), m.counted(heldPages, 120), m.told("DeletionHeld karmada-mirror held 120", 1, 1), m.told("DeletionHeld", 3, 3)))
	},
	"ApprovedBeforeItIsRecorded": func(m *machine) error { // that it was held, beside what still is
		return m.tell(m.careful, m.crowd(60, 0, to("m1")), m.some(0, 60, func(k model.Key) act { return m.puts(inB(k), to("m1")) }), m.quiet, m.admits(noEvents(apierrors.NewInternalError(errors.New("broken"))), m.crowdGoes(60), m.some(0, 60, func(k model.Key) act { return m.deleted(inB(k)) }), pause(time.Minute), m.held(120, 120),
			m.approved("-n a"), pause(2*time.Minute)), m.counted(heldPages, 60), pause(10*time.Minute), m.told(`DeletionHeld karmada-mirror held 60 deletions of configmaps in namespace "b": more`, 1, 1), m.told("DeletionHeld", 1, 1))
	},
	"HeldWhileWorksAreListed": func(m *machine) error { // which hangs: then it is still held, and the Event is renewed
		return m.tell(m.careful, m.crowd(60, 0, to("m1")), m.quiet, m.crowdGoes(60), pause(time.Minute), m.held(60, 60), m.stays(heldPages, 60, time.Minute), m.eventsExpire, m.misled(works.Resource, fault.Drop()), m.stays(heldPages, 60, 35*time.Minute),
			m.counted(`karmada_mirror_works{member_cluster="m1",state="applied"}`, 60), m.told("DeletionHeld", 1, 1), m.calm, m.approved(""), m.counted(heldPages, 0))
	},
	"ApprovedButDenied": func(m *machine) error { // that it waits for an approval is not true any more, until that is taken back
		return m.tell(m.careful, m.crowd(60, 0, to("m1")), m.quiet, m.crowdGoes(60), pause(time.Minute), m.counted(heldPages, 60),
			m.admits(denies("DELETE"), m.approved(""), pause(time.Minute), m.counted(heldPages, 0), m.counted(`karmada_mirror_refused_sources{reason="NotAuthorized"}`, 60),
				m.approves(new(string)), pause(time.Minute)), m.told("ApprovalWithdrawn", 1, 1), m.held(60, 60), m.approved(""), m.quiet)
	},
	"Breaker": func(m *machine) error {
		var from, again time.Time
		old, future := "", "configmaps=2999-01-01T00:00:00Z"
		return m.tell(m.careful, m.crowd(60, 0, to("m1")), m.quiet, now(&from), m.crowdGoes(60), pause(10*time.Second), m.held(60, 60), m.deletes(&from, 0, 0), m.told("DeletionHeld", 1, 100),
			m.counted(`karmada_mirror_deletions_held{resource="configmaps"}`, 60), m.crowd(58, 0, to("m1")), pause(10*time.Second), m.held(2, 2), m.restarted, pause(time.Minute), m.held(2, 2), m.deletes(&from, 0, 0),
			m.leaderDies, pause(time.Minute), m.held(2, 2), m.runs("deletions list --works", "page-58", "page-59"), m.runs("deletions approve --dry-run"), pause(time.Minute), m.held(2, 2), m.deletes(&from, 0, 0),
			m.approved(""), m.quiet, m.deletes(&from, 2, 2), m.approval(&old),
			m.crowd(60, 0, to("m1")), m.quiet, now(&again), m.crowdGoes(60), pause(10*time.Second), m.held(60, 60), m.approves(new(string)), m.approves(&old), m.approves(&future), pause(time.Minute),
			m.told("InvalidApproval", 1, 1), m.held(60, 60), m.deletes(&again, 0, 0), m.approves(&old), m.restarted, pause(time.Minute), m.held(60, 60), m.approves(&future), m.runs("deletions approve --yes --resource configmaps", "removed from ConfigMap"), m.quiet, m.deletes(&again, 60, 60))
	},
	"BreakerOfOneNamespace": func(m *machine) error {
		var from time.Time
		return m.tell(m.careful, m.crowd(60, 0, to("m1")), m.puts(inB(pages[0]), to("m1")), m.puts(inB(pages[1]), to("m1,m2")), m.quiet, now(&from), m.crowdGoes(60), pause(10*time.Second), m.held(60, 60),
			m.deleted(inB(pages[0])), m.puts(inB(pages[1]), to("m2")), pause(10*time.Second), m.deletes(&from, 2, 2), m.held(60, 60), m.refuses("deletions approve --yes -n b", "held"), pause(time.Minute), m.held(60, 60),
			m.approved("-n a"), m.quiet)
	},
	"BreakerOfTwoLeaders": func(m *machine) error {
		var from time.Time
		acts := []act{m.careful, m.flags("--leader-elect=false"), m.crowd(70, 0, to("m1")), m.quiet, now(&from)}
		for i := range 70 {
			acts = append(acts, m.deleted(pageOf(i)), pause(100*time.Millisecond))
		}
		return m.tell(append(acts, pause(time.Minute), m.requests(&from, 1, 51, done(works, "delete")), m.held(1, 70), m.approved(""), m.quiet)...)
	},
	"BreakerKeepsOverrides": func(m *machine) error {
		return m.tell(m.override, m.careful, m.crowd(60, 0, to("m1")), m.quiet, m.crowdGoes(60), pause(10*time.Second), m.held(60, 60), m.overrideGoes, pause(time.Minute), m.isOverridden, m.held(60, 60), m.approved(""), m.quiet)
	},
	"BreakerForeground": func(m *machine) error {
		var from time.Time
		return m.tell(m.careful, m.crowd(60, 0, foreground), m.quiet, now(&from), m.crowdGoes(60), pause(10*time.Minute), m.held(120, 120), m.deletes(&from, 0, 0), m.told("DeletionPending", 1, 60), m.approved("--member m1"), pause(time.Minute),
			m.held(60, 60), m.approved(""), m.quiet)
	},
	"BreakerOfADefault": func(m *machine) error { // one mistake in a Namespace
		var from time.Time
		return m.tell(m.careful, m.defaults("m1"), m.crowd(60, 0, nil), m.quiet, now(&from), m.defaults(none), pause(time.Minute), m.held(60, 60), m.deletes(&from, 0, 0), m.defaults("m1"), m.quiet, m.held(0, 0), m.deletes(&from, 0, 0))
	},
	"BreakerOfALabel": func(m *machine) error { // one mistake in a Cluster
		var from time.Time
		return m.tell(m.careful, m.crowd(60, 0, map[string]string{selectorKey: "tier=edge"}), m.quiet, now(&from), m.cluster("m1", map[string]string{"tier": "edgy"}), pause(time.Minute), m.deletes(&from, 0, 0), m.held(60, 60),
			m.cluster("m1", map[string]string{"tier": "edge"}), m.quiet, m.held(0, 0))
	},
	"BreakerOfACluster": func(m *machine) error { // as many Works on each of three clusters: a third of all, and all that one has
		var from time.Time
		return m.tell(m.set("deletion: {holdAbove: {works: 20, percent: 60}}\n"), m.cluster("m1", edge), m.cluster("m2", edge), m.cluster("m3", edge), m.crowd(30, 0, map[string]string{selectorKey: "tier=edge"}), m.puts(inB(pages[0]), to("m1,m2")), m.quiet, now(&from),
			m.cluster("m1", map[string]string{"tier": "egde"}), pause(time.Minute), m.held(30, 30), m.deletes(&from, 0, 0), m.told("DeletionHeld", 1, 100), m.runs("deletions list --works", "page-29", "labels of this cluster"),
			m.restarted, m.puts(inB(pages[0]), to("m2")), pause(2*time.Minute), m.held(30, 30), m.deletes(&from, 1, 1), m.cluster("m1", edge), m.quiet, m.held(0, 0),
			m.cluster("m1", nil), pause(time.Minute), m.held(30, 30), m.refuses("deletions approve --yes --member m2", "held"), m.approved("--member m1"), m.quiet, m.deletes(&from, 31, 31))
	},
	"BreakerOfACountBeforeItNarrowed": func(m *machine) error { // what leaves the configuration is no longer in the share
		var from time.Time
		inBoth := m.tellAll(m.crowd(6, 0, map[string]string{selectorKey: "tier=edge"}), m.some(0, 6, func(k model.Key) act { return m.puts(inB(k), map[string]string{selectorKey: "tier=edge"}) }))
		core := func(k model.Key) act { return m.puts(inB(k), map[string]string{selectorKey: "tier=core"}) }
		return m.tell(m.set("deletion: {holdAbove: {works: 4, percent: 60}}\n"), m.cluster("m1", edge), inBoth, m.quiet, now(&from), m.some(0, 2, core), pause(500*time.Millisecond), m.cluster("m1", nil),
			pause(700*time.Millisecond), m.configured("a", none), pause(time.Minute), m.held(6, 8), m.deletes(&from, 2, 2))
	},
	"BreakerOfWhatHasLeft": func(m *machine) error { // and is purged, and comes back: it has forgotten
		more := ""
		leaves := func() error { more, m.more = m.more, ""; return m.configure("*", none, true) }
		back := func() error { m.more = more; return m.configure("*", none, true) }
		return m.tell(m.careful, m.widgets(60), m.widgetsGo(60), pause(time.Minute), m.held(60, 60), leaves, pause(time.Minute), m.runs("purge --resource gateways.example.org --yes"), pause(time.Minute), m.countOf(0),
			back, pause(time.Hour), m.someWidgets(2), pause(time.Minute), m.countOf(2), m.widgetsGo(1), pause(time.Minute), m.held(0, 0), m.countOf(1))
	},
	// Deletions in the foreground.
	"ForegroundIsStripped": func(m *machine) error { // of its finalizer, each time
		strips := func(op string, gr schema.GroupResource, _ string, o, _ apiserver.Object) (apiserver.Object, error) {
			if op != "DELETE" && gr == configMaps {
				(&unstructured.Unstructured{Object: o}).SetFinalizers(nil)
			}
			return o, nil
		}
		return m.tell(m.admits(strips, m.page(foreground), pause(30*time.Minute), m.isFinalized(false), m.countOf(2), m.told("NotAuthorized", 1, 1)))
	},
	"ForegroundIsFreedByHand": func(m *machine) error { // while something keeps the finalizer: it fails no more
		keeps := func(op string, gr schema.GroupResource, _ string, o, old apiserver.Object) (apiserver.Object, error) {
			if op == "UPDATE" && gr == configMaps && (&unstructured.Unstructured{Object: old}).GetDeletionTimestamp() != nil {
				return nil, apierrors.NewForbidden(gr, "", errors.New(`admission webhook "no.example" denied the request: no`))
			}
			return o, nil
		}
		none := func(o apiserver.Object) { (&unstructured.Unstructured{Object: o}).SetFinalizers(nil) }
		byHand := func() error { _, err := m.store.Modify(refOf(thePage), "", none); return err }
		const failing = `karmada_mirror_failing_sources{queue="finalizer"}`
		return m.tell(m.page(foreground), m.quiet, m.admits(keeps, m.gone, pause(time.Minute), m.counted(failing, 1)), byHand, pause(10*time.Second), m.stays(failing, 0, time.Minute), m.quiet)
	},
	"ForegroundNamespaceGoes": func(m *machine) error {
		return m.tell(m.crowd(300, 0, foreground), m.quiet, m.spaceGoes("a"), m.spaceIsGone("a"), m.quiet)
	},
	"ForegroundWithoutTheRight": func(m *machine) error { // background then
		mayNotPatch := m.forbids(func(verb string, r apiserver.Ref) bool { return r.Resource == configMaps && verb == "patch" })
		return m.tell(mayNotPatch, m.crowd(3, 0, foreground), pause(time.Minute), m.told("NotAuthorized", 3, 3), m.deleted(pageOf(1)), pause(10*time.Second), m.allows, m.quiet, m.crowd(3, 0, foreground), m.quiet,
			mayNotPatch, m.deleted(pageOf(2)), pause(time.Minute), m.allows, m.quiet)
	},
	"ForegroundLeavesTheConfiguration": func(m *machine) error {
		return m.tell(m.crowd(3, 0, foreground), m.quiet, m.isFinalized(true), m.configured("b", none), pause(time.Minute), m.isFinalized(false), m.deleted(pageOf(1)), m.configured("*", none), m.quiet, m.isFinalized(true))
	},
	"ForegroundLeavesDuringAStart": func(m *machine) error {
		return m.tell(m.crowd(3, 0, foreground), m.quiet, m.isFinalized(true), m.stopped, m.fails(fault.Match{Resource: "works"}, fault.Delay(time.Minute)), m.started, pause(30*time.Second), m.configured("b", none), m.calm,
			pause(3*time.Minute), m.isFinalized(false))
	},
	"ForegroundWhileAClusterIsAway": func(m *machine) error {
		return m.tell(m.crowd(3, 0, foreground), m.quiet, func() error { return m.setReady("m1", false) }, m.deleted(pageOf(1)), pause(10*time.Minute), m.told("DeletionPending", 1, 1), m.leaderDies, pause(10*time.Minute), m.told("DeletionPending", 1, 1), m.quiet)
	},
	"ForegroundKeepsOtherFinalizers": func(m *machine) error {
		others := setField([]any{"example.io/other"}, "metadata", "finalizers")
		keeps := func(o apiserver.Object) { others(&unstructured.Unstructured{Object: o}) }
		isThere := func() error { _, err := m.store.Modify(refOf(thePage), "", keeps); return err }
		return m.tell(m.page(to("m1")), isThere, m.page(foreground), m.quiet, m.page(to("m1")), m.quiet, m.gone, isThere)
	},
	"ForegroundInOrder": func(m *machine) error { // the finalizer first and last, the Works in between
		var from time.Time
		return m.tell(now(&from), m.page(foreground), m.quiet, m.inOrder(&from, "patch configmaps", "create works", "create works"), now(&from), m.gone, m.quiet, m.inOrder(&from, "delete works", "delete works", "patch configmaps"))
	},
}

// withoutA leaves namespace a out of the configuration, in a part of it.
const withoutA = configurationHead + "resources: [{resource: configmaps, namespaces: [\"*\", \"!a\"]}]\n"

// heldUnmarked has deletions held while karmada-webhook does not answer, which deletions do not ask, and checks that none is
// carried out after what happens then.
func (m *machine) heldUnmarked(then ...act) act {
	var from time.Time
	return m.tellAll(m.careful, m.crowd(100, 0, to("m1")), m.quiet, m.crowdGoes(40), pause(30*time.Second), m.countOf(60), now(&from),
		m.admits(denies("UPDATE"), m.some(40, 70, m.deleted), pause(30*time.Second), m.countOf(60), m.counted(heldPages, 30), m.tellAll(then...), m.deletes(&from, 0, 0)))
}

// worksReport has Karmada report something new of all Works.
func (m *machine) worksReport() (err error) {
	for key := range m.works() {
		_, failed := m.store.Modify(workRef(key), "status", func(o apiserver.Object) {
			list, _, _ := unstructured.NestedSlice(o, "status", "conditions")
			setField(append(list, map[string]any{"type": "Seen", "status": "True", "reason": "Now", "message": time.Now().String(), "lastTransitionTime": "2000-01-01T00:00:00Z"}), "status", "conditions")(&unstructured.Unstructured{Object: o})
		})
		err = errors.Join(err, failed)
	}
	return err
}

// some does the same to some pages.
func (m *machine) some(from, to int, do func(model.Key) act) act {
	var acts []act
	for i := from; i < to; i++ {
		acts = append(acts, do(pageOf(i)))
	}
	return m.tellAll(acts...)
}
