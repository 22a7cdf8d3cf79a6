package mirror

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/metrics"
	"github.com/karmada-target/karmada-mirror/mirror/gather"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/memory"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/mirror/write"
	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/watch"
)

// departures are the resources of which a live list must tell which objects had our finalizer when they left the
// configuration, and listing those that are being listed.
type departures struct {
	mu                sync.Mutex
	unlisted, listing []unlisted
}

// unlisted is a resource that has left the configuration, or some Namespaces of it, while its cache was behind the
// last leader's writes.
type unlisted struct {
	watch.Resource
	last *config.Configuration
	at   time.Time
	// next is when to list it. mayHold: some object may have the finalizer, as far as the cache shows. isRefused: it is
	// served, and could not be listed.
	next               time.Time
	mayHold, isRefused bool
}

// isFailing reports whether those on call are to learn of it.
func (r unlisted) isFailing() bool { return r.mayHold && r.isRefused }

// departurePeriod is how long after an object has left the configuration a replica that did not lead then removes its
// finalizer, and keptPeriod how long the one that did tries to. Later, another daemon may have the object, and may have set
// it: that it is there is reported.
const (
	departurePeriod = 10 * time.Minute
	keptPeriod      = time.Hour
)

// departing returns the objects with our finalizer that the last configuration included, and the one in force
// does not. The watch may not show yet that they have it: a live list tells if the last leader may have set it.
// A sync that sets it from now on notes that itself.
func (c *Controller) departing(last *config.Configuration) map[render.Identity]memory.Departure {
	leaves := func(gr schema.GroupResource, namespace string) bool { return c.leaves(last, gr, namespace) }
	left := map[render.Identity]memory.Departure{}
	for id, set := range c.memory.UnshownFinalizers() {
		if leaves(set.Resource.GroupResource(), id.Namespace) {
			left[id] = memory.Departure{Resource: set.Resource, UID: set.UID, At: c.Clock.Now()}
		}
	}
	for _, w := range c.caches.Sources() {
		gr, status := w.Resource.GroupResource, w.Status()
		isGone := !c.caches.HasSynced() || slices.ContainsFunc(slices.Collect(c.caches.Namespaces()), func(n *state.Namespace) bool { return leaves(gr, n.Name) })
		mayHold := !status.Synced
		for o := range gather.Objects(w) {
			mayHold = mayHold || c.caches.MayHoldFinalizer(o)
			if o.Finalized && leaves(gr, o.ID.Namespace) {
				left[o.ID] = memory.Departure{Resource: status.Served.Resource, UID: o.UID, At: c.Clock.Now()}
			}
		}
		wasServed := !status.Unserved || !w.LastKind().Empty()
		if (isGone || leaves(gr, "")) && wasServed && c.isBehind(status) {
			c.departures.list(unlisted{Resource: w.Resource, last: last, at: c.Clock.Now(), mayHold: mayHold})
		}
	}
	return left
}

// leaves reports whether the last configuration included a resource in a Namespace, and the one in force does not.
func (c *Controller) leaves(last *config.Configuration, gr schema.GroupResource, namespace string) bool {
	return last.Includes(gr, namespace) && !c.caches.Includes(gr, namespace)
}

// isBehind reports whether a cache may not show what the last leader wrote: that is not known before this one leads.
func (c *Controller) isBehind(s watch.Status) bool {
	fence := c.fence.Load()
	return fence == nil || !s.Synced || state.IsOlder(s.ResourceVersion, *fence)
}

// findDeparted lists what the caches did not show when it left the configuration, until it can.
func (c *Controller) findDeparted(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, syncTimeout)
	defer cancel()
	defer c.departures.endList()
	for _, r := range c.departures.toList(c.Clock.Now()) {
		if c.Clock.Since(r.at) > keptPeriod {
			if !r.isRefused {
				continue // there is no object
			}
			c.failures.Warn("objects may have left the configuration with a finalizer that was not removed: karmada-mirror purge --finalizers", zap.Stringer("resource", r.GroupResource))
			continue
		}
		left, err := c.listDeparted(ctx, r)
		if err != nil {
			r.next, r.isRefused = c.Clock.Now().Add(c.Clock.Since(r.at)/4), !errors.Is(err, errNotServed)
			if r.isFailing() {
				c.failures.Warn("cannot tell which objects left the configuration with a finalizer, retrying", zap.Stringer("resource", r.GroupResource), zap.Error(err))
			}
			c.departures.list(r)
			continue
		}
		c.memory.Depart(left)
		for id := range left {
			c.enqueue(id)
		}
	}
}

var errNotServed = errors.New("the API server does not serve it")

func (c *Controller) listDeparted(ctx context.Context, r unlisted) (map[render.Identity]memory.Departure, error) {
	served, isServed, err := c.Resolver.Resolve(ctx, watch.Resource{GroupResource: r.GroupResource}) // in any version
	switch {
	case err != nil:
		return nil, err
	case !isServed: // perhaps for a moment; what has gone for good has no objects, and is given up in time
		return nil, errNotServed
	}
	left := map[render.Identity]memory.Departure{}
	_, err = watch.Each(ctx, c.Dynamic.Resource(served.Resource), metav1.ListOptions{}, func(u *unstructured.Unstructured) {
		if write.HasFinalizer(u) && c.leaves(r.last, r.GroupResource, u.GetNamespace()) {
			left[gather.IdentityOf(u)] = memory.Departure{Resource: served.Resource, UID: u.GetUID(), At: r.at}
		}
	})
	return left, err
}

func (d *departures) list(r unlisted) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.unlisted = append(d.unlisted, r)
}

// toList returns the resources to list now, and forgets them: one that cannot be listed is added again.
func (d *departures) toList(now time.Time) []unlisted {
	d.mu.Lock()
	defer d.mu.Unlock()
	isDue := func(r unlisted) bool { return !r.next.After(now) }
	d.listing = slices.DeleteFunc(slices.Clone(d.unlisted), func(r unlisted) bool { return !isDue(r) })
	d.unlisted = slices.DeleteFunc(d.unlisted, isDue)
	return d.listing
}

func (d *departures) endList() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.listing = nil
}

// failing counts the resources that cannot be listed, of which some object may have the finalizer.
func (d *departures) failing() (all metrics.Failing) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range slices.Concat(d.listing, d.unlisted) {
		if r.isFailing() {
			all = all.With(metrics.Failing{Sources: 1, Since: r.at})
		}
	}
	return all
}

// age drops what is still to be listed since a time before, without a word: another replica led then.
func (d *departures) age(before time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.unlisted = slices.DeleteFunc(d.unlisted, func(r unlisted) bool { return r.at.Before(before) })
}

// ageDepartures marks what has long left the configuration as late: another replica led then.
func (c *Controller) ageDepartures() {
	before := c.Clock.Now().Add(-departurePeriod)
	c.memory.AgeDepartures(before)
	c.departures.age(before)
}

// releaseFinalizer removes our finalizer from an object that has left the configuration, and is not back. It
// returns what keeps it from that; nil for nothing.
func (c *Controller) releaseFinalizer(ctx context.Context, id render.Identity, o *write.Outcome) *judge.Refusal {
	left := c.memory.Departure(id)
	if left == nil {
		return nil
	}
	if wait, why := c.finalizers.keeps(left.Resource, id); why != nil {
		o.RetryAfter(wait)
		return why
	}
	err := c.currency.confirm(ctx)
	isBack := c.caches.Includes(left.Resource.GroupResource(), id.Namespace)
	if isBack && c.caches.Facts(id).Unknown != "" {
		return nil // it may leave again before the watch shows it
	}
	if err == nil && !isBack {
		err = c.finalizers.leave(ctx, id, left)
	}
	switch {
	case err == nil || errors.Is(err, write.ErrOtherVersion) || gather.ProvesAbsence(err, id.Name):
		c.memory.Returned(id)
		if !isBack {
			c.finalizers.refused.End(id)
			c.memory.ShownFinalizer(id)
		}
	case errors.Is(err, errLate) || write.RefusedBy(err) != "":
		wait, why := c.finalizers.keep(left, id, err)
		o.RetryAfter(wait)
		return why
	default:
		o.Fail(fmt.Errorf("cannot remove the finalizer of %q, which has left the configuration: %w", id, err))
	}
	return nil
}

// errLate means that the finalizer is there, and that another daemon may have set it meanwhile.
var errLate = errors.New("the object left the configuration long ago")

// leave removes the finalizer of an object that has left the configuration. If that is long ago, it only looks whether it is
// there, and was not set since: by another daemon. One that it may not look at may have it. On an object that is being
// deleted, one that was set since stays too: the other daemon could not set it again.
func (f *finalizers) leave(ctx context.Context, id render.Identity, left *memory.Departure) error {
	u, err := f.Dynamic.Resource(left.Resource).Namespace(id.Namespace).Get(ctx, id.Name, metav1.GetOptions{})
	isLate := left.IsLate || f.Clock.Since(left.At) > keptPeriod
	switch {
	case err != nil && !isLate:
		return err
	case apierrors.IsNotFound(err): // nor is it served any more
		return nil
	case apierrors.IsForbidden(err):
		return errLate
	case err != nil:
		return err
	case u.GetUID() != left.UID || !write.HasFinalizer(u):
		return nil
	}
	isOurs := config.WrittenAt(u, render.WorksFinalizer).Before(left.At)
	switch {
	case isLate && !isOurs:
		return nil
	case isLate || !isOurs && u.GetDeletionTimestamp() != nil:
		return errLate
	}
	if err = f.set(ctx, left.Resource, id, left.UID, u.GetResourceVersion(), false); errors.Is(err, write.ErrOtherVersion) {
		return errOutdated
	}
	return err
}
