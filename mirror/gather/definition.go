package gather

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/watch"
)

// describe adds what is known about the definition of the source's kind.
func (c *Caches) describe(f *judge.Facts, d *state.Definition) {
	first, seen := c.definitions.Load(d.Name)
	f.Redefined = seen && first != d.UID
	f.Definition, f.DefinitionCreated = judge.DefinitionServed, d.Created
	if d.Terminating {
		f.Definition = judge.DefinitionTerminating
	}
}

// mayBeDefined reports whether a resource may come from a CustomResourceDefinition:
// the API server requires a dot in its group.
func mayBeDefined(r schema.GroupResource) bool { return strings.Contains(r.Group, ".") }

// definitionIsGone reports whether a source's resource is configured, but not served because
// its definition was deleted. It must be certain of all of that: resources of an aggregated
// API server have no definition either, and still exist while that server is down.
func (c *Caches) definitionIsGone(id render.Identity) bool {
	gr := c.resourceOf(id)
	if c.configuration.Load() == nil || !mayBeDefined(gr) {
		return false
	}
	resource, ok := c.configuration.Load().Resource(gr)
	if !ok || !resource.SelectsNamespace(id.Namespace) {
		return false
	}
	_, found, synced := c.customResources.Get("", gr.String())
	return synced && !found && c.hadDefinition(id, gr) && slices.ContainsFunc(c.sources.All(), func(w *watch.Watch) bool {
		return w.Resource.GroupResource == gr && w.Status().Unserved
	})
}

// hadDefinition reports whether a source's resource ever had a definition: this process has
// seen it, or another process did and marked a Work.
func (c *Caches) hadDefinition(id render.Identity, r schema.GroupResource) bool {
	return c.hasSeen(r) || slices.ContainsFunc(c.worksOf(id), func(w *state.Work) bool {
		return w.Held != nil && judge.IsOfDefinition(w.Held.Because)
	})
}

// hasSeen reports whether this process has ever seen a resource's definition.
func (c *Caches) hasSeen(r schema.GroupResource) bool {
	_, seen := c.definitions.Load(r.String())
	return seen
}
