package gather

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/karmada-target/karmada-mirror/config"
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

// definitionOf is the definition of a resource, as a source.
func definitionOf(r schema.GroupResource) render.Identity {
	return render.Identity{Group: state.DefinitionKind.Group, Kind: state.DefinitionKind.Kind, Name: r.String()}
}

// isExempt reports whether a source is a definition that the configuration does not take along.
func isExempt(configuration *config.Configuration, id render.Identity) bool {
	return id.GroupKind() == state.DefinitionKind && configuration != nil && !configuration.MirrorsDefinition(schema.ParseGroupResource(id.Name))
}

// defaultsOf returns what stands for what a source does not say itself: the defaults of its Namespace or, if it is a definition, the clusters
// where it has a Work, and those where an object of its kind has one that is wanted there.
func defaultsOf(id render.Identity, namespace *state.Namespace, s store) render.Wishes {
	if id.GroupKind() != state.DefinitionKind {
		return namespace.Wishes
	}
	clusters := sets.New[string]()
	for _, w := range s.worksOf(id) {
		if w.IsOursFor(id) {
			clusters.Insert(w.Cluster)
		}
	}
	group := schema.ParseGroupResource(id.Name).Group
	for w := range s.Works() {
		isOfKind := w.Source.Group == group && w.IsOursFor(w.Source) && s.ResourceOf(w.Source) == id.Name
		if isOfKind && !clusters.Has(w.Cluster) && s.judged(w.Source, []*state.Work{w}).Verdict.Targets[w.Cluster].Decision == judge.Wanted {
			clusters.Insert(w.Cluster)
		}
	}
	return render.To(sets.List(clusters))
}

// MissesDefinition returns the definition of a source if it is to go along, and has no Work where the source has one that is wanted.
func (c *Caches) MissesDefinition(j judge.Judgement) (definition render.Identity, misses bool) {
	if !j.Facts.DefinitionFollows {
		return render.Identity{}, false
	}
	definition = definitionOf(c.resourceOf(j.Facts.ID))
	has := sets.New[string]()
	for _, w := range c.worksOf(definition) {
		has.Insert(w.Cluster)
	}
	for cluster, target := range j.Verdict.Targets {
		misses = misses || target.Decision == judge.Wanted && j.Facts.Works[cluster] != nil && !has.Has(cluster)
	}
	return definition, misses
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
