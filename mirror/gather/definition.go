package gather

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

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

// withoutNamespace stands for the Namespace of a source that has none. A definition goes to the clusters where objects of its kind have
// Works, and stays where it has one.
func withoutNamespace(id render.Identity, s store) *state.Namespace {
	if id.GroupKind() != state.DefinitionKind {
		return &state.Namespace{}
	}
	clusters, of := sets.New[string](), schema.ParseGroupResource(id.Name)
	for _, w := range s.worksOf(id) {
		clusters.Insert(w.Cluster)
	}
	if s.inForce().MirrorsDefinition(of) {
		for w := range s.Works() {
			if w.Source.Group == of.Group && w.NamesSource() && s.ResourceOf(w.Source) == id.Name {
				clusters.Insert(w.Cluster)
			}
		}
	}
	return &state.Namespace{Wishes: render.To(sets.List(clusters))}
}

// MissesDefinition returns the definition of what a Work carries if that is to be where the Work is, and has no Work there.
func (c *Caches) MissesDefinition(w *state.Work) (definition render.Identity, misses bool) {
	of := c.resourceOf(w.Source)
	if !w.NamesSource() || !c.configuration.Load().MirrorsDefinition(of) {
		return render.Identity{}, false
	}
	definition = render.Identity{Group: state.DefinitionKind.Group, Kind: state.DefinitionKind.Kind, Name: of.String()}
	_, has := c.WorkAt(definition, w.Cluster, definition.WorkName())
	return definition, !has
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
