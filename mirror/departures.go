package mirror

import (
	"context"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/mirror/gather"
	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/watch"
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
}

// departing returns the objects with our finalizer in caches that a configuration does not include.
func departing(caches []*watch.Watch, configuration *config.Configuration) (left map[render.Identity]departure) {
	left = map[render.Identity]departure{}
	for _, w := range caches {
		resource, stays := configuration.Resource(w.Resource.GroupResource)
		for o := range gather.Objects(w) {
			if o.Finalized && !(stays && resource.SelectsNamespace(o.ID.Namespace)) {
				left[o.ID] = departure{w.Status().Served.Resource, o.UID}
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

// letGo removes our finalizer from an object that has left the configuration, and is not back.
func (c *Controller) letGo(ctx context.Context, id render.Identity) error {
	left, ok := c.departures.get(id)
	if !ok {
		return nil
	}
	if !c.caches.Includes(left.resource.GroupResource(), id.Namespace) {
		if err := c.finalizers.set(ctx, left.resource, id, left.uid, false); err != nil {
			return err
		}
	}
	c.departures.drop(id)
	return nil
}
