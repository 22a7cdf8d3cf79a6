package gather

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// contents keeps the objects that are mirrored only because their Namespace asks: they do not
// ask themselves, so the cache of their resource has not kept their content. An entry may be
// missing, and then the object is read. It is never wrong: it has the resource version that the
// cache has, or a later one from a live read.
type contents struct {
	mu sync.Mutex
	of map[render.Identity]*state.Object
	// needing are those whose Pods need an object, or did.
	needing map[render.Identity]sets.Set[render.Identity]
}

// note notes what a watch shows. The same version replaces what is known: it may be served in another apiVersion now.
func (c *contents) note(whole *state.Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.noteLocked(whole)
}

// noteRead notes what a live read has shown, which may have begun before the resource was watched in another version.
func (c *contents) noteRead(whole *state.Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.of[whole.ID]; !ok || known.ResourceVersion != whole.ResourceVersion {
		c.noteLocked(whole)
	}
}

func (c *contents) noteLocked(whole *state.Object) {
	if c.of == nil {
		c.of = map[render.Identity]*state.Object{}
	}
	if known, ok := c.of[whole.ID]; !ok || !state.IsOlder(whole.ResourceVersion, known.ResourceVersion) {
		c.of[whole.ID] = whole // a watch may lag behind a live read
		c.index(whole)
	}
}

func (c *contents) index(o *state.Object) {
	if c.needing == nil {
		c.needing = map[render.Identity]sets.Set[render.Identity]{}
	}
	for _, id := range o.Needs() {
		if c.needing[id] == nil {
			c.needing[id] = sets.Set[render.Identity]{}
		}
		c.needing[id].Insert(o.ID)
	}
}

// isAsNew reports whether a known object is the version that a cache has, or a newer one.
func isAsNew(whole, cached *state.Object) bool {
	return whole.ResourceVersion == cached.ResourceVersion || state.IsOlder(cached.ResourceVersion, whole.ResourceVersion)
}

// complete returns an object with its content, in the newest version that is known; the object
// as it is if its content is not known.
func (c *contents) complete(o *state.Object) *state.Object {
	if o.Content != nil {
		return o
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if whole, ok := c.of[o.ID]; ok && isAsNew(whole, o) {
		return whole
	}
	return o
}

// all returns the objects whose content is known here.
func (c *contents) all() []*state.Object {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Values(c.of))
}

// withNeed returns those whose Pods need an object.
func (c *contents) withNeed(id render.Identity) (workloads []*state.Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for workload := range c.needing[id] {
		if o := c.of[workload]; o != nil && slices.Contains(o.Needs(), id) {
			workloads = append(workloads, o)
		}
	}
	return workloads
}

// prune drops what is no longer needed.
func (c *contents) prune(isNeeded func(*state.Object) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := map[render.Identity]*state.Object{}
	for id, o := range c.of {
		if isNeeded(o) {
			kept[id] = o
		}
	}
	c.of, c.needing = kept, nil
	for _, o := range kept {
		c.index(o)
	}
}
