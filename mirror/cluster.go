package mirror

import (
	"cmp"
	"time"

	"github.com/karmada-target/karmada-mirror/mirror/state"
)

// clusterChanged asks for a sync of the sources that the change concerns: those that
// choose the cluster or did, and, unless nothing but its labels has changed, those that have
// a Work there.
func (c *Controller) clusterChanged(before, after *state.Cluster) {
	if before != nil && after != nil && !before.IsReady && after.IsReady {
		c.wakeWorksOn(after)
	}
	if before != nil && after != nil && before.SameMeaning(after) {
		return
	}
	name := cmp.Or(after, before).Name
	if after == nil {
		c.Metrics.ForgetCluster(name)
	}
	objects, namespaces := c.caches.Concerned(before, after)
	for _, o := range objects {
		c.enqueueObject(o)
	}
	for _, n := range namespaces {
		c.reportNamespace(n)
		c.enqueueObjectsIn(n.Name)
	}
	if before != nil && after != nil && before.IsSameButLabels(after) {
		return // whoever chooses by labels has been found by that
	}
	for w := range c.caches.WorksOn(name) {
		if w.NamesSource() {
			c.enqueue(w.Source)
		}
	}
}

// Karmada's execution controller does not look at Clusters: what it could not apply
// while a member was away it tries again when its backoff is over, which may be a quarter
// of an hour. It looks at once when the generation of a Work moves. So when a cluster has
// come back, the Works that wait for it are woken, by a change of their spec that means
// nothing: spec.suspendDispatching from absent to false, or back.
//
// wakePause is between two Works, lest all are executed at once.
const wakePause = 10 * time.Millisecond

// wakeWorksOn has the Works looked at that wait for a cluster which has come back.
func (c *Controller) wakeWorksOn(cluster *state.Cluster) {
	q := c.queue.Load()
	if q == nil {
		return
	}
	recovery := c.caches.RecoveryOf(cluster)
	delay := recovery.In
	for w := range c.caches.WorksOn(cluster.Name) {
		if w.NamesSource() && recovery.Awaits(w) {
			delay += wakePause
			q.AddAfter(w.Source, delay)
		}
	}
}
