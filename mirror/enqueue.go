package mirror

import (
	"github.com/karmada-target/karmada-mirror/mirror/gather"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/watch"
)

// enqueue asks for a sync of a source; nothing happens while this replica does
// not lead.
func (c *Controller) enqueue(id render.Identity) {
	if q := c.queue.Load(); q != nil {
		q.Add(id)
	}
}

// enqueueFresh asks for a sync of a source that somebody has just changed.
func (c *Controller) enqueueFresh(id render.Identity) {
	if q := c.queue.Load(); q != nil {
		c.arrivals.Note(id, c.Clock.Now())
		q.Add(id)
	}
}

// enqueueEverything asks for a sync of every source that asks to be mirrored
// and of every source that has a Work: that is the garbage collection, for a sync
// finds that nothing wants the Work. Sources that are refused are looked at too,
// lest a refusal outlives its resource.
func (c *Controller) enqueueEverything() {
	if c.queue.Load() == nil {
		return
	}
	for _, w := range c.caches.Sources() {
		c.enqueueSourcesOf(w)
	}
	for w := range c.caches.Works() {
		if w.NamesSource() {
			c.enqueue(w.Source)
		}
	}
	for _, id := range c.refused.all() {
		c.enqueue(id)
	}
	for n := range c.caches.Namespaces() {
		c.reportNamespace(n)
	}
}

// enqueueSourcesOf asks for a sync of the objects of a resource that ask to be mirrored,
// or whose Namespace does or cannot be asked. Of the others those are looked at that have
// Works, and are found by them.
func (c *Controller) enqueueSourcesOf(w *watch.Watch) {
	for o := range gather.Objects(w) {
		if c.caches.MayAsk(o) {
			c.enqueueObject(o)
		}
	}
}

// enqueueObject asks for a sync of an object, and of what it scales.
func (c *Controller) enqueueObject(o *state.Object) {
	c.enqueue(o.ID)
	if o.Scales != nil {
		c.enqueue(*o.Scales)
	}
}

// resourceListed asks for a sync of what there is of a resource, and of what had been there:
// what was deleted while nobody watched has left its Works behind.
func (c *Controller) resourceListed(w *watch.Watch) {
	c.enqueueSourcesOf(w)
	for work := range c.caches.WorksOfKind(w.Status().Served.Kind) {
		c.enqueue(work.Source)
	}
}

// objectChanged asks for a sync of an object, whatever has changed: whether it makes a
// difference, sync finds out.
func (c *Controller) objectChanged(before, after *state.Object) {
	for _, o := range []*state.Object{before, after} {
		if o == nil {
			continue
		}
		if c.caches.MayAsk(o) {
			c.enqueueFresh(o.ID)
		}
		c.enqueueObject(o)
		for workload := range c.caches.Needing(o.ID) {
			c.enqueue(workload.ID)
		}
	}
}

// enqueueGroup asks for a sync of what has Works or is refused: the definition may have been
// deleted, and its objects with it.
func (c *Controller) enqueueGroup(group string) {
	for w := range c.caches.Works() {
		if w.Source.Group == group && w.NamesSource() {
			c.enqueue(w.Source)
		}
	}
	for _, id := range c.refused.all() {
		if id.Group == group {
			c.enqueue(id)
		}
	}
}

// workChanged asks for a sync of the source of a Work, and of what it scales, also when that is
// what we have written ourselves: the source may have changed in between.
func (c *Controller) workChanged(before, after *state.Work) {
	if before != nil && (after == nil || after.UID != before.UID) { // it is gone; an event may have been missed
		c.ledger.Forget(before.Source, before.Cluster)
		c.ledger.Left(before)
	}
	if before != nil && (after == nil || after.UID != before.UID || after.Source != before.Source || after.Foreign != before.Foreign) {
		c.enqueueWaiting(before) // every source that maps to this name may have been waiting for it
	}
	if after != nil {
		c.ledger.Arrived(after)
	}
	for _, w := range []*state.Work{before, after} {
		if w == nil {
			continue
		}
		if w.NamesSource() {
			c.enqueue(w.Source)
		}
		if scaled, ok := w.Scales(); ok {
			c.enqueue(scaled)
		}
	}
}

// enqueueWaiting asks for a sync of the sources that were refused because of a
// Work that is gone now, or another's.
func (c *Controller) enqueueWaiting(gone *state.Work) {
	for _, id := range c.refused.waitingFor(gone.Name) {
		c.ledger.Forget(id, gone.Cluster)
		c.enqueue(id)
	}
}
