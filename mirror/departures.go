package mirror

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/mirror/gather"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/write"
	"github.com/karmada-target/karmada-mirror/render"
)

// departures are objects that had our finalizer when they left the configuration: it must be removed,
// since no daemon would delete their Works. Standbys remember them too, in case that the leader does not
// get to it.
type departures struct {
	mu sync.Mutex
	of map[render.Identity]departure
}

type departure struct {
	resource schema.GroupVersionResource
	uid      types.UID
	at       time.Time
}

// departurePeriod is how long the finalizer of an object that has left the configuration is tried to be
// removed. Later, another daemon may have the object.
const departurePeriod = 10 * time.Minute

// departing returns the objects with our finalizer that the last configuration included, and the one in force
// does not. The watch may not show yet that they have it. A sync that sets it from now on notes that itself.
func (c *Controller) departing(last *config.Configuration) map[render.Identity]departure {
	leaves := func(gr schema.GroupResource, namespace string) bool {
		return last.Includes(gr, namespace) && !c.caches.Includes(gr, namespace)
	}
	left := map[render.Identity]departure{}
	for id, set := range c.finalizers.notShown() {
		if leaves(set.resource.GroupResource(), id.Namespace) {
			left[id] = departure{set.resource, set.uid, c.Clock.Now()}
		}
	}
	for _, w := range c.caches.Sources() {
		gr := w.Resource.GroupResource
		for o := range gather.Objects(w) {
			if o.Finalized && leaves(gr, o.ID.Namespace) {
				left[o.ID] = departure{w.Status().Served.Resource, o.UID, c.Clock.Now()}
			}
		}
	}
	return left
}

func (d *departures) add(left map[render.Identity]departure) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.of == nil {
		d.of = map[render.Identity]departure{}
	}
	maps.Copy(d.of, left)
}

func (d *departures) get(id render.Identity) (departure, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	left, ok := d.of[id]
	return left, ok
}

func (d *departures) drop(id render.Identity) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.of, id)
}

func (d *departures) all() []render.Identity {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Collect(maps.Keys(d.of))
}

// letGo removes our finalizer from an object that has left the configuration, and is not back. It
// returns what keeps it from that; nil for nothing.
func (c *Controller) letGo(ctx context.Context, id render.Identity, o *write.Outcome) *judge.Refusal {
	left, ok := c.departures.get(id)
	if !ok {
		return nil
	}
	if c.Clock.Since(left.at) > departurePeriod {
		c.departures.drop(id)
		c.logger(id).Warn("left the configuration with a finalizer that was not removed in time: karmada-mirror purge --finalizers removes it")
		return nil
	}
	gr := left.resource.GroupResource()
	at := place{gr, id.Namespace}
	if wait := c.finalizers.denied.wait(at); wait > 0 {
		o.RetryAfter(wait)
		return mayNotRemove(left.resource)
	}
	err := c.currency.confirm(ctx)
	isBack := c.caches.Includes(gr, id.Namespace)
	if isBack && c.caches.Facts(id).Unknown != "" {
		return nil // it may leave again before the watch shows it
	}
	if err == nil && !isBack {
		err = c.finalizers.set(ctx, left.resource, id, left.uid, "", false)
	}
	switch {
	case err == nil || errors.Is(err, write.ErrOtherVersion) || gather.ProvesAbsence(err, id.Name):
		c.departures.drop(id)
		if !isBack {
			c.finalizers.shown(id)
		}
	case write.RefusedBy(err) != "":
		c.finalizers.denied.begin(at)
		o.RetryAfter(denialPeriod)
		return mayNotRemove(left.resource)
	default:
		o.Fail(fmt.Errorf("cannot remove the finalizer of %q, which has left the configuration: %w", id, err))
	}
	return nil
}
