package machine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/karmada-target/karmada-mirror/simulation/fault"
	"github.com/karmada-target/karmada-mirror/simulation/model"
)

const followsKey = "karmada.target/follows"

// withFollowers plays with objects that go where others go, in chains and circles.
func withFollowers() *scene {
	s := *onAPIServer
	s.annotations = maps.Clone(onAPIServer.annotations)
	maps.Copy(s.annotations, map[string]choices{
		clustersKey: {none: 8, "": 2, "m1": 3, "m1,m2": 2, "m*": 1, "*,!m2": 1, "m3": 2, "m1,!m2": 1},
		followsKey:  {none: 8, "deployment/web": 8, "configmap/page-0": 2, "configmaps/page-1,deployments.apps/web": 2, "configmap/page-2": 2, "thing/web": 1, "horizontalpodautoscaler.autoscaling/web": 1, "": 1},
	})
	return &s
}

func after(leaders string) map[string]string { return map[string]string{followsKey: leaders} }

// goesTo checks where the page has a Work.
func (m *machine) goesTo(want ...string) act {
	return func() error {
		var has []string
		for _, cluster := range m.scene.clusters {
			if m.works()[model.WorkKey(cluster, thePage)] != nil {
				has = append(has, cluster)
			}
		}
		if !slices.Equal(has, want) {
			return fmt.Errorf("the page is on %v, not %v", has, want)
		}
		return nil
	}
}

// retainsIn checks in which clusters the Deployment's replicas are left to the member.
func (m *machine) retainsIn(want ...string) act {
	return func() error {
		var has []string
		for _, cluster := range m.scene.clusters {
			if work := m.works()[model.WorkKey(cluster, inA(deployment))]; work != nil {
				if copied, err := model.CopyOf(work); err == nil && copied.Retains {
					has = append(has, cluster)
				}
			}
		}
		if !slices.Equal(has, want) {
			return fmt.Errorf("the replicas are left to %v, not to %v", has, want)
		}
		return nil
	}
}

func init() {
	maps.Copy(stories, map[string]func(*machine) error{
		"FollowsALeader": func(m *machine) error {
			return m.tell(m.page(after("deployment/web")), m.quiet, m.goesTo(), m.told("UnknownCluster", 1, 1), m.web(to("m1,m2")), m.quiet, m.goesTo("m1", "m2"), m.web(to("m2,m3")), m.quiet, m.goesTo("m2", "m3"),
				m.deleted(inA(deployment)), m.quiet, m.goesTo())
		},
		"FollowsAndAsks": func(m *machine) error {
			return m.tell(m.space("a", to("m2"), nil), m.web(to("m1")), m.page(map[string]string{followsKey: "deployment/web", clustersKey: "m3"}), m.quiet, m.goesTo("m1", "m3"),
				m.page(map[string]string{followsKey: "deployment/web", clustersKey: ""}), m.quiet, m.goesTo("m1"), m.page(after("deployment/web")), m.quiet, m.goesTo("m1"))
		},
		"FollowsTwoLeaders": func(m *machine) error {
			return m.tell(m.web(to("m1,m2")), m.puts(inA(pages[1]), to("m2,m3")), m.page(after("deployments.apps/web, configmap/page-1")), m.quiet, m.goesTo("m1", "m2", "m3"),
				m.deleted(inA(deployment)), m.quiet, m.goesTo("m2", "m3"), m.deleted(inA(pages[1])), m.quiet, m.goesTo())
		},
		"FollowsAChain": func(m *machine) error {
			return m.tell(m.web(to("m1")), m.scaler(after("deployment/web")), m.puts(inA(pages[1]), after("horizontalpodautoscaler/web")), m.page(after("configmap/page-1")), m.quiet, m.goesTo("m1"), m.web(to("m3")), m.quiet, m.goesTo("m3"),
				m.cluster("m1", map[string]string{"tier": "last"}), m.web(map[string]string{selectorKey: "tier=last"}), m.quiet, m.goesTo("m1"), m.cluster("m1", nil), m.cluster("m2", map[string]string{"tier": "last"}), m.quiet, m.goesTo("m2"))
		},
		// The Deployment keeps its replicas in the members where its autoscaler follows it: also where that goes by the labels of a cluster.
		"FollowsWhatItScales": func(m *machine) error {
			return m.tell(m.web(to("m1")), m.scaler(after("deployment/web")), m.quiet, m.retainsIn("m1"), m.web(to("m1,m2")), m.quiet, m.retainsIn("m1", "m2"), m.scaler(after("configmap/page-0")), m.page(to("m2")), m.quiet, m.retainsIn("m2"),
				m.page(map[string]string{selectorKey: "tier=last"}), m.cluster("m1", map[string]string{"tier": "last"}), m.quiet, m.retainsIn("m1"))
		},
		"FollowsTooFar": func(m *machine) error { // what is farther away is not known, so nothing is deleted for it
			return m.tell(m.web(to("m1")), m.scaler(after("deployment/web")), m.puts(inA(pages[2]), after("horizontalpodautoscaler/web")), m.puts(inA(pages[1]), to("m2")), m.page(after("configmap/page-1")), m.quiet, m.goesTo("m2"),
				m.puts(inA(pages[1]), after("configmap/page-2")), m.quiet, m.goesTo("m2"))
		},
		"FollowsItself": func(m *machine) error {
			return m.tell(m.page(to("m1")), m.quiet, m.page(after("configmap/page-1")), m.puts(inA(pages[1]), after("configmap/page-0")), m.quiet, m.goesTo("m1"), m.told("InvalidAnnotation", 2, 4),
				m.puts(inA(pages[1]), to("m2")), m.quiet, m.goesTo("m2"))
		},
		"FollowsWhatIsRefused": func(m *machine) error { // its leader keeps what it has, and so does it
			return m.tell(m.web(to("m1")), m.page(after("deployment/web")), m.quiet, m.web(map[string]string{clustersKey: "m2", "karmada.target/suspend": "yes"}), m.quiet, m.goesTo("m1"), m.web(to("m2")), m.quiet, m.goesTo("m2"))
		},
		"FollowsWhatIsNotWatched": func(m *machine) error {
			return m.tell(m.web(to("m1")), m.page(after("deployment/web")), m.quiet, m.page(after("pod/web")), m.quiet, m.goesTo("m1"), m.page(after("deployment/other")), m.quiet, m.goesTo())
		},
		// The leader's cache still shows that it is gone when it is there again.
		"FollowsBehindAStaleCache": func(m *machine) error {
			return m.tell(m.web(to("m1")), m.page(after("deployment/web")), m.quiet, m.shut("deployments"), m.deleted(inA(deployment)), pause(20*time.Second), m.goesTo("m1"), m.web(to("m1")), m.changed(thePage, 2), pause(time.Minute), m.goesTo("m1"), m.quiet, m.goesTo("m1"))
		},
		// The leader is deleted with its definition, and so held: its Work, and what follows it, stay.
		"FollowsWhatIsHeld": func(m *machine) error {
			again := func() error { _, err := m.store.Create(definitions, definitionOf(gadgets)); return err }
			return m.tell(m.defined, m.follows("Ignore"), m.someWidgets(1), m.page(after("gateway.example.org/"+widgetRef(0).Name)), pause(time.Minute), m.goesTo("m1"), m.undefined, again, pause(30*time.Minute), m.held(1, 1), m.goesTo("m1"))
		},
		"FollowsByAShortType": func(m *machine) error { // another resource of that name may come
			return m.tell(m.defined, m.follows("Ignore"), m.someWidgets(1), m.page(after("gateway/"+widgetRef(0).Name)), pause(time.Minute), m.goesTo(), m.told("InvalidAnnotation", 1, 1))
		},
		"FollowsWhatIsReadSlowly": func(m *machine) error {
			slowly := m.tellAll(m.slowly("get", "deployments", fault.Delay(400*time.Millisecond)), m.slowly("get", "configmaps", fault.Delay(400*time.Millisecond)))
			return m.tell(m.web(to("m1,m2")), m.puts(inA(pages[1]), to("m2")), m.puts(inA(pages[2]), to("m2")), m.page(after("deployment/web,configmap/page-1,configmap/page-2")), m.quiet, slowly, m.web(to("m2")), pause(10*time.Minute), m.goesTo("m2"))
		},
		"FollowsWhatIsListedLate": func(m *machine) error {
			return m.tell(m.web(to("m1")), m.page(after("deployment/web")), m.quiet, m.listedLate("deployments"), m.restarted, pause(5*time.Minute), m.told("InvalidAnnotation", 0, 0), m.goesTo("m1"))
		},
		"FollowsAndExpands": func(m *machine) error {
			labels := map[string]string{"tier": "gold"}
			return m.tell(m.web(to("m1")), m.page(map[string]string{followsKey: "deployment/web", expandKey: "true"}), m.quiet, m.cluster("m1", labels), m.quiet, func() error { return m.putCluster("m1", labels, "eu") }, m.quiet)
		},
		"FollowsNoName": func(m *machine) error {
			return m.tell(m.page(to("m1")), m.quiet, m.page(after("deployment/..")), m.quiet, m.goesTo("m1"), m.told("InvalidAnnotation", 1, 1))
		},
		// The cache shows the leader on m2, where it was for a moment; it has no Work, since its content cannot be made.
		"FollowsByALiveRead": func(m *machine) error {
			leads := func(cluster string) act {
				return func() error {
					return m.put(inA(pages[1]), 3, map[string]string{clustersKey: cluster, expandKey: "true"}, nil)
				}
			}
			return m.tell(leads("m1"), m.page(after("configmap/page-1")), m.quiet, m.goesTo("m1"), m.slowly("get", "configmaps", fault.Delay(300*time.Millisecond)), leads("m2"), pause(20*time.Millisecond), m.shut("configmaps"), leads("m1"), pause(time.Minute), m.goesTo("m1", "m2"), m.quiet, m.goesTo("m1"))
		},
		// What is gone itself needs no word of its leaders.
		"FollowsWhatCannotBeRead": func(m *machine) error {
			refused := m.fails(fault.Match{Resource: "deployments", Verb: "get"}, fault.Refuse(apierrors.NewInternalError(errors.New("broken"))))
			return m.tell(m.web(to("m1")), m.page(after("deployment/web")), m.quiet, refused, m.gone, pause(time.Minute), m.goesTo())
		},
		"FollowsThroughARestart": func(m *machine) error {
			return m.tell(m.web(to("m1,m2")), m.page(after("deployment/web")), m.quiet, m.web(to("m2")), m.restarted, m.quiet, m.goesTo("m2"), m.deleted(inA(deployment)), m.restarted, m.quiet, m.goesTo())
		},
	})
}
