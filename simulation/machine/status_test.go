package machine

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/simulation/apiserver"
	"github.com/karmada-target/karmada-mirror/simulation/fault"
	"github.com/karmada-target/karmada-mirror/simulation/model"
)

// statuses are stories of statuses, and configurations those of the configuration, definitions and clusters.
var statuses = map[string]func(*machine) error{
	"StatefulSetIsNotDoneEarly": func(m *machine) error { // before its controller has seen an update
		ref := apiserver.Ref{Resource: schema.GroupResource{Group: "apps", Resource: "statefulsets"}, Namespace: "a", Name: "db"}
		updated := func() error {
			_, err := m.store.Modify(ref, "", func(o apiserver.Object) {
				setField("db:2", "spec", "serviceName")(&unstructured.Unstructured{Object: o})
			})
			return err
		}
		// isDone is what kubectl rollout status compares (StatefulSetStatusViewer of k8s.io/kubectl, v0.35.4).
		isDone := func(o apiserver.Object) bool {
			n := func(path ...string) int64 { n, _, _ := unstructured.NestedInt64(o, path...); return n }
			return n("status", "observedGeneration") >= n("metadata", "generation") && n("status", "readyReplicas") >= 3 && n("status", "updatedReplicas") >= 3
		}
		isEarly := func() error {
			for range 2000 {
				if time.Sleep(time.Millisecond); isDone(m.store.Get(ref)) && !isDone(m.karmada.Member("m1").Store.Get(ref)) {
					return fmt.Errorf("it is done in its status: %v", m.store.Get(ref)["status"])
				}
			}
			return nil
		}
		m.more = "- {group: apps, resource: statefulsets, aggregateStatus: true}\n"
		db := object("apps/v1", "StatefulSet", "a", "db", map[string]any{"spec": map[string]any{"replicas": int64(3), "serviceName": "db"}})
		return m.tell(m.careful, pause(10*time.Second), func() error { return m.adds(ref.Resource, db, to("m1")) }, pause(time.Minute), updated, isEarly)
	},
	"StatusesOfOneNamespaceAreForbidden": func(m *machine) error { // those of another are written in between
		acts := []act{m.web(to("m1")), m.puts(inB(deployment), to("m1")), m.quiet, m.forbids(func(verb string, r apiserver.Ref) bool {
			return r.Resource.Resource == "deployments/status" && verb == "patch" && r.Namespace == "b"
		})}
		for i := range 20 {
			acts = append(acts, m.changed(inB(deployment), i%3+1), m.changed(inA(deployment), i%3+1), pause(15*time.Second))
		}
		return m.tell(append(acts, m.logged("cannot write statuses", 1, 1), m.allows, m.quiet)...)
	},
	"StatusIsNeverAnswered": func(m *machine) error { // and holds up others for a minute
		return m.tell(m.web(to("m1")), m.quiet, m.fails(fault.Match{Verb: "patch", Resource: "deployments"}, fault.Drop()), m.changed(inA(deployment), 3), pause(2*time.Minute), m.logged("cannot aggregate the status", 1, 1), m.calm, m.quiet)
	},
	"RecreatedThenAwayDuringARestart": func(m *machine) error {
		return m.tell(m.web(to("m1")), m.quiet, func() error { return m.recreate(inA(deployment)) }, pause(6*time.Minute), func() error { return m.setReady("m1", false) }, m.restarted, pause(time.Minute), m.quiet)
	},
	"ContestedStatus": func(m *machine) error {
		var from time.Time
		other := func(o apiserver.Object) {
			setField([]any{map[string]any{"type": "Available", "status": "False", "reason": "Other"}}, "status", "conditions")(&unstructured.Unstructured{Object: o})
		}
		contests := func() error {
			for range 300 {
				if _, err := m.store.Modify(refOf(inA(deployment)), "status", other); err != nil {
					return err
				}
				time.Sleep(200 * time.Millisecond)
			}
			return nil
		}
		patches := func(c call) bool { return done(deployments, "patch")(c) && c.Subresource == "status" }
		return m.tell(m.flags("--resync-period=10m"), m.web(to("m1,m2")), m.quiet, pause(time.Minute), now(&from), contests, m.requests(&from, 4, 6, patches), m.told("StatusContested", 1, 1), now(&from), pause(30*time.Minute), m.requests(&from, 0, 0, patches),
			pause(time.Hour), m.quiet)
	},
	"MembersLie": func(m *machine) error {
		var from time.Time
		conditions := []any{map[string]any{"type": "Applied", "status": "Unknown", "reason": "x", "message": "", "lastTransitionTime": "2000-01-01T00:00:00Z"}}
		lies := []map[string]any{
			{"conditions": conditions}, {"manifestStatuses": []any{map[string]any{"identifier": map[string]any{"kind": "Secret", "ordinal": int64(7), "resource": "", "version": ""}, "status": map[string]any{"x": "y"}, "health": "Unhealthy"}}},
			{"conditions": conditions, "manifestStatuses": []any{}}, {},
		}
		tells := func() error {
			for i := range 100 {
				for key := range m.works() {
					if _, err := m.store.Modify(workRef(key), "status", func(o apiserver.Object) { o["status"] = maps.Clone(lies[i%len(lies)]) }); err != nil {
						return err
					}
				}
				time.Sleep(time.Second)
			}
			return nil
		}
		return m.tell(m.flags("--resync-period=1m"), m.crowd(5, 0, to("m1,m2")), m.quiet, pause(40*time.Minute), now(&from), tells, m.requests(&from, 0, 0, of(works)), m.told("", 0, 0), m.edited(2), m.quiet)
	},
	"HostileValues": func(m *machine) error {
		evil := "a\n{\"level\":\"error\"}\x1b[31m\u2028\x00,<b>"
		return m.tell(m.crowd(3, 0, to("m1")), m.quiet, m.puts(pageOf(0), to(evil)), m.puts(pageOf(1), map[string]string{selectorKey: evil}), m.puts(pageOf(2), map[string]string{clustersKey: "m1", "karmada.target/replicas": evil}),
			m.space("b", to(evil), nil), pause(time.Minute), m.admits(func(op string, gr schema.GroupResource, _ string, o, _ apiserver.Object) (apiserver.Object, error) {
				if gr == works && op != "DELETE" {
					return nil, errors.New(evil)
				}
				return o, nil
			}, m.web(to("m1")), pause(time.Minute)), m.told("InvalidAnnotation", 3, 100), m.isClean, m.crowd(3, 0, to("m1")), m.space("b", nil, nil), m.quiet)
	},
	"SecretsAreNotTold": (*machine).secretsAreNotTold,
}

var configurations = map[string]func(*machine) error{
	"ResourceLeavesAndReturns": func(m *machine) error {
		var from time.Time
		return m.tell(m.crowd(5, 0, to("m1,m2")), m.quiet, now(&from), m.configured("b", none), m.changed(pageOf(1), 2), m.deleted(pageOf(2)), pause(time.Hour), m.requests(&from, 0, 0, of(works)), m.countOf(10), m.configured("*", none), m.quiet)
	},
	"SecondPart": func(m *machine) error { // own.yaml beside config.yaml; a mistake in it leaves the rest in force
		var from time.Time
		secret := model.Key{Kind: "Secret", Namespace: "a", Name: "key"}
		part := func(text string) act { return m.part("own.yaml", text) }
		return m.tell(m.page(to("m1")), part(configurationHead+"resources: [{resource: secrets, namespaces: [a]}]\n"), m.secret("key", to("m1")), pause(10*time.Second), m.isThere(secret, "key-*"), part(configurationHead+"resources: [{resource: secrets, spaces: [a]}]\n"),
			pause(10*time.Second), m.told("InvalidConfiguration", 1, 1), m.logged("own.yaml", 1, 100), now(&from), m.edited(2), pause(time.Minute), m.written(2), m.isThere(secret, "key-*"), m.deletes(&from, 0, 0), part(configurationHead+"resources: [{resource: secrets, namespaces: [a]}]\n"),
			m.secretGoes("key"), pause(10*time.Second), m.isThere(secret), part(""), m.quiet)
	},
	"VersionIsNotServed": func(m *machine) error {
		var from time.Time
		return m.tell(m.careful, m.scaler(to("m1")), m.web(to("m1")), m.page(to("m1")), m.quiet, now(&from), m.rewritten(`resource: horizontalpodautoscalers`, `resource: horizontalpodautoscalers, version: v9`), pause(time.Hour), m.edited(2), m.written(2), m.isRetained, m.deletes(&from, 0, 0), m.held(0, 0),
			m.counted(`karmada_mirror_watch_state{resource="horizontalpodautoscalers.autoscaling",state="pending"}`, 1), m.restarted, pause(time.Minute), m.deletes(&from, 0, 0), m.configured("*", none), m.quiet)
	},
	"InvalidConfigurations": func(m *machine) error {
		for i, text := range []string{"", "a: b: c", configurationHead + "resource: []\n", configurationHead + "resources: [{resource: nodes}]\n", configurationHead + "resources: [{resource: leases, group: coordination.k8s.io}]\n"} {
			err := m.tell(m.page(to("m1")), m.quiet, m.part("config.yaml", text), pause(time.Minute), m.told("InvalidConfiguration", i+1, i+1), m.counted("karmada_mirror_config_last_reload_successful", 0), m.edited(2), m.written(2), m.gone, m.vanished,
				m.configured("*", none), m.counted("karmada_mirror_config_last_reload_successful", 1), m.quiet)
			if err != nil {
				return fmt.Errorf("%q: %w", text, err)
			}
		}
		return m.tell(m.page(to("m1")), m.quiet, m.configMapGoes("karmada-mirror"), pause(time.Minute), m.counted("karmada_mirror_config_last_reload_successful", 0), m.edited(2), m.written(2), m.configured("*", none), m.quiet)
	},
	"PoliciesAreLost": func(m *machine) error { // from the cache
		return m.tell(m.page(to("m1,m2")), m.override, m.quiet, m.misled("overridepolicies", fault.Truncate(0)), pause(time.Minute), m.edited(2), pause(10*time.Second), m.isOverridden, m.calm, m.expired("overridepolicies"), m.quiet)
	},
	"ListHangsAtTheStart": func(m *machine) error { // and counts no more than one that fails
		acts := []act{m.page(to("m1")), m.quiet, m.stopped, m.fails(watchOf("deployments"), fault.Drop()), m.fails(fault.Match{Verb: "list", Resource: "deployments"}, fault.Drop()), m.far(time.Second), m.started, m.edited(2)}
		for range 160 {
			acts = append(acts, pause(time.Second), m.unready())
		}
		return m.tell(append(acts, pause(2*time.Minute), m.isWritten(2), m.isReady, m.quiet)...)
	},
	"PoliciesCannotBeListed": func(m *machine) error {
		return m.tell(m.override, m.stopped, m.fails(fault.Match{Verb: "list", Resource: "overridepolicies"}, broken), m.fails(watchOf("overridepolicies"), broken), m.page(to("m1")), m.started, pause(10*time.Minute), m.nothingIsThere, m.quiet)
	},
	// Definitions.
	"DefinitionIsDeleted": func(m *machine) error {
		var from time.Time
		return m.tell(m.careful, m.widgets(3), now(&from), m.undefined, pause(time.Minute), m.held(3, 3), m.deletes(&from, 0, 0), m.restarted, pause(time.Minute), m.held(3, 3), m.logged("their CRD was deleted", 1, 100), m.logged("more than deletion.holdAbove allows", 0, 0), m.deletes(&from, 0, 0), m.approved(""), pause(time.Minute), m.countOf(0), m.set(breakerOff), m.quiet)
	},
	"DefinitionIsRecreated": func(m *machine) error {
		var from time.Time
		return m.tell(m.widgets(3), now(&from), m.undefined, pause(time.Minute), m.defined, pause(time.Minute), m.deletes(&from, 0, 0), m.held(3, 3), m.someWidgets(2), pause(time.Minute), m.held(1, 1), m.deletes(&from, 0, 0),
			m.approved(""), pause(time.Minute), m.countOf(2), m.widgetsGo(2), pause(time.Minute), m.countOf(0), m.quiet)
	},
	"DefinitionIsRecreatedUnseen": func(m *machine) error {
		var from time.Time
		return m.tell(m.widgets(3), pause(time.Minute), now(&from), m.fails(watchOf("customresourcedefinitions"), fault.Silence()), m.ended("customresourcedefinitions"), pause(10*time.Second), m.undefined, m.defined, pause(time.Minute), m.deletes(&from, 0, 0),
			m.approved(""), pause(time.Minute), m.countOf(0), m.calm, m.ended("customresourcedefinitions"), m.quiet)
	},
	"DefinitionIsDeletedUnserved": func(m *machine) error {
		var from time.Time
		return m.tell(m.widgets(3), now(&from), m.unserves, pause(time.Minute), m.counted(`karmada_mirror_watch_state{resource="gateways.example.org",state="pending"}`, 1), m.undefined, pause(time.Minute), m.held(3, 3), m.deletes(&from, 0, 0),
			m.runs("deletions list", "gateways.example.org"), m.approved("--resource gateways.example.org"), pause(time.Minute), m.countOf(0), m.quiet)
	},
	"DefinitionIsReplacedAtOnce": func(m *machine) error { // within the second in which its objects were created
		second := func() error { time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second))); return nil }
		return m.tell(m.widgets(1), m.widgetsGo(1), pause(time.Minute), second, m.someWidgets(3), pause(100*time.Millisecond), m.undefined, func() error { _, err := m.store.Create(definitions, definitionOf(gadgets)); return err },
			pause(time.Minute), m.held(3, 3), m.approved(""), pause(time.Minute), m.countOf(0))
	},
	"DefinitionGoesThenARollout": func(m *machine) error { // and an approval, or it leaves the configuration and is purged
		leaves := func() error { m.more = ""; return m.configure("*", none, true) }
		return m.tell(m.widgets(3), m.undefined, pause(time.Minute), m.held(3, 3), m.restarted, pause(time.Minute), m.approved(""), pause(10*time.Minute), m.countOf(0),
			m.defined, m.someWidgets(3), pause(time.Minute), m.undefined, pause(time.Minute), m.held(3, 3), leaves, pause(time.Minute), m.runs("purge --resource gateways.example.org --yes"), pause(time.Minute), m.countOf(0))
	},
	"DefinitionGoesWhileDown": func(m *machine) error {
		var from time.Time
		return m.tell(m.widgets(3), m.stopped, m.undefined, now(&from), m.started, pause(10*time.Minute), m.deletes(&from, 0, 0), m.countOf(3), m.defined, m.someWidgets(2), pause(time.Minute), m.held(1, 1), m.deletes(&from, 0, 0), m.approved(""), m.widgetsGo(2), pause(time.Minute), m.countOf(0), m.quiet)
	},
	// Clusters.
	"ClusterLeavesAndReturns": func(m *machine) error {
		var from time.Time
		return m.tell(m.crowd(10, 0, to("m1,m2")), m.quiet, now(&from), func() error { return m.removeCluster("m1") }, pause(10*time.Second), func() error { return m.joinReady("m1") }, m.quiet, m.deletes(&from, 0, 0), m.requests(&from, 10, 10, done(works, "create")))
	},
	"Fleet": func(m *machine) error {
		acts, from := []act{}, time.Time{}
		for i := range 20 {
			acts = append(acts, m.joins(fmt.Sprintf("m%d", 4+i)), m.puts(pageOf(i%10), to("m*")), pause(300*time.Millisecond))
			if i%5 == 4 {
				acts = append(acts, func() error { return m.removeCluster(fmt.Sprintf("m%d", 2+i)) })
			}
		}
		creates := func() error {
			seen := map[string]int{}
			for _, c := range m.audit.those(from, done(works, "create")) {
				name := c.Namespace + "/" + c.created()
				if seen[name]++; seen[name] > 1 {
					return fmt.Errorf("%s was created twice", name)
				}
			}
			return nil
		}
		return m.tell(m.crowd(10, 0, to("m*")), m.tellAll(acts...), m.quiet, creates)
	},
	"JoinsBeforeItsNamespace": func(m *machine) error { // no write is tried in vain
		acts, from := []act{m.crowd(3, 0, to("e*"))}, time.Now()
		for i := range 10 {
			acts = append(acts, m.joins(fmt.Sprint("e", i)))
		}
		late := func(_ string, gr schema.GroupResource, _ string, o, _ apiserver.Object) (apiserver.Object, error) {
			if name, _, _ := unstructured.NestedString(o, "metadata", "name"); gr == namespaces && name > "karmada-es-e4" && time.Since(from) < time.Minute {
				return nil, errors.New("later")
			}
			return o, nil
		}
		return m.tell(m.admits(late, append(acts, m.counted(`karmada_mirror_failing_sources{queue="mirror"}`, 3), pause(2*time.Minute))...), m.quiet, m.requests(&from, 30, 30, of(works, "create")))
	},
	"ExecutionNamespaceTerminates": func(m *machine) error {
		space := apiserver.Ref{Resource: namespaces, Name: "karmada-es-m2"}
		return m.tell(m.crowd(5, 0, to("m1,m2")), m.quiet, func() error { return m.setReady("m2", false) }, func() error {
			for _, k := range m.keys() {
				m.touched[target{k, "m2"}] = true
			}
			return m.store.Delete(space, metav1.DeleteOptions{})
		}, m.page(to("m1,m2,m3")), m.changed(pageOf(1), 3), pause(10*time.Minute), func() error { return m.hasContent(pageOf(1), "3") }, m.isThere(thePage, "*", "*"), func() error { return m.setReady("m2", true) }, m.quiet)
	},
	"ClusterReturns": func(m *machine) error { // long before Karmada would try again
		isThere := func() error {
			for i := range 3 {
				if why := m.judgeMember(target{pageOf(i), "m1"}); why != "" {
					return errors.New(why)
				}
			}
			return nil
		}
		return m.tell(m.crowd(3, 0, to("m1,m2")), m.quiet, func() error { return m.setReady("m1", false) }, pause(time.Minute), m.changed(pageOf(1), 3), m.deleted(pageOf(2)), pause(10*time.Minute), m.comes("m1"), pause(5*time.Second), isThere, m.quiet)
	},
}

// joins makes a cluster join, which the model then knows.
func (m *machine) joins(name string) act {
	return func() error {
		s := *m.scene
		s.clusters = append(s.clusters[:len(s.clusters):len(s.clusters)], name)
		m.scene = &s
		return m.joinReady(name)
	}
}

// part writes a part of the configuration; an empty own.yaml is removed.
func (m *machine) part(key, text string) act {
	if key != "config.yaml" && text == "" {
		return m.modified(configuration, setField(nil, "data", key))
	}
	return m.modified(configuration, setField(text, "data", key))
}

// rewritten replaces a text in the configuration, behind the model's back.
func (m *machine) rewritten(old, new string) act {
	return func() error {
		text, _, _ := unstructured.NestedString(m.store.Get(configuration), "data", "config.yaml")
		if !strings.Contains(text, old) {
			return fmt.Errorf("%q is not in the configuration", old)
		}
		return m.part("config.yaml", strings.Replace(text, old, new, 1))()
	}
}

// isClean checks that no line of a log and no Event has control characters.
func (m *machine) isClean() (err error) {
	isEvil := func(r rune) bool { return r < ' ' && r != '\t' || r == '\x7f' || r == '\u2028' }
	m.each(func(r *replica) {
		for _, line := range r.current.log.said("") {
			if strings.ContainsFunc(strings.TrimSuffix(line, "\n"), isEvil) {
				err = fmt.Errorf("in the log: %q", line)
			}
		}
	})
	for _, text := range m.events() {
		if strings.ContainsFunc(text, isEvil) {
			err = fmt.Errorf("in an Event: %q", text)
		}
	}
	return err
}
