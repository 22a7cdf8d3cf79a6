package machine

import (
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"

	"github.com/karmada-target/karmada-mirror/simulation/apiserver"
	"github.com/karmada-target/karmada-mirror/simulation/fault"
	"github.com/karmada-target/karmada-mirror/simulation/model"
)

// sighted plays where no daemon is kept from seeing anything but a cluster that joins. So deletions are judged by what was known a moment ago,
// everything is done soon, and what has to be told is.
var sighted = &scene{
	clusters: []string{"m1", "m2", "m3"}, objects: append([]model.Key{deployment}, pages[:2]...), isSighted: true,
	annotations: map[string]choices{clustersKey: {none: 6, "m1": 2, "m1,m2": 2, "*": 3}, selectorKey: {none: 6, "tier=edge": 2, "!tier": 1}, suspendKey: {none: 8, "m1": 1}},
	defaults:    map[string]choices{clustersKey: {none: 6, "m1": 2, "*,!m2": 1}, selectorKey: {none: 8, "tier=edge": 1}},
	claims:      choices{none: 1},
	steps: choices{
		"put": 20, "edit": 8, "delete": 4, "recreate": 2, "namespace": 8, "delete namespace": 3, "namespace comes unseen": 4, "cluster": 4, "cluster vanishes": 6, "forbidden": 6, "wanted during a proof": 6, "restart": 1,
	},
	flags: withoutSweeps,
}

const (
	// soon is how long everything may take there: what was refused often is retried after up to five minutes.
	soon = 6 * time.Minute
	// sightAge is how old the evidence for a deletion may be there: a request to the API server, and an event.
	sightAge = 100 * time.Millisecond
)

// sightedDrawers draw the steps of sighted.
var sightedDrawers = map[string]func(*rapid.T, *scene) step{
	"cluster vanishes": func(t *rapid.T, s *scene) step { // by force, without its Works, and joins again, which a list shows
		key, name, labels, between := s.drawObject(t), s.drawCluster(t), drawLabels(t, "tier", choices{none: 1, "edge": 1}), drawBetween(t)
		return step{fmt.Sprintf("%s with %v for %s, then %v", name, key, between, labels), func(m *machine) error {
			m.blinded = true
			return m.tell(m.cluster(name, map[string]string{"tier": "edge"}), m.puts(key, map[string]string{selectorKey: "tier=edge"}), pause(time.Second), m.vanishes(name), pause(between),
				m.shut("clusters"), m.cluster(name, labels), pause(time.Second), func() error { m.each(func(r *replica) { r.expire("clusters") }); return nil }, m.open("clusters"))
		}}
	},
	"forbidden": func(t *rapid.T, s *scene) step { // as by an API server that does not know a right yet
		i, verb := s.drawReplica(t), rapid.SampledFrom([]string{"create", "patch", "delete"}).Draw(t, "verb")
		return step{fmt.Sprintf("%d to %s Works", i, verb), func(m *machine) error {
			m.replicas[i].pass(fault.Match{Verb: verb, Resource: works.Resource}, fault.Refuse(apierrors.NewForbidden(works, "it", errors.New("no RBAC policy matched"))))
			return nil
		}}
	},
	"wanted during a proof": func(t *rapid.T, s *scene) step { // the second, after an edit during the first
		key := s.drawObject(t)
		return step{fmt.Sprint(key), func(m *machine) error {
			slow := m.slowly("get", resources[key.Kind].Resource, fault.DelayAnswer(600*time.Millisecond))
			return m.tell(m.puts(key, to("*")), pause(2*time.Second), slow, m.puts(key, nil), pause(1300*time.Millisecond), m.changed(key, 2), pause(600*time.Millisecond), m.puts(key, to("*")), pause(time.Second), m.calm)
		}}
	},
}

// vanishes takes a Cluster away as an administrator does by force: Karmada cleans nothing up.
func (m *machine) vanishes(name string) act {
	return func() error {
		if m.history.now().Clusters[name] == nil {
			return nil
		}
		ref := apiserver.Ref{Resource: clusters, Name: name}
		return m.change(func() error {
			_, err := m.store.Modify(ref, "", func(o apiserver.Object) { unstructured.RemoveNestedField(o, "metadata", "finalizers") })
			return errors.Join(err, m.store.Delete(ref, metav1.DeleteOptions{}))
		}, func(w *model.World) { delete(w.Clusters, name) })
	}
}

// wrongEvents lists the Namespaces that ask for clusters, and have no Event that nothing protects them, and Works that are called
// contested although only daemons write them.
func (m *machine) wrongEvents() (wrong []string) {
	told := map[string]bool{}
	for _, o := range m.store.List(schema.GroupResource{Resource: "events"}, "") {
		uid, _, _ := unstructured.NestedString(o, "involvedObject", "uid")
		told[uid] = told[uid] || o["reason"] == "NamespaceUnprotected"
		if (m.isSighted || m.judgesCounts) && o["reason"] == "WorkContested" {
			wrong = append(wrong, fmt.Sprintf("no one contests it: %v", o["message"]))
		}
	}
	for name, n := range m.history.now().Namespaces {
		if m.isSighted && (n.Annotations[clustersKey] != "" || n.Annotations[selectorKey] != "") && !told[n.UID] {
			wrong = append(wrong, fmt.Sprintf("there is no Event that Namespace %s is not protected", name))
		}
	}
	return wrong
}
