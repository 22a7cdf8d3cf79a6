package gather

import (
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// Namespace returns the Namespace of that name from the cache.
func (c *Caches) Namespace(name string) (n *state.Namespace, found bool) {
	return c.namespaceOf(render.Identity{Namespace: name})
}

// MayAsk reports whether an object may ask to be mirrored: true if its Namespace is not cached yet.
func (c *Caches) MayAsk(o *state.Object) bool {
	if o.Wishes() != (render.Wishes{}) || o.Finalized {
		return true
	}
	n, found := c.namespaceOf(o.ID)
	return !found || n.Wishes.Ask()
}

// Asks reports whether an object asks to be mirrored.
func (c *Caches) Asks(o *state.Object) bool {
	n, _ := c.namespaceOf(o.ID)
	return judge.Asks(o, n.Wishes)
}

// MayHoldFinalizer reports whether an object has our finalizer, or is to get it.
func (c *Caches) MayHoldFinalizer(o *state.Object) bool {
	n, _ := c.namespaceOf(o.ID)
	return judge.MayHoldFinalizer(o, n.Wishes)
}

// needsContent reports whether the content of an object that does not ask itself may still be
// needed: its Namespace asks, and the cache has the object in no newer version.
func (c *Caches) needsContent(whole *state.Object) bool {
	w, ok := c.sources.ByKind(whole.ID.GroupKind())
	if !ok || !c.Asks(whole) {
		return false
	}
	obj, found, synced := w.Get(whole.ID.Namespace, whole.ID.Name)
	return !synced || found && isAsNew(whole, obj.(*state.Object))
}
