package machine

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/karmada-target/karmada-mirror/simulation/apiserver"
	"github.com/karmada-target/karmada-mirror/simulation/model"
)

// reactionTime is how long after a change a status may still follow it.
const reactionTime = 2 * time.Minute

// counts sees the statuses of Deployments, and what they may depend on.
type counts struct {
	machine *machine
	mu      sync.Mutex
	changed map[model.Key]time.Time // the source, its Works or what they report
	fleet   time.Time               // any Cluster has joined or left
	wrong   []string
}

func newCounts(m *machine) *counts {
	c := &counts{machine: m, changed: map[model.Key]time.Time{}}
	if m.judgesCounts {
		m.store.Subscribe(c.note)
	}
	return c
}

func (c *counts) note(e apiserver.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old, now := &unstructured.Unstructured{Object: e.Old}, &unstructured.Unstructured{Object: e.Object}
	key, after := model.Applied(now)
	isNew := e.Old == nil || e.Type == watch.Deleted
	switch e.Resource {
	case clusters:
		if isNew || now.GetDeletionTimestamp() != nil {
			c.fleet = time.Now()
		}
	case works:
		if isNew || !hasSame(old, now, "spec") || !hasSame(old, now, "status", "manifestStatuses") {
			if manifest, err := model.ManifestOf(now); err == nil {
				key, _ := model.Applied(manifest)
				c.changed[key] = time.Now()
			}
		}
	case deployments:
		if _, before := model.Applied(old); isNew || !equality.Semantic.DeepEqual(before, after) {
			c.changed[key] = time.Now()
			return
		}
		if is, was := ready(now), ready(old); time.Since(c.changed[key]) > reactionTime && time.Since(c.fleet) > reactionTime && is < was {
			c.wrong = append(c.wrong, fmt.Sprintf("%v had %d ready in its status, and %d from %s on, though nothing had changed since %s",
				key, was, is, time.Now().Format(clockFormat), c.changed[key].Format(clockFormat)))
		}
	}
}

func hasSame(a, b *unstructured.Unstructured, path ...string) bool {
	before, _, _ := unstructured.NestedFieldNoCopy(a.Object, path...)
	after, _, _ := unstructured.NestedFieldNoCopy(b.Object, path...)
	return equality.Semantic.DeepEqual(before, after)
}

func ready(u *unstructured.Unstructured) int64 {
	n, _, _ := unstructured.NestedInt64(u.Object, "status", "readyReplicas")
	return n
}

// drops lists the statuses whose counts have dropped since the last call.
func (c *counts) drops() (wrong []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	wrong, c.wrong = c.wrong, nil
	return wrong
}

// emptied lists the clusters that have lost more Works at once than the breaker allows because of their labels.
func (m *machine) emptied(deletions []deletion) (wrong []string) {
	if m.breaker == "" {
		return nil
	}
	targets, lost := m.targets(), map[string][]deletion{}
	for _, d := range deletions {
		if of, known := targets[model.ShortKey(d.work)]; known && d.hasHappened && m.isByLabels(of, d.at) {
			lost[of.cluster] = append(lost[of.cluster], d)
		}
	}
	for cluster, all := range lost {
		first, total := all[0].at, 0
		at := slices.DeleteFunc(all, func(d deletion) bool { return d.at.After(first.Add(atOnce)) })
		world := m.history.at(first)
		for name, of := range targets { // some may have come meanwhile
			existed := slices.ContainsFunc(m.witness.of(name, first.Add(-countAge), at[len(at)-1].at), func(s sight) bool { return s.Content != nil })
			if of.cluster == cluster && world.Includes(of.key) && existed {
				total++
			}
		}
		for _, c := range m.audit.those(first, done(works, "create")) { // what has come back, and may have gone again
			back := func(d deletion) bool { return d.work == c.Namespace+"/"+c.created() }
			if !c.Time.After(at[len(at)-1].at) && slices.ContainsFunc(at, back) {
				total++
			}
		}
		if len(at) > heldAboveWorks && len(at)*100 > total*heldAbovePercent {
			wrong = append(wrong, fmt.Sprintf("%s has lost %d of its %d Works at once from %s on, because of its labels", cluster, len(at), total, first.Format(clockFormat)))
		}
	}
	return wrong
}

// atOnce is how long deletions are together, and countAge how old the number may be to which they are compared.
const (
	atOnce   = 10 * time.Second
	countAge = time.Second
)

// isByLabels reports whether a Work was deleted because its cluster had changed: its source is as it was
// when it was wanted.
func (m *machine) isByLabels(of target, at time.Time) bool {
	var is *moment
	for _, moment := range slices.Backward(m.history) {
		switch state, _ := moment.Of(of.key, of.cluster); {
		case moment.from.After(at):
		case is == nil:
			is = moment
		case moment.Objects[of.key] != is.Objects[of.key] || moment.Namespaces[of.key.Namespace] != is.Namespaces[of.key.Namespace]:
			return false
		case state == model.Present:
			return moment.Clusters[of.cluster] != is.Clusters[of.cluster]
		}
	}
	return false
}
