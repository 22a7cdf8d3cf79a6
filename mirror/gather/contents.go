package gather

import (
	"sync"

	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// contents are the objects whose content the cache of their resource has not kept, for
// they do not ask themselves, and that are mirrored because their Namespace asks. An entry
// may be missing, and then the object is read; it is never wrong, for it is of the resource
// version that the cache has, or of a later one, which was read live.
type contents struct {
	mu sync.Mutex
	of map[render.Identity]*state.Object
}

func (c *contents) note(whole *state.Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[render.Identity]*state.Object{}
	}
	if known, ok := c.of[whole.ID]; !ok || !state.IsOlder(whole.ResourceVersion, known.ResourceVersion) {
		c.of[whole.ID] = whole // a watch may show what is older than what was read live
	}
}

// isAsNew reports whether what is known of an object is what a cache has of it, or newer.
func isAsNew(whole, cached *state.Object) bool {
	return whole.ResourceVersion == cached.ResourceVersion || state.IsOlder(cached.ResourceVersion, whole.ResourceVersion)
}

// complete is an object with its content, if that is known, as new as it is known; or else
// as it is.
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

// prune drops what nobody needs any more.
func (c *contents) prune(isNeeded func(*state.Object) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := map[render.Identity]*state.Object{}
	for id, o := range c.of {
		if isNeeded(o) {
			kept[id] = o
		}
	}
	c.of = kept
}
