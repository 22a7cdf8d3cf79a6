package mirror

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/karmada-target/karmada-mirror/mirror/gather"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/watch"
)

// enqueue requests a sync of a source. It does nothing while this replica does not lead.
func (c *Controller) enqueue(id render.Identity) {
	if q := c.queue.Load(); q != nil {
		q.Add(id)
		c.enqueueStatus(id)
	}
}

// enqueueStatus requests a look at the status of a source: it depends on all that the Works of
// the source depend on, and on what they report.
func (c *Controller) enqueueStatus(id render.Identity) {
	if s := c.statuses.Load(); s != nil && c.caches.Aggregates(id.GroupKind()) {
		s.queue.Add(id)
	}
}

// enqueueFresh requests a sync of a source that a user has just changed.
func (c *Controller) enqueueFresh(id render.Identity) {
	if q := c.queue.Load(); q != nil {
		c.memory.Arrive(id, c.Clock.Now())
		q.Add(id)
	}
}

// enqueueEverything requests a sync of every source that asks to be mirrored or has a
// Work. The latter is the garbage collection: the sync finds that nothing wants the Work.
// Those with a refusal or a notice are synced too, so that none outlives its resource.
func (c *Controller) enqueueEverything() {
	if c.queue.Load() == nil {
		return
	}
	c.recallHeld()
	for id := range c.everything() {
		c.enqueue(id)
	}
	for id := range c.memory.Departures() {
		c.enqueue(id)
	}
	for n := range c.caches.Namespaces() {
		c.reportNamespace(n.Name)
	}
}

// everything returns all sources that may need a write.
func (c *Controller) everything() sets.Set[render.Identity] {
	all := c.reported()
	for _, w := range c.caches.Sources() {
		for o := range gather.Objects(w) {
			if c.caches.MayAsk(o) {
				all.Insert(o.ID)
			}
		}
	}
	for w := range c.caches.Works() {
		if w.NamesSource() {
			all.Insert(w.Source)
		}
	}
	return all
}

// enqueueSourcesOf requests a sync of the objects of a resource that ask to be mirrored,
// or whose Namespace does or is unknown. Other objects need a sync only if they have
// Works, and are found by those.
func (c *Controller) enqueueSourcesOf(w *watch.Watch) {
	for o := range gather.Objects(w) {
		if c.caches.MayAsk(o) {
			c.enqueueObject(o)
		}
	}
}

// enqueueObject requests a sync of an object, of what it scales, of what its controller made, and of all that follows it.
func (c *Controller) enqueueObject(o *state.Object) {
	c.enqueueAlone(o)
	c.enqueueFollowers(o.ID, func(render.Identity) bool { return true }, sets.New(o.ID))
}

// enqueueAlone is enqueueObject without what follows the object.
func (c *Controller) enqueueAlone(o *state.Object) {
	c.enqueue(o.ID)
	if scaled, ok := o.Scales(); ok {
		c.enqueue(scaled)
	}
	for id := range c.caches.OwnedBy(o.ID) {
		c.enqueue(id)
	}
}

// enqueueFollowers requests a sync of what follows an object, and of what follows that.
func (c *Controller) enqueueFollowers(id render.Identity, matters func(render.Identity) bool, seen sets.Set[render.Identity]) {
	for o := range c.caches.FollowersOf(id) {
		if seen.Has(o.ID) {
			continue
		}
		seen.Insert(o.ID)
		if matters(o.ID) {
			c.enqueueAlone(o)
			c.enqueueNeeding(o.ID)
		}
		c.enqueueFollowers(o.ID, matters, seen)
	}
}

// enqueueNeeding requests a sync of the workloads whose Pods need an object.
func (c *Controller) enqueueNeeding(id render.Identity) {
	for workload := range c.caches.Needing(id) {
		c.enqueue(workload.ID)
	}
}

// reported returns the sources with a refusal or a notice.
func (c *Controller) reported() sets.Set[render.Identity] {
	all := sets.New(c.refused.All()...)
	for _, id := range c.noticed.All() {
		if id != namespaceIdentity(id.Name) { // what is reported on a Namespace is no notice of a source
			all.Insert(id)
		}
	}
	return all
}

// resourceListed requests a sync of the objects of a resource, of those that no longer exist –
// an object deleted while there was no watch has left its Works behind – and of what may have
// depended on either.
func (c *Controller) resourceListed(w *watch.Watch) {
	if c.queue.Load() == nil {
		return
	}
	c.recallHeld()
	c.enqueueSourcesOf(w)
	kind := w.Status().Served.Kind
	for work := range c.caches.WorksOfKind(kind) {
		c.enqueue(work.Source)
	}
	for id := range c.reported() {
		if id.GroupKind() == kind {
			c.enqueue(id)
		}
	}
	for id := range c.caches.DependingOn(kind) {
		c.enqueue(id)
	}
}

// objectChanged requests a sync of an object, whatever has changed: sync finds out whether
// it makes a difference.
func (c *Controller) objectChanged(before, after *state.Object) {
	for _, o := range []*state.Object{before, after} {
		if o == nil {
			continue
		}
		if o.Orphans && c.queue.Load() != nil {
			c.reportOrphans(o)
		}
		if c.caches.MayAsk(o) {
			c.enqueueFresh(o.ID)
		}
		c.enqueueObject(o)
		c.enqueueNeeding(o.ID)
		for id := range c.caches.NeededByWorksOf(o.ID) { // they may be needed by its Works alone now
			c.enqueue(id)
		}
	}
}

// enqueueGroup requests a sync of the sources of an API group that have Works, a refusal or a
// notice: their definition may have been deleted, and the objects with it.
func (c *Controller) enqueueGroup(group string) {
	for w := range c.caches.Works() {
		if w.Source.Group == group && w.NamesSource() {
			c.enqueue(w.Source)
		}
	}
	for id := range c.reported() {
		if id.Group == group {
			c.enqueue(id)
		}
	}
}

// workChanged requests a sync of the source of a Work, and of what it scales, even if the
// change is our own write: the source may have changed in between.
func (c *Controller) workChanged(before, after *state.Work) {
	if before != nil && (after == nil || after.UID != before.UID) { // deleted; we may have missed the event
		c.memory.Vanish(before, c.restoresDeleted(before))
		c.memory.Forget(before.Source, before.Cluster)
		c.memory.Left(before)
	}
	if before != nil && after != nil && after.UID == before.UID && after.Terminating && !before.Terminating {
		c.breaker.Saw(after)
		if c.restoresDeleted(after) {
			c.memory.Go(after)
		}
	}
	if before == nil || after == nil || !after.IsAsOwned(before) {
		c.ownerChanged(before, after)
	}
	if before != nil && after != nil && after.IsOursFor(before.Source) {
		c.memory.Followed(before, after)
	}
	if after != nil {
		c.memory.Shown(after)
		if after.NamesSource() {
			c.memory.Saw(after)
		}
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
	if before == nil || after == nil || !slices.Equal(before.Needs(), after.Needs()) || !after.IsAsOwned(before) {
		for _, id := range slices.Concat(before.Needs(), after.Needs()) {
			c.enqueue(id)
		}
	}
}

// ownerChanged requests a sync of the sources that depend on whose a Work is, besides its own: those that
// may have waited for its name, or whose object it carries, what follows its own, and the workloads that need that object.
func (c *Controller) ownerChanged(before, after *state.Work) {
	if before != nil {
		c.enqueueWaiting(before)
		c.enqueueFollowers(before.Source, func(render.Identity) bool { return true }, sets.New(before.Source)) // which may have stayed for it
	}
	for _, w := range []*state.Work{before, after} {
		if w == nil {
			continue
		}
		c.enqueueNeeding(w.Source)
		if carried := w.Carries(); !w.NamesSource() && carried != (render.Identity{}) {
			c.enqueue(carried)
		}
	}
}

// restoresDeleted reports whether a Work gets back what it had if another user deletes it. No one knows what the last leader has
// deleted, and a watch may show it late.
func (c *Controller) restoresDeleted(w *state.Work) bool {
	isSince := c.queue.Load() != nil && (c.hasPassed.Load() || !state.IsOlder(w.ResourceVersion, *c.fence.Load()))
	return isSince && w.IsOursFor(w.Source) && c.caches.InWaves(w.Source)
}

// enqueueWaiting requests a sync of the sources that were refused because of a Work that
// is gone now, or has another owner.
func (c *Controller) enqueueWaiting(gone *state.Work) {
	for _, id := range c.refused.WaitingFor(gone.Name) {
		c.memory.Forget(id, gone.Cluster)
		c.enqueue(id)
	}
}
