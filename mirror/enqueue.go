package mirror

import (
	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/watch"
)

// What sources and Works are found by.
var (
	sourceIndexers = cache.Indexers{termIndex: indexByTerm, cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	workIndexers   = cache.Indexers{sourceIndex: indexBySource, kindIndex: indexByKind, cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
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
		c.arrivals.note(id, c.Clock.Now())
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
	for _, w := range c.sources.All() {
		c.enqueueSourcesOf(w)
	}
	for _, obj := range c.works.List() {
		if w := obj.(*Work); w.names() {
			c.enqueue(w.Source)
		}
	}
	for _, id := range c.refused.all() {
		c.enqueue(id)
	}
	for _, obj := range c.namespaces.List() {
		c.reportNamespace(obj.(*Namespace))
	}
}

func (c *Controller) enqueueSourcesOf(w *watch.Watch) {
	for _, obj := range w.List() {
		if s := obj.(*Source); s.Asks {
			c.enqueue(s.ID)
		}
	}
}

// newWatch adds what all watches share.
func (c *Controller) newWatch(o watch.Options) *watch.Watch {
	o.Client, o.Clock, o.ListDeadline = c.Dynamic, c.Clock, c.ListDeadline
	o.Logger = c.Logger.With(zap.Stringer("resource", o.Resource.GroupResource))
	return watch.New(o)
}

// newSourceWatch makes the watch of one configured resource.
func (c *Controller) newSourceWatch(r watch.Resource) *watch.Watch {
	var w *watch.Watch
	w = c.newWatch(watch.Options{
		Resource:  r,
		Resolver:  c.Resolver,
		Transform: keepSource(c.defaultsOf),
		Indexers:  sourceIndexers,
		Handler: watch.Handler{
			Changed: func(old, new any) {
				// Before the first list is complete nothing can be decided.
				if w.Status().Synced {
					c.sourceChanged(old, new)
				}
			},
			// What was deleted while nobody watched has left its Works behind.
			Synced: func() {
				c.enqueueSourcesOf(w)
				c.enqueueWorksOf(w.Status().Served.Kind)
			},
			// The definition may have been deleted, and its objects with it.
			Unserved: func() { c.enqueueWorksOfGroup(r.Group) },
		},
	})
	return w
}

func (c *Controller) sourceChanged(old, new any) {
	before, _ := old.(*Source)
	after, _ := new.(*Source)
	if after != nil {
		c.rereads.drop(after.ID)
	} else if before != nil {
		c.rereads.drop(before.ID)
	}
	switch {
	case before != nil && after != nil && before.sameMeaning(after):
		return
	case after != nil && after.Asks:
		c.enqueueFresh(after.ID)
	case before != nil && before.Asks:
		c.enqueueFresh(before.ID)
	}
}

func (c *Controller) enqueueWorksOf(kind schema.GroupKind) {
	for _, obj := range c.works.ByIndex(kindIndex, kind.String()) {
		c.enqueue(obj.(*Work).Source)
	}
}

func (c *Controller) enqueueWorksOfGroup(group string) {
	for _, obj := range c.works.List() {
		if w := obj.(*Work); w.Source.Group == group && w.names() {
			c.enqueue(w.Source)
		}
	}
}

// newWorkWatch makes the watch of the Works that bear our label. Others are left
// to the API server to filter: in a Karmada that also uses policies, they are
// many and change all the time.
func (c *Controller) newWorkWatch() *watch.Watch {
	return c.newWatch(watch.Options{
		Resource:  watch.In(WorksResource),
		Resolver:  c.Resolver,
		Tweak:     func(o *metav1.ListOptions) { o.LabelSelector = OurWorks },
		Transform: watch.Keep(NewWork),
		Indexers:  workIndexers,
		Handler:   watch.Handler{Changed: c.workChanged, Synced: c.enqueueEverything},
	})
}

func (c *Controller) workChanged(old, new any) {
	before, _ := old.(*Work)
	after, _ := new.(*Work)
	switch {
	case before != nil && after != nil && before.sameMeaning(after):
		return
	case after != nil && c.ledger.settle(after):
		return
	case before != nil && (after == nil || after.UID != before.UID): // it is gone; an event may have been missed
		// Every source that maps to this name may have been waiting for it.
		c.ledger.forget(before.Source, before.Cluster)
		c.enqueueWaiting(before)
	}
	for _, w := range []*Work{before, after} {
		if w != nil && w.names() {
			c.enqueue(w.Source)
		}
	}
}

// enqueueWaiting asks for a sync of the sources that were refused because of a
// Work that is gone now.
func (c *Controller) enqueueWaiting(gone *Work) {
	for _, id := range c.refused.by(WorkConflict) {
		if id.WorkName() == gone.Name {
			c.ledger.forget(id, gone.Cluster)
			c.enqueue(id)
		}
	}
}
