package gather

import (
	"iter"
	"slices"
	"unique"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/watch"
)

// Objects returns the objects in the cache of a configured resource.
func Objects(of *watch.Watch) iter.Seq[*state.Object] {
	return each[state.Object](of.List())
}

// ObjectsIn returns the objects of all configured resources in a namespace.
func (c *Caches) ObjectsIn(namespace string) iter.Seq[*state.Object] {
	return func(yield func(*state.Object) bool) {
		for _, w := range c.Sources() {
			for o := range each[state.Object](w.ByIndex(cache.NamespaceIndex, namespace)) {
				if !yield(o) {
					return
				}
			}
		}
	}
}

// Namespaces returns all Namespaces.
func (c *Caches) Namespaces() iter.Seq[*state.Namespace] {
	return each[state.Namespace](c.namespaces.List())
}

// Works returns all Works that have our label.
func (c *Caches) Works() iter.Seq[*state.Work] { return each[state.Work](c.works.List()) }

// WorksOn returns the Works for a cluster.
func (c *Caches) WorksOn(cluster string) iter.Seq[*state.Work] {
	return each[state.Work](c.works.ByIndex(cache.NamespaceIndex, render.ExecutionNamespace(cluster)))
}

// WorksOfKind returns the Works that name a source of a kind.
func (c *Caches) WorksOfKind(kind schema.GroupKind) iter.Seq[*state.Work] {
	return each[state.Work](c.works.ByIndex(kindIndex, kind.String()))
}

// worksOf returns the Works that name a source.
func (c *Caches) worksOf(id render.Identity) []*state.Work {
	var works []*state.Work
	for w := range each[state.Work](c.works.ByIndex(sourceIndex, sourceBucket(id))) {
		if w.Source == id {
			works = append(works, w)
		}
	}
	return works
}

// WorkAt finds the Work of that name: in the cache, or, since the cache holds labelled Works
// only, the one that a refused create for the source ran into.
func (c *Caches) WorkAt(id render.Identity, cluster, name string) (*state.Work, bool) {
	if obj, found, _ := c.works.Get(render.ExecutionNamespace(cluster), name); found {
		return obj.(*state.Work), true
	}
	return c.options.Memory.Stranger(id, cluster, name)
}

// CountWorks counts the Works of a kind that are not being deleted, carry no Job that has ended, and
// whose sources are in this configuration, by namespace. Other daemons look after the rest.
func (c *Caches) CountWorks(kind schema.GroupKind) map[string]int {
	return c.count(c.WorksOfKind(kind), func(w *state.Work) string { return w.Source.Namespace })
}

// CountWorksOnClusters counts such Works of all kinds, by cluster.
func (c *Caches) CountWorksOnClusters() map[string]int {
	return c.count(c.Works(), func(w *state.Work) string { return w.Cluster })
}

func (c *Caches) count(works iter.Seq[*state.Work], place func(*state.Work) string) map[string]int {
	configuration, n, resources := c.configuration.Load(), map[string]int{}, map[schema.GroupKind]schema.GroupResource{}
	for w := range works {
		kind := w.Source.GroupKind()
		resource, known := resources[kind]
		if !known {
			resource = c.resourceOf(w.Source)
			resources[kind] = resource
		}
		if w.Foreign == "" && !w.Terminating && !w.IsFinished() && configuration.Includes(resource, w.Source.Namespace) {
			n[place(w)]++
		}
	}
	return n
}

// IsHeld reports whether the breaker holds the deletion of a Work of this configuration. Other
// daemons look after theirs.
func (c *Caches) IsHeld(w *state.Work) bool {
	return w.Held != nil && w.Foreign == "" && !w.Terminating && c.Includes(schema.ParseGroupResource(w.Held.Resource), w.Source.Namespace)
}

// Namespace returns the Namespace of that name from the cache.
func (c *Caches) Namespace(name string) (n *state.Namespace, found bool) {
	return c.namespaceOf(render.Identity{Namespace: name})
}

// MayAsk reports whether an object may ask to be mirrored: true if its Namespace is not cached yet.
func (c *Caches) MayAsk(o *state.Object) bool {
	if o.ID.GroupKind() == state.DefinitionKind {
		return c.Asks(o)
	}
	if o.Wishes() != (render.Wishes{}) || o.Finalized {
		return true
	}
	n, found := c.namespaceOf(o.ID)
	return !found || n.Wishes.Ask()
}

// Asks reports whether an object asks to be mirrored, or may go along with others.
func (c *Caches) Asks(o *state.Object) bool {
	if o.ID.GroupKind() == state.DefinitionKind {
		return !isExempt(c.configuration.Load(), o.ID)
	}
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

// HasCluster reports whether a cluster is in the cache.
func (c *Caches) HasCluster(name string) bool {
	_, found, _ := c.clusters.Get("", name)
	return found
}

// MissingClusters returns the names that no cluster has; none while the clusters have not synced.
func (c *Caches) MissingClusters(names []string) (missing []string) {
	if !c.clusters.Status().Synced {
		return nil
	}
	for _, name := range names {
		if !c.HasCluster(name) {
			missing = append(missing, name)
		}
	}
	return missing
}

// ChoosesSome reports whether wishes match a cluster, or name one; true while the clusters have not synced.
func (c *Caches) ChoosesSome(wishes render.Wishes) bool {
	terms, err := wishes.Terms()
	if err != nil || !c.clusters.Status().Synced || slices.ContainsFunc(terms.Names(), func(name string) bool { return !terms.Excludes(name) }) {
		return true
	}
	for cluster := range each[state.Cluster](c.clusters.List()) {
		if terms.Matches(cluster.Name, cluster.Labels) {
			return true
		}
	}
	return false
}

func (c *Caches) clusterNames() []string {
	var names []string
	for cluster := range each[state.Cluster](c.clusters.List()) {
		names = append(names, cluster.Name)
	}
	return names
}

// each iterates over cached objects as the type that they are.
func each[T any](objects []any) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for _, obj := range objects {
			if !yield(obj.(*T)) {
				return
			}
		}
	}
}

// HasWorksOf reports whether there may be such a Work of a source of a resource.
func (c *Caches) HasWorksOf(resource string, isSuch func(*state.Work) bool) bool {
	for w := range c.Works() {
		if isSuch(w) && w.Foreign == "" && w.NamesSource() && c.ResourceOf(w.Source) == resource {
			return true
		}
	}
	return !c.HasSyncedWorks()
}

// ResourceOf returns the resource of a source, as far as it is known.
func (c *Caches) ResourceOf(id render.Identity) string { return c.resourceOf(id).String() }

// resourceOf returns the resource of a source whose kind need not be served, nor be configured any more: the one that was last
// served with this kind, or else a guess.
func (c *Caches) resourceOf(id render.Identity) schema.GroupResource {
	kind := id.GroupKind()
	if w, ok := c.sources.ByKind(kind); ok {
		c.resources.Store(kind, w.Resource.GroupResource)
		return w.Resource.GroupResource
	}
	if last, ok := c.resources.Load(kind); ok {
		return last.(schema.GroupResource)
	}
	for _, w := range c.sources.All() {
		if w.LastKind() == kind {
			return w.Resource.GroupResource
		}
	}
	return guessResource(kind, c.worksOf(id), func(r schema.GroupResource) bool { return c.Includes(r, id.Namespace) })
}

// guessResource guesses the resource of a kind. If the guess by the name is not configured, it is the one that the breaker has
// noted on a Work, which others may write too. If the guess is wrong, nothing is found, and nothing is deleted.
func guessResource(kind schema.GroupKind, works []*state.Work, isConfigured func(schema.GroupResource) bool) schema.GroupResource {
	plural, _ := meta.UnsafeGuessKindToResource(kind.WithVersion(""))
	guess := plural.GroupResource()
	for _, w := range works {
		if r := w.MarkedResource(); r.Resource != "" && !isConfigured(guess) {
			return r
		}
	}
	return guess
}

// ServedAs returns the resource and version in which the API server serves a configured kind.
func (c *Caches) ServedAs(kind schema.GroupKind) (r schema.GroupVersionResource, ok bool) {
	w, ok := c.sources.ByKind(kind)
	if !ok {
		return schema.GroupVersionResource{}, false
	}
	return w.Status().Served.Resource, true
}

// The indexes of objects and Works, besides those by name and namespace.
const (
	// termIndex finds objects and Namespaces by the terms that they name themselves.
	termIndex = "term"
	// scaleIndex finds autoscalers, and Works of autoscalers, by what they scale.
	scaleIndex = "scale"
	// ownerIndex finds objects by the one whose controller made them, without its namespace.
	ownerIndex = "owner"
	// followsIndex finds objects by those that they follow, by namespace and name.
	followsIndex = "follows"
	// variableIndex finds objects by the variables in their content.
	variableIndex = "variable"
	// needsIndex finds workloads, and Works of those in waves, by what their Pods need.
	needsIndex = "needs"
	// sourceIndex finds Works by the beginning of their source's hash, and kindIndex by
	// their source's kind.
	sourceIndex = "source"
	kindIndex   = "kind"
)

func objectIndexers() cache.Indexers {
	return cache.Indexers{termIndex: indexByTerm, scaleIndex: indexByScaled, ownerIndex: indexByOwner, followsIndex: indexByLeaders, needsIndex: indexByNeeds, variableIndex: indexByVariable, cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
}

func workIndexers() cache.Indexers {
	return cache.Indexers{sourceIndex: indexBySource, kindIndex: indexByKind, scaleIndex: indexByScaled, needsIndex: indexByNeeds, cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
}

func indexByTerm(obj any) ([]string, error) {
	switch o := obj.(type) {
	case *state.Object:
		return append(o.Terms().Index(), o.Wishes().OtherNames()...), nil
	case *state.Namespace:
		return o.Wishes.IndexKeys(), nil
	}
	return nil, nil
}

func indexByScaled(obj any) ([]string, error) {
	if o, ok := obj.(interface {
		Scales() (render.Identity, bool)
	}); ok {
		if scaled, ok := o.Scales(); ok {
			return []string{scaled.String()}, nil
		}
	}
	return nil, nil
}

func indexByOwner(obj any) ([]string, error) {
	if o, ok := obj.(*state.Object); ok {
		if owner, ok := o.Owner(); ok {
			return []string{owner.String()}, nil
		}
	}
	return nil, nil
}

func indexByVariable(obj any) ([]string, error) {
	if o, ok := obj.(*state.Object); ok {
		return o.Variables(), nil
	}
	return nil, nil
}

// anyBucket has the Works whose Pods may need anything.
const anyBucket = "*"

// indexByNeeds uses buckets, like sourceIndex.
func indexByNeeds(obj any) (keys []string, err error) {
	if o, ok := obj.(interface{ Needs() []render.Identity }); ok {
		for _, id := range o.Needs() {
			keys = append(keys, unique.Make(sourceBucket(id)).Value())
		}
	}
	if w, ok := obj.(*state.Work); ok && w.MayNeedAnything() {
		keys = append(keys, anyBucket)
	}
	return keys, nil
}

// sourceBucket returns the key of a source in sourceIndex. The indexer keeps a set for
// each key, and a set for each source would take as much memory as its Works. With
// 50,000 Works, each of the 4,096 sets holds a dozen, which share the key.
func sourceBucket(id render.Identity) string { return id.ID()[:3] }

func indexBySource(obj any) ([]string, error) {
	if w, ok := obj.(*state.Work); ok && w.NamesSource() {
		return []string{unique.Make(sourceBucket(w.Source)).Value()}, nil
	}
	return nil, nil
}

func indexByKind(obj any) ([]string, error) {
	if w, ok := obj.(*state.Work); ok && w.NamesSource() {
		return []string{w.Source.GroupKind().String()}, nil
	}
	return nil, nil
}
