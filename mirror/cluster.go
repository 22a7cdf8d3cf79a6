package mirror

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// clusterChanged enqueues the sources that the change affects: those that choose the
// cluster or did, and, unless only its labels have changed, those that have a Work there.
func (c *Controller) clusterChanged(before, after *state.Cluster) {
	if before != nil && after != nil && after.HasReturned(before) {
		c.wakeWorksOn(after)
	}
	if before != nil && after != nil && after.IsOtherwiseReady(before) {
		c.enqueueChoosing(after, c.caches.InWaves) // a wave passes over clusters that are not ready
		c.enqueueHavingChosen(after, c.memory.HadLabels(after))
		for w := range c.caches.WorksOn(after.Name) {
			c.enqueueStatus(w.Source)       // what a member that was away reports may not have been believed
			if c.caches.InWaves(w.Source) { // which may wait for it, though it is no longer asked for
				c.enqueue(w.Source)
			}
		}
	}
	if before != nil && after != nil && before.SameMeaning(after) {
		return
	}
	name := cmp.Or(after, before).Name
	switch {
	case before == nil:
		c.Metrics.KnowCluster(name)
	case after == nil:
		c.Metrics.ForgetCluster(name)
		had := c.memory.HadLabels(before)
		c.memory.ForgetCluster(name) // they hold up nothing any more
		c.enqueueHavingChosen(before, had)
	}
	objects, namespaces := c.caches.AffectedBy(before, after)
	for _, o := range objects {
		c.enqueueObject(o)
		c.enqueueNeeding(o.ID)
	}
	for _, n := range namespaces {
		c.reportNamespace(n.Name)
		c.enqueueObjectsIn(n.Name)
	}
	if before != nil && after != nil {
		for p := range c.caches.PoliciesAffectedBy(before, after) {
			c.enqueueSelected(p)
		}
	}
	if before != nil && after != nil && before.IsSameButMember(after) {
		return // the sources that choose by labels are enqueued above
	}
	for w := range c.caches.WorksOn(name) {
		if w.NamesSource() {
			c.enqueue(w.Source)
		}
	}
}

// enqueueHavingChosen enqueues the sources that chose a cluster by labels that it had of late, which hold up their waves.
func (c *Controller) enqueueHavingChosen(cluster *state.Cluster, had []judge.HadLabels) {
	for _, those := range had {
		c.enqueueChoosing(&state.Cluster{Meta: cluster.Meta, Labels: those.Labels}, c.caches.InWaves)
	}
}

// enqueueChoosing enqueues the sources that choose a cluster and to which it matters.
func (c *Controller) enqueueChoosing(cluster *state.Cluster, matters func(render.Identity) bool) {
	enqueue := func(id render.Identity) {
		if matters(id) {
			c.enqueue(id)
		}
	}
	objects, namespaces := c.caches.AffectedBy(nil, cluster)
	for _, o := range objects {
		enqueue(o.ID)
		c.enqueueFollowers(o.ID, matters, sets.New(o.ID))
	}
	for _, n := range namespaces {
		for o := range c.caches.ObjectsIn(n.Name) {
			enqueue(o.ID)
		}
	}
}

// Karmada's execution controller does not watch Clusters: it retries what it could not
// apply while a member was away when its backoff ends, which can take a quarter of an
// hour. It reconciles at once when the generation of a Work changes. So when a cluster
// has come back, we wake the Works that wait for it, by a change of their spec without
// effect: spec.suspendDispatching from absent to false, or back.
//
// wakePause is the pause between two Works, so that they are not all executed at once.
const wakePause = 10 * time.Millisecond

// wakeWorksOn enqueues the sources of the Works that wait for a cluster that has come back. Those
// of Works that are being deleted are among them, however short the outage was: whether such a
// deletion has stalled is only known while the cluster is ready.
func (c *Controller) wakeWorksOn(cluster *state.Cluster) {
	q := c.queue.Load()
	if q == nil {
		return
	}
	recovery := c.memory.RecoveryOf(cluster)
	delay := recovery.In
	for w := range c.caches.WorksOn(cluster.Name) {
		if w.NamesSource() && (recovery.Awaits(w) || w.Terminating) {
			delay += wakePause
			q.AddAfter(w.Source, delay)
		}
	}
}
