package machine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/cli"
	"github.com/karmada-target/karmada-mirror/simulation/apiserver"
	"github.com/karmada-target/karmada-mirror/simulation/fault"
)

// command runs a command of the command line, and returns what it prints.
func (m *machine) command(args ...string) (string, error) {
	return m.commandOver(context.Background(), m.store.NewServer(), args...)
}

// commandOver is command by another way to the API server.
func (m *machine) commandOver(ctx context.Context, transport http.RoundTripper, args ...string) (string, error) {
	root, out := cli.NewOver(transport), &bytes.Buffer{}
	root.SetOut(out)
	root.SetErr(out)
	root.SetIn(&bytes.Buffer{})
	root.SetArgs(append(args, "--kubeconfig="+m.kubeconfig, "--cache-dir="+filepath.Join(filepath.Dir(m.kubeconfig), "cache")))
	err := root.ExecuteContext(ctx)
	return out.String(), err
}

// runs runs a command that must succeed, and print some texts.
func (m *machine) runs(args string, texts ...string) act {
	return func() error {
		out, err := m.command(strings.Fields(args)...)
		for _, text := range texts {
			if !strings.Contains(out, text) && err == nil {
				err = fmt.Errorf("%q is missing", text)
			}
		}
		if err != nil {
			return fmt.Errorf("karmada-mirror %s: %w\n%s", args, err, out)
		}
		return nil
	}
}

// refuses runs a command that must fail, with an error or an output that says something.
func (m *machine) refuses(args, text string) act {
	return func() error {
		out, err := m.command(strings.Fields(args)...)
		if err == nil || !strings.Contains(out+err.Error(), text) {
			return fmt.Errorf("karmada-mirror %s: %w, without %q\n%s", args, err, text, out)
		}
		return nil
	}
}

// silent runs a command that must succeed without a warning.
func (m *machine) silent(args string) act {
	return func() error {
		out, err := m.command(strings.Fields(args)...)
		if err == nil && strings.Contains(out, "warning: ") {
			err = errors.New("it warns")
		}
		if err != nil {
			return fmt.Errorf("karmada-mirror %s: %w\n%s", args, err, out)
		}
		return nil
	}
}

// approved approves the deletions that are held.
func (m *machine) approved(args string) act { return m.runs("deletions approve --yes " + args) }

// saysAway is what is said of a cluster that is away.
const saysAway = "the cluster is not ready: what Karmada reports of its health is from before"

// noEvents is an API server that takes no Events.
func noEvents(because error) apiserver.Admission {
	return func(_ string, gr schema.GroupResource, _ string, o, _ apiserver.Object) (apiserver.Object, error) {
		if gr.Resource == "events" {
			return nil, because
		}
		return o, nil
	}
}

// commands are stories of the command line.
var commands = map[string]func(*machine) error{
	"ApprovedAndDenied": func(m *machine) error { // what is approved is not held, though a webhook denies it, and an approval adds nothing
		const approved = "its deletion is approved"
		return m.tell(m.careful, m.crowd(60, 0, to("m1,m2")), m.quiet, m.crowd(60, 0, to("m2")), pause(time.Minute), m.held(60, 60), m.runs("status -A --failed", "its deletion is held"),
			m.admits(denies("DELETE"), m.approved(""), pause(20*time.Minute), m.counted(heldPages, 0), m.held(60, 60), m.runs("status -A --failed", "page-0", approved),
				m.runs("explain configmaps/page-0 -n a", approved),
				m.runs("deletions list", "No deletion is held.", "approved, and not carried out yet: 60 deletions of configmaps in namespace a in m1"), m.runs("deletions list -o json", `"approved": true`), m.refuses("deletions approve --yes", "no deletion is held"),
				m.runs("deletions list --config-map karmada-system/other", "60")), pause(10*time.Minute), m.quiet, m.held(0, 0))
	},
	"Adopted":      (*machine).adopted,
	"AdoptRefuses": (*machine).adoptRefuses,
	"AdoptedAgain": (*machine).adoptedAgain,
	"WaitBesideADeletion": func(m *machine) error { // on a cluster that is away, and held
		wait := func(what string) act { return m.runs("wait " + what + " -n a --timeout=5s") }
		return m.tell(m.careful, m.crowd(60, 0, to("m1,m2")), m.web(to("m1,m2")), m.quiet, m.goes("m2"), pause(time.Minute), m.crowd(60, 1, to("m1")), m.web(to("m1")), pause(time.Minute), m.held(60, 60),
			wait("configmaps/page-0 --for=applied"), wait("deployments/web --for=applied"), wait("deployments/web --for=healthy"), m.web(nil), pause(time.Minute), m.refuses("wait deployments/web -n a --for=gone --timeout=5s", "m2: Work"))
	},
	"FailedIsWhatIsStuck": func(m *machine) error { // a wave, a deletion that is refused, and a suspension
		failed := func(texts ...string) act { return m.runs("status -A --failed", texts...) }
		suspended := func() error {
			return m.put(thePage, 2, map[string]string{clustersKey: "*", wavesKey: "m1;*", suspendKey: "true"}, nil)
		}
		return m.tell(m.page(inTwoWaves), m.quiet, failed("Nothing needs your attention; objects: 1, clusters: 4."), m.halts("m1"), m.edited(2), pause(20*time.Minute), failed("page-0", "m1", "wave 1"),
			m.admits(denies("UPDATE"), suspended, pause(20*time.Minute), failed("m2", "its options or labels are not as wanted")), m.quiet,
			m.page(to("m1,m2")), m.quiet, m.admits(denies("DELETE"), m.page(to("m2")), pause(20*time.Minute), failed("m1", "about to be removed")), m.quiet)
	},
	"SilenceNeedsAttention": func(m *machine) error { // Karmada 1.19 says nothing of a Work whose kind the member does not know
		silent := func() error { m.karmada.Member("m1").Halt(true); return nil }
		const list = "status -n a --needs-attention"
		return m.tell(silent, m.page(to("m1,m2")), pause(30*time.Second), m.runs(list, "Nothing needs your attention"), pause(time.Minute), m.runs(list, "page-0", "Karmada has not applied it yet"))
	},
	"MisspelledInSuspend": func(m *machine) error { // it is refused, though each of its clusters is fine, and may be waited for
		const nowhere = `karmada.target/suspend: no cluster "m9" has joined yet`
		suspends := func(clusters string) act { return m.page(map[string]string{clustersKey: clusters, suspendKey: "m9"}) }
		return m.tell(suspends("m1,m2"), m.quiet, m.counted(`karmada_mirror_refused_sources{reason="UnknownCluster"}`, 1), m.runs("status -A --failed -o wide", "page-0", nowhere), m.runs("wait configmaps/page-0 -n a --for=applied --timeout=5s"),
			suspends("m1"), m.quiet, m.runs("status -A -o wide", nowhere))
	},
	"NewOneInVersions": func(m *machine) error { // of a kind of which another is preferred
		says := func(args, text string) act {
			return func() error {
				out, err := m.command(strings.Fields(args)...)
				if !strings.Contains(out, text) || strings.Contains(out, "example.io/v2") || strings.Contains(out, "KindNotServed") {
					return fmt.Errorf("karmada-mirror %s: %w\n%s", args, err, out)
				}
				return nil
			}
		}
		return m.tell(m.puts(inA(widget), to("*")), m.quiet, m.servesWidgets("v1", "v2"), pause(10*time.Second), m.stopped, m.puts(inB(widget), to("m1")), says("diff widgets wheel -n b", "example.io/v1"), says("diff widgets.v2.example.io wheel -n b", "example.io/v1"),
			says("explain widgets wheel -n b", "m1"), says("status -A", "wheel"), m.started, m.quiet)
	},
	"TellsWhatIsInForce": func(m *machine) error { // not what the ConfigMap has, with a mistake in it, but what the daemon still does
		const stays = "This command uses it, too."
		return m.tell(m.page(to("m1,m2")), m.quiet, m.silent("status -A"), m.part("own.yaml", configurationHead+"resorces: []\n"), pause(5*time.Second),
			m.runs("status -A", `unknown field "resorces"`, stays, "page-0"), m.runs("wait configmaps/page-0 -n a --timeout=5s", stays), m.runs("explain configmaps/page-0 -n a", stays, "its resource is in the configuration"),
			m.runs("diff configmaps/page-0 -n a", stays), m.refuses("purge --resource services --yes", "resorces"),
			m.part("own.yaml", configurationHead), pause(5*time.Second), m.silent("status -A"), m.quiet)
	},
	"TellsWhatItCannotWatch": func(m *machine) error { // of what a command is about
		forbidden := fault.Refuse(apierrors.NewForbidden(configMaps, "", errors.New("no")))
		lists := fault.Match{Verb: "list", Resource: "configmaps", AllNamespaces: true}
		return m.tell(m.page(to("m1")), m.quiet, m.fails(lists, forbidden), m.fails(watchOf("configmaps"), forbidden), m.ended("configmaps"), pause(time.Minute), m.silent("status deployments -A"),
			m.runs("status -A", "the daemon cannot watch configmaps", "403 Forbidden"), m.runs("explain configmaps/page-0 -n a", "the daemon cannot watch configmaps"), m.calm, m.edited(2), pause(3*time.Minute), m.silent("status -A"), m.quiet)
	},
	"TellsThatNoReplicaLeads": func(m *machine) error {
		const none = "no replica of karmada-mirror leads, so nothing is written"
		return m.tell(m.page(to("m1")), m.quiet, m.stopped, m.runs("status -A", none, "has released the Lease", "page-0"), m.started, m.quiet, m.silent("status -A"))
	},
	"AwayIsNotHealthy": func(m *machine) error { // whatever was reported before
		return m.tell(m.web(to("m1,m2")), m.quiet, pause(10*time.Minute), m.goes("m1"), pause(3*time.Hour), m.runs("status -A -o json", saysAway), m.runs("explain deployments/web -n a", saysAway), m.refuses("wait deployments/web -n a --for=healthy --timeout=5s", saysAway),
			m.runs("wait deployments/web -n a --for=applied"), m.quiet)
	},
	"SkippedIsTold": func(m *machine) error { // though the object is looked at again before the Event is recorded
		return m.tell(m.heldBehind("m1,m3"), m.admits(noEvents(apierrors.NewInternalError(errors.New("broken"))), func() error { return m.deleteWork(target{thePage, "m3"}) }, pause(10*time.Second)), m.keeps("m3", "2"), pause(time.Minute), m.told("WaveSkipped", 1, 1))
	},
	"EventsAreForbidden": func(m *machine) error { // for two hours; what is over then is not told
		return m.tell(m.careful, m.crowd(60, 0, to("m1")), m.quiet, m.admits(noEvents(apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "it", errors.New("no"))), m.puts(inB(pages[0]), to("m1,nowhere")), m.crowdGoes(60), pause(2*time.Minute), m.approved(""), pause(2*time.Hour)),
			pause(20*time.Minute), m.told("UnknownCluster", 1, 1), m.told("DeletionHeld", 0, 0), m.quiet)
	},
	"EventsAreInAnotherEtcd":  func(m *machine) error { return m.eventsInAnotherEtcd(1_000_000) }, // so that their versions say nothing of those of Works
	"EventsAreInAYoungerEtcd": func(m *machine) error { return m.eventsInAnotherEtcd(-20) },
	"EventsAreRefused": func(m *machine) error { // for five minutes
		return m.tell(m.careful, m.crowd(60, 0, to("m1")), m.page(to("m1")), m.quiet, m.admits(noEvents(apierrors.NewInternalError(errors.New("broken"))), m.crowdGoes(60), m.puts(inB(pages[0]), to("m1,nowhere")), pause(5*time.Minute)), pause(5*time.Minute), m.told("DeletionHeld", 1, 5), m.told("UnknownCluster", 1, 1), m.approved(""), m.quiet)
	},
	"EventsAreForbiddenOfWhatComesAndGoes": func(m *machine) error { // one that waits to be recorded is enough
		var from time.Time
		flaps := make([]act, 30)
		for i := range flaps {
			flaps[i] = m.tellAll(func() error { return m.joinReady("m9") }, pause(2*time.Second), func() error { return m.removeCluster("m9") }, pause(58*time.Second))
		}
		return m.tell(m.admits(noEvents(apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "it", errors.New("no"))), m.crowd(10, 0, to("m1,m9")), m.tellAll(flaps...), pause(10*time.Minute), now(&from), pause(8*time.Minute), m.requests(&from, 20, 20, of(schema.GroupResource{Resource: "events"}))),
			pause(5*time.Minute), m.told("UnknownCluster", 10, 10), m.quiet)
	},
	"CommandsAgree": func(m *machine) error {
		var from time.Time
		look := m.tellAll(m.runs("diff -A"), m.runs("status -A"), m.runs("status configmaps -n a -o json", `"page-0"`), m.runs("explain configmaps/page-0 -n a", "m1", "m2"), m.runs("wait configmaps/page-0 -n a --for=applied"), m.runs("deletions list"))
		return m.tell(m.crowd(10, 0, to("m1,m2")), m.web(to("m1")), m.override, m.quiet, now(&from), look, m.runs("wait deployments/web -n a --for=healthy"), m.requests(&from, 0, 0, done(works)),
			m.workload, m.quiet, m.runs("diff -A"), m.runs("status -A"), m.defaults(none), m.page(nil), m.quiet, m.runs("wait configmaps/page-0 -n a --for=gone"))
	},
	"DiffSaysWhatIsWritten": func(m *machine) error {
		return m.tell(m.crowd(3, 0, to("m1,m2")), m.quiet, m.stopped, m.edited(2), m.puts(pageOf(1), to("m2,m3")), m.refuses("diff -A", "page-0"), m.refuses("diff -A", "page-1"),
			m.refuses("wait configmaps/page-1 -n a --timeout=5s", "m3"), m.started, m.quiet, m.runs("diff -A"))
	},
	"WaitForClusterThatIsAway": func(m *machine) error { // it has the Work that it had, and no other
		away, wait := func() error { return m.setReady("m2", false) }, "wait configmaps/page-0 -n a --timeout=5s"
		return m.tell(m.page(to("m1,m2")), m.quiet, pause(10*time.Minute), away, pause(time.Second), m.runs(wait+" --for=applied"), m.edited(2), pause(5*time.Second), m.refuses(wait+" --for=applied", "m2: the cluster is not ready"), m.runs("status configmaps -n a", "not ready"),
			m.runs("explain configmaps/page-0 -n a", "the cluster is not ready"), m.quiet, m.runs(wait+" --for=healthy"))
	},
	"WaitSeesItHappen": func(m *machine) error {
		done := make(chan error, 1)
		return m.tell(m.stopped, m.web(to("m1,m2")), func() error {
			go func() { _, err := m.command("wait", "deployments/web", "-n", "a", "--for=healthy"); done <- err }()
			return nil
		},
			pause(10*time.Second), m.started, func() error { return <-done }, m.quiet)
	},
	"FailedShowsARefusedDeletion": func(m *machine) error { // of a source that is gone
		return m.tell(m.page(to("m1")), m.quiet, m.admits(denies("DELETE"), m.gone, pause(20*time.Minute), m.countOf(1), m.runs("status -A --failed", "page-0")), m.quiet)
	},
	"PurgedAndPreserved": func(m *machine) error { // but the member does not have it, so Karmada does not complete the deletion
		return m.tell(m.page(map[string]string{clustersKey: "m1", suspendKey: "true", preserveKey: "true"}), m.quiet, m.part("own.yaml", withoutA), pause(time.Minute), m.runs("purge --resource configmaps --yes"), pause(10*time.Minute), m.countOf(0))
	},
	"Purge": func(m *machine) error {
		purge := "purge --resource configmaps --yes"
		var from time.Time
		other := configurationHead + "resources: [{resource: configmaps, namespaces: [a]}]\n"
		return m.tell(m.crowd(5, 0, to("m1,m2")), m.puts(inB(pages[0]), to("m1")), m.quiet, m.configured("b", none), m.quiet, now(&from),
			m.configMap("another", other), m.runs("purge --resource configmaps --dry-run"), m.countOf(11), m.runs(purge), m.countOf(11),
			m.configMap("another", configurationHead+"resources: nonsense\n"), m.refuses(purge, "another daemon"), m.countOf(11), m.deletes(&from, 0, 0),
			m.configMapGoes("another"), m.runs(purge), pause(time.Minute), m.countOf(1), m.configured("*", none), m.quiet)
	},
}

func (m *machine) eventsInAnotherEtcd(ahead int) error {
	return m.tell(m.fails(fault.Match{Resource: "events"}, fault.OwnEtcd(ahead)), m.page(inTwoWaves), pause(2*time.Minute), m.halts("m1"), m.edited(2), pause(15*time.Minute), m.keeps("m2", "1"), m.told("WaveHeld page-0 wave 1 (m1) waits: m1 has not been seen to be applied: its Events are in another etcd", 1, 1))
}
