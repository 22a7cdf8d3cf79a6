package machine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"github.com/karmada-target/karmada-mirror/simulation/fault"
	"github.com/karmada-target/karmada-mirror/simulation/model"
)

// step is one thing that happens.
type step struct {
	what string
	do   func(*machine) error
}

// choices are values to draw from, each with its weight.
type choices map[string]int

// none is the choice of no value.
const none = "-"

func (c choices) draw(t *rapid.T, label string) string {
	var all []string
	for _, value := range slices.Sorted(maps.Keys(c)) {
		all = append(all, slices.Repeat([]string{value}, c[value])...)
	}
	return rapid.SampledFrom(all).Draw(t, label)
}

func drawAnnotations(t *rapid.T, from map[string]choices) map[string]string {
	drawn := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(from)) {
		if value := from[key].draw(t, key); value != none {
			drawn[key] = value
		}
	}
	return drawn
}

func drawLabels(t *rapid.T, key string, c choices) map[string]string {
	if value := c.draw(t, key); value != none {
		return map[string]string{key: value}
	}
	return nil
}

// said formats annotations or labels without their common prefix.
func said(all map[string]string) string {
	return strings.ReplaceAll(strings.TrimPrefix(fmt.Sprint(all), "map"), "karmada.target/", "")
}

// drawStep draws the next step.
func (s *scene) drawStep(t *rapid.T) step {
	kind := s.steps.draw(t, "step")
	var drawn step
	for _, all := range []map[string]func(*rapid.T, *scene) step{drawers, moreDrawers, faultDrawers, costDrawers, sightedDrawers, hostileDrawers} {
		if draw := all[kind]; draw != nil {
			drawn = draw(t, s)
		}
	}
	drawn.what = kind + " " + drawn.what
	return drawn
}

// drawers draw the steps of each kind.
var drawers = map[string]func(*rapid.T, *scene) step{
	"put": func(t *rapid.T, s *scene) step {
		key, value, annotations, labels := s.drawObject(t), rapid.IntRange(0, 3).Draw(t, "value"), drawAnnotations(t, s.annotations), drawLabels(t, "propagationpolicy.karmada.io/permanent-id", s.claims)
		return step{fmt.Sprintf("%v %d %s %s", key, value, said(annotations), said(labels)), func(m *machine) error { return m.put(key, value, annotations, labels) }}
	},
	"differ": func(t *rapid.T, s *scene) step {
		key := rapid.SampledFrom([]model.Key{deployment, deployment, pages[0], pages[1]}).Draw(t, "object")
		key.Namespace = drawNamespace(t)
		value, annotations := rapid.IntRange(0, 3).Draw(t, "value"), drawAnnotations(t, s.differing)
		return step{fmt.Sprintf("%v %d %s", key, value, said(annotations)), func(m *machine) error { return m.put(key, value, annotations, nil) }}
	},
	"put back": func(t *rapid.T, s *scene) step {
		key := s.drawObject(t)
		return step{fmt.Sprint(key), func(m *machine) error { return m.putBack(key) }}
	},
	"there and back": func(t *rapid.T, s *scene) step { // before the daemon has acted on it, or after
		key, value, annotations, contentAlone := s.drawObject(t), rapid.IntRange(0, 3).Draw(t, "value"), drawAnnotations(t, s.annotations), rapid.Bool().Draw(t, "content alone")
		between := drawBetween(t)
		return step{fmt.Sprintf("%v %d %s, the content alone %t, for %s", key, value, said(annotations), contentAlone, between), func(m *machine) error {
			now := m.history.now().Objects[key]
			if now == nil {
				return nil
			}
			if contentAlone {
				annotations = now.Annotations
			}
			return m.tell(func() error { return m.put(key, value, annotations, now.Labels) }, pause(between), func() error { return m.putBack(key) })
		}}
	},
	"autoscaler unreadable": func(t *rapid.T, s *scene) step { // and its Work stays
		namespace, cluster, after, value := drawNamespace(t), s.drawCluster(t), drawBetween(t), rapid.IntRange(0, 3).Draw(t, "value")
		web, scaler := deployment, autoscaler
		web.Namespace, scaler.Namespace = namespace, namespace
		return step{fmt.Sprintf("in %s on %s, and %s later the Deployment says %d", namespace, cluster, after, value), func(m *machine) error {
			return m.tell(m.puts(web, to(cluster)), m.puts(scaler, to(cluster)), pause(2*time.Second),
				m.puts(scaler, map[string]string{clustersKey: cluster, expandKey: "yes"}), pause(after), func() error { return m.edit(web, value) })
		}}
	},
	"default selects": func(t *rapid.T, s *scene) step { // and a cluster is relabelled
		key, cluster, edge, defaults := s.drawObject(t), s.drawCluster(t), map[string]string{"tier": "edge"}, map[string]string{selectorKey: "tier=edge"}
		var own map[string]string
		if rapid.Bool().Draw(t, "replaces an invalid option") {
			defaults[expandKey], own = "yes", map[string]string{expandKey: "false"}
		}
		return step{fmt.Sprintf("%v %s on %s", key, said(own), cluster), func(m *machine) error {
			return m.tell(m.space(key.Namespace, defaults, nil), m.puts(key, own), m.cluster(cluster, nil), pause(time.Second), m.cluster(cluster, edge))
		}}
	},
	"move and back": func(t *rapid.T, s *scene) step { // while the creation on the other cluster hangs, for longer than a proof is valid
		key, here, there, between := s.drawObject(t), s.drawCluster(t), s.drawCluster(t), drawBetween(t)
		return step{fmt.Sprintf("%v from %s to %s, for %s", key, here, there, between), func(m *machine) error {
			m.heldBack += 2 * proofAge
			return m.tell(func() error { return m.put(key, 0, to(here), nil) }, pause(time.Second), m.slowly("create", works.Resource, fault.Delay(2*proofAge)),
				func() error { return m.put(key, 0, to(there), nil) }, pause(between), func() error { return m.putBack(key) })
		}}
	},
	"edit and back": func(t *rapid.T, s *scene) step { // before the daemon sees what it has written
		key, cluster, between := s.drawObject(t), s.drawCluster(t), drawBetween(t)
		return step{fmt.Sprintf("%v on %s, for %s", key, cluster, between), func(m *machine) error {
			written := pause(200 * time.Millisecond)
			return m.tell(func() error { return m.put(key, 0, to(cluster), nil) }, pause(time.Second), m.shut(works.Resource),
				func() error { return m.edit(key, 1) }, written, pause(between), func() error { return m.putBack(key) }, written)
		}}
	},
	"namespace there and back": func(t *rapid.T, s *scene) step {
		name, annotations, between := drawNamespace(t), drawAnnotations(t, s.defaults), drawBetween(t)
		return step{fmt.Sprintf("%s %s, for %s", name, said(annotations), between), func(m *machine) error {
			now := m.history.now().Namespaces[name]
			if now == nil {
				return nil
			}
			return m.tell(m.space(name, annotations, now.Labels), pause(between), func() error { return m.putNamespaceBack(name) })
		}}
	},
	"default of a dying leader": func(t *rapid.T, s *scene) step {
		key, annotations := s.drawObject(t), s.drawDefault(t)
		return step{fmt.Sprintf("%v %s", key, said(annotations)), func(m *machine) error {
			return m.tell(func() error { return m.put(key, 0, nil, nil) }, pause(200*time.Millisecond), m.leaderHangs("create"),
				m.space(key.Namespace, annotations, nil), pause(200*time.Millisecond), m.leaderDies)
		}}
	},
	"namespace back": func(t *rapid.T, s *scene) step {
		name := drawNamespace(t)
		return step{name, func(m *machine) error { return m.putNamespaceBack(name) }}
	},
	"edit": func(t *rapid.T, s *scene) step { // only of its content
		key, value := s.drawObject(t), rapid.IntRange(0, 3).Draw(t, "value")
		return step{fmt.Sprintf("%v %d", key, value), func(m *machine) error { return m.edit(key, value) }}
	},
	"delete": func(t *rapid.T, s *scene) step {
		key := s.drawObject(t)
		return step{fmt.Sprint(key), func(m *machine) error { return m.delete(key) }}
	},
	"seal": func(t *rapid.T, s *scene) step { // and from then on, it is deleted and created again for each edit
		key, value := s.drawObject(t), rapid.IntRange(0, 3).Draw(t, "value")
		return step{fmt.Sprintf("%v %d", key, value), func(m *machine) error {
			if key.Kind != "ConfigMap" {
				return nil
			}
			return m.seal(key, value)
		}}
	},
	"recreate": func(t *rapid.T, s *scene) step {
		key := s.drawObject(t)
		return step{fmt.Sprint(key), func(m *machine) error { return m.recreate(key) }}
	},
	"namespace": func(t *rapid.T, s *scene) step {
		name, annotations, labels := drawNamespace(t), drawAnnotations(t, s.defaults), drawLabels(t, "tier", choices{none: 1, "gold": 1})
		return step{fmt.Sprintf("%s %s %s", name, said(annotations), said(labels)), func(m *machine) error { return m.putNamespace(name, annotations, labels) }}
	},
	"delete namespace": func(t *rapid.T, s *scene) step {
		name := drawNamespace(t)
		return step{name, func(m *machine) error { return m.deleteNamespace(name) }}
	},
	"default goes first": func(t *rapid.T, s *scene) step { // and the deletion of the object that it was for is seen later
		key, annotations, between := s.drawObject(t), s.drawDefault(t), drawBetween(t)
		delete(annotations, deletionKey)
		name, resource := key.Namespace, resources[key.Kind].Resource
		return step{fmt.Sprintf("%v %s, seen %s later", key, said(annotations), between), func(m *machine) error {
			if m.holdsAny(name) { // the daemon would not see what it has to release
				return nil
			}
			return m.tell(m.space(name, annotations, nil), func() error { return m.put(key, 0, nil, nil) }, pause(time.Second),
				m.shut(resource), m.spaceGoes(name), m.spaceIsGone(name), pause(between), m.open(resource))
		}}
	},
	"namespace comes unseen": func(t *rapid.T, s *scene) step { // and is forgotten before; what it says counts for objects that are seen at once
		key, annotations, between := s.drawObject(t), drawAnnotations(t, s.defaults), drawBetween(t)
		return step{fmt.Sprintf("%v %s, seen %s later", key, said(annotations), between), func(m *machine) error {
			if m.holdsAny(key.Namespace) {
				return nil
			}
			return m.tell(m.spaceGoes(key.Namespace), m.spaceIsGone(key.Namespace), pause(2*proofAge), m.shut("namespaces"), m.space(key.Namespace, annotations, nil), m.puts(key, to("*")), pause(between), m.open("namespaces"))
		}}
	},
	"deletion is throttled": func(t *rapid.T, s *scene) step { // until there is no reason for it any more
		key, here, there := s.drawObject(t), s.drawCluster(t), s.drawCluster(t)
		return step{fmt.Sprintf("%v from %s to %s", key, here, there), func(m *machine) error {
			busy := m.slowly("delete", works.Resource, fault.Refuse(apierrors.NewTooManyRequests("busy", 4))) // longer than a proof is valid, and than another request
			return m.tell(m.puts(key, to(here)), pause(time.Second), busy, m.puts(key, to(there)), pause(1500*time.Millisecond), m.puts(key, to(here)), m.calm, pause(2*proofAge))
		}}
	},
	"override": func(t *rapid.T, s *scene) step {
		key, p := rapid.SampledFrom(policies).Draw(t, "policy"), s.drawPolicy(t)
		return step{fmt.Sprintf("%v %v", key, *p), func(m *machine) error { return m.putPolicy(key, p) }}
	},
	"override goes": func(t *rapid.T, s *scene) step {
		key := rapid.SampledFrom(policies).Draw(t, "policy")
		return step{fmt.Sprint(key), func(m *machine) error { return m.deletePolicy(key) }}
	},
	"override and object": func(t *rapid.T, s *scene) step { // at once, and either event may come first
		key, object, p, value := rapid.SampledFrom(policies).Draw(t, "policy"), s.drawObject(t), s.drawPolicy(t), rapid.IntRange(0, 3).Draw(t, "value")
		goes, isLast := rapid.Bool().Draw(t, "goes"), rapid.Bool().Draw(t, "is last")
		return step{fmt.Sprintf("%v %v, %v %d, goes %t, is last %t", key, *p, object, value, goes, isLast), func(m *machine) error {
			override, change := func() error { return m.putPolicy(key, p) }, func() error { return m.edit(object, value) }
			if goes {
				override, change = func() error { return m.deletePolicy(key) }, func() error { return m.delete(object) }
			}
			if isLast {
				return m.tell(change, override)
			}
			return m.tell(override, change)
		}}
	},
	"override there and back": func(t *rapid.T, s *scene) step {
		key, between := rapid.SampledFrom(policies).Draw(t, "policy"), drawBetween(t)
		return step{fmt.Sprintf("%v, for %s", key, between), func(m *machine) error {
			now := m.history.now().Policies[key]
			if now == nil {
				return nil
			}
			return m.tell(func() error { return m.deletePolicy(key) }, pause(between), func() error { return m.putPolicy(key, now) })
		}}
	},
	"override of a dying leader": func(t *rapid.T, s *scene) step { // which the standby has not seen
		key, p, object := rapid.SampledFrom(policies).Draw(t, "policy"), s.drawPolicy(t), s.drawObject(t)
		return step{fmt.Sprintf("%v %v, %v", key, *p, object), func(m *machine) error {
			return m.tell(m.standbyMisses(resources[key.Kind].Resource), func() error { return m.putPolicy(key, p) },
				m.leaderDies, func() error { return m.edit(object, 1) })
		}}
	},
	"cluster": func(t *rapid.T, s *scene) step {
		name, labels := s.drawCluster(t), drawLabels(t, "tier", choices{none: 1, "edge": 2, "core": 1})
		region := choices{"": 2, "eu": 1, "us": 1}.draw(t, "region")
		return step{fmt.Sprintf("%s %s in %q", name, said(labels), region), func(m *machine) error { return m.putCluster(name, labels, region) }}
	},
	"rejoin": ofCluster((*machine).joinReady), "cluster leaves": ofCluster((*machine).removeCluster),
	"ail": ofCluster((*machine).ail), "fail": ofCluster((*machine).fail), "halt": ofCluster((*machine).halt),
	"away":  ofCluster(func(m *machine, cluster string) error { return m.setReady(cluster, false) }),
	"ready": ofCluster(func(m *machine, cluster string) error { return m.setReady(cluster, true) }),
	"heal": func(*rapid.T, *scene) step {
		return step{"all", func(m *machine) error { m.healMembers(); return nil }}
	},
	"configure": func(t *rapid.T, s *scene) step {
		namespaces := choices{"*": 4, "a": 1, "b": 1}.draw(t, "namespaces")
		rules := choices{none: 4, "m1": 1, "gold": 1, "nothing": 1}.draw(t, "authorization")
		honors := rapid.IntRange(0, 3).Draw(t, "honors") > 0
		return step{fmt.Sprintf("namespaces %s, authorization %s, honors policies %t", namespaces, rules, honors), func(m *machine) error { return m.configure(namespaces, rules, honors) }}
	},
	"Work deleted": func(t *rapid.T, s *scene) step {
		of := target{s.drawObject(t), s.drawCluster(t)}
		return step{fmt.Sprint(of), func(m *machine) error { return m.deleteWork(of) }}
	},
	"Work edited": func(t *rapid.T, s *scene) step {
		of := target{s.drawObject(t), s.drawCluster(t)}
		isFair := func(edit string) bool { return edit != strangely || s.steps["override"] > 0 }
		edit := rapid.SampledFrom(slices.Sorted(maps.Keys(edits))).Filter(isFair).Draw(t, "edit")
		return step{fmt.Sprintf("%v %s", of, edit), func(m *machine) error { return m.editWork(of, edits[edit]) }}
	},
	"shut": func(t *rapid.T, s *scene) step {
		i, resource := s.drawReplica(t), rapid.SampledFrom(append(watched, "works", "works", "configmaps")).Draw(t, "resource")
		return step{fmt.Sprintf("%d %s", i, resource), func(m *machine) error { m.blinded = true; m.replicas[i].gates[resource].Shut(); return nil }}
	},
	"open": func(t *rapid.T, s *scene) step {
		i, resource := s.drawReplica(t), rapid.SampledFrom(watched).Draw(t, "resource")
		return step{fmt.Sprintf("%d %s", i, resource), func(m *machine) error { m.replicas[i].gates[resource].Open(); return nil }}
	},
	"expire": func(t *rapid.T, s *scene) step {
		i, resource := s.drawReplica(t), rapid.SampledFrom(watched).Draw(t, "resource")
		return step{fmt.Sprintf("%d %s", i, resource), func(m *machine) error { m.blinded = true; m.replicas[i].expire(resource); return nil }}
	},
	"late": func(t *rapid.T, s *scene) step {
		i, verb := s.drawReplica(t), rapid.SampledFrom([]string{"create", "patch", "delete"}).Draw(t, "verb")
		late := rapid.SampledFrom([]time.Duration{300 * time.Millisecond, 1500 * time.Millisecond, 6 * time.Second}).Draw(t, "late")
		asked := rapid.Bool().Draw(t, "asked late")
		return step{fmt.Sprintf("%d %s %s, asked late %t", i, verb, late, asked), func(m *machine) error {
			answer := fault.DelayAnswer(late)
			if asked && verb != "delete" { // a deletion may be late, which a story tells
				answer = fault.Delay(late)
				m.heldBack += late
			}
			m.replicas[i].pass(fault.Match{Verb: verb, Resource: works.Resource}, answer)
			return nil
		}}
	},
	"throttle": func(t *rapid.T, s *scene) step {
		i, verb := s.drawReplica(t), rapid.SampledFrom([]string{"create", "patch", "delete"}).Draw(t, "verb")
		after := rapid.IntRange(1, 5).Draw(t, "after")
		return step{fmt.Sprintf("%d %s, again after %d s", i, verb, after), func(m *machine) error {
			m.heldBack += 10 * time.Duration(after) * time.Second // client-go sends it again ten times
			m.replicas[i].pass(fault.Match{Verb: verb, Resource: works.Resource, Share: 0.5}, fault.Refuse(apierrors.NewTooManyRequests("busy", after)))
			return nil
		}}
	},
	"slow reads": func(t *rapid.T, s *scene) step {
		i, resource := s.drawReplica(t), rapid.SampledFrom(watched).Draw(t, "resource")
		late := rapid.SampledFrom([]time.Duration{300 * time.Millisecond, 1500 * time.Millisecond, 4 * time.Second}).Draw(t, "late")
		return step{fmt.Sprintf("%d %s %s", i, resource, late), func(m *machine) error {
			m.heldBack += late
			m.replicas[i].pass(fault.Match{Verb: "get", Resource: resource}, fault.DelayAnswer(late))
			return nil
		}}
	},
	"kill": func(t *rapid.T, s *scene) step {
		i := s.drawReplica(t)
		return step{fmt.Sprint(i), func(m *machine) error { m.replicas[i].kill(); return nil }}
	},
	"restart": func(t *rapid.T, s *scene) step {
		i := s.drawReplica(t)
		return step{fmt.Sprint(i), func(m *machine) error { m.replicas[i].restart(); return nil }}
	},
}

const strangely = "with a strange policy"

// edits are what users do to a Work by hand.
var edits = map[string]func(*unstructured.Unstructured){
	"suspended":               setField(true, "spec", "suspendDispatching"),
	"preserved":               setField(true, "spec", "preserveResourcesOnDeletion"),
	"without the source's ID": setField(nil, "metadata", "labels", "karmada.target/source-id"),
	"without the manager":     setField(nil, "metadata", "labels", "app.kubernetes.io/managed-by"),
	"of another source":       setField("another", "metadata", "annotations", "karmada.target/source-uid"),
	"with a note":             setField("irrelevant", "metadata", "annotations", "other.example/note"),
	strangely:                 setField(strangePolicy, "metadata", "annotations", "karmada.target/overridden-by"),
}

// setField sets a field, or removes it if the value is nil.
func setField(value any, fields ...string) func(*unstructured.Unstructured) {
	return func(u *unstructured.Unstructured) {
		if value == nil {
			unstructured.RemoveNestedField(u.Object, fields...)
			return
		}
		_ = unstructured.SetNestedField(u.Object, value, fields...) // fails only where there is no object to set it in
	}
}

func (s *scene) drawObject(t *rapid.T) model.Key {
	key := rapid.SampledFrom(s.objects).Draw(t, "object")
	key.Namespace = drawNamespace(t)
	return key
}

// drawDefault draws annotations of a Namespace that ask for a cluster.
func (s *scene) drawDefault(t *rapid.T) map[string]string {
	annotations := drawAnnotations(t, s.defaults)
	annotations[clustersKey] = s.drawCluster(t)
	return annotations
}

// drawPolicy draws what an override policy changes: a value, or a label that others may set too.
// A Deployment has no value that it could replace.
func (s *scene) drawPolicy(t *rapid.T) *model.Policy {
	p := &model.Policy{Kind: choices{"ConfigMap": 3, deployment.Kind: 1}.draw(t, "kind")}
	if n := rapid.IntRange(0, 3).Draw(t, "clusters"); n == 1 || n == 2 {
		p.Clusters = s.clusters[:n]
	}
	what := choices{"value": 9, "label": 9}
	if p.Kind == deployment.Kind {
		what = choices{"value": 1, "label": 9}
	}
	switch what.draw(t, "what") {
	case "value":
		p.Value = choices{"overridden": 2, "overridden again": 1, "$(cluster.name)": 1}.draw(t, "value")
	case "label":
		p.Labels = map[string]string{choices{"stage": 2, "tier": 1}.draw(t, "key"): choices{"blue": 1, "green": 1}.draw(t, "label")}
	}
	return p
}

// ofCluster draws what happens to a cluster.
func ofCluster(do func(*machine, string) error) func(*rapid.T, *scene) step {
	return func(t *rapid.T, s *scene) step {
		name := s.drawCluster(t)
		return step{name, func(m *machine) error { return do(m, name) }}
	}
}

func (s *scene) drawCluster(t *rapid.T) string {
	return rapid.SampledFrom(s.clusters).Draw(t, "cluster")
}
func drawNamespace(t *rapid.T) string { return rapid.SampledFrom(namespaceNames).Draw(t, "namespace") }

// drawBetween draws how long a change lasts before it is reverted.
func drawBetween(t *rapid.T) time.Duration {
	return rapid.SampledFrom([]time.Duration{0, 30 * time.Millisecond, 200 * time.Millisecond, time.Second}).Draw(t, "between")
}

// drawPause draws how long to pause; mostly not at all.
func drawPause(t *rapid.T) time.Duration {
	return rapid.SampledFrom([]time.Duration{0, 0, 0, 0, 0, 20 * time.Millisecond, 100 * time.Millisecond, 300 * time.Millisecond}).Draw(t, "pause")
}
