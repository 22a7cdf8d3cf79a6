package gather

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/watch"
)

// carriedBy returns the version in which the Works of a resource carry its objects, on most clusters; "" if there are none.
// Where the configuration names no version, it stays in force for as long as it is served: that the API server prefers
// another from now on changes no object, but every Work, and override policies select by the version. Each cluster has one
// vote, since its agent can write its Works; other daemons' Works have none. Of two with as many, it is the one that is kept,
// or the older.
func carriedBy(works iter.Seq[*state.Work], kind schema.GroupKind, resource config.Resource, kept string) string {
	onClusters := map[string]map[string]int{}
	for w := range works {
		carried := w.Version()
		if carried == "" || w.Source.GroupKind() != kind || !w.IsOursFor(w.Source) || w.Terminating || !resource.SelectsNamespace(w.Source.Namespace) {
			continue
		}
		if onClusters[w.Cluster] == nil {
			onClusters[w.Cluster] = map[string]int{}
		}
		onClusters[w.Cluster][carried]++
	}
	votes := map[string]int{}
	for _, versions := range onClusters {
		votes[mostOf(versions, "")]++
	}
	return mostOf(votes, kept)
}

// mostOf returns the version with most votes: of two with as many, the one that is kept, or the older.
func mostOf(votes map[string]int, kept string) string {
	most := kept
	for _, v := range slices.SortedFunc(maps.Keys(votes), version.CompareKubeAwareVersionStrings) {
		if votes[v] > votes[most] {
			most = v
		}
	}
	return most
}

// Resolve implements watch.Resolver, for configured resources. One that is watched in a version which the configuration does
// not name keeps that only until the Works say otherwise: the watch may have begun before there were any, or while their list
// was cut short.
func (c *Caches) Resolve(ctx context.Context, r watch.Resource) (watch.Served, bool, error) {
	found, isServed, err := c.options.Resolver.Resolve(ctx, r)
	if r.Version != "" && c.configured(r.GroupResource).Version != "" || !isServed || err != nil {
		return found, isServed, err
	}
	if !c.HasSyncedWorks() {
		return watch.Served{}, false, watch.ErrNotKnownYet // the Works are yet to say which version they have
	}
	carried := found.Resource
	carried.Version = cmp.Or(c.carried(found, r.Version), found.Resource.Version)
	if carried == found.Resource {
		return found, true, nil
	}
	inForce, isServed, err := c.options.Resolver.Resolve(ctx, watch.In(carried))
	isUsable := isServed && inForce.Kind == found.Kind
	if err == nil {
		c.unserved.Store(carried, !isUsable)
	}
	if err != nil || isUsable {
		return inForce, isServed, err
	}
	return found, true, nil
}

// configured returns what the configuration says about a resource.
func (c *Caches) configured(gr schema.GroupResource) (r config.Resource) {
	if configuration := c.configuration.Load(); configuration != nil {
		r, _ = configuration.Resource(gr)
	}
	return r
}

func (c *Caches) carried(served watch.Served, kept string) string {
	return carriedBy(c.WorksOfKind(served.Kind), served.Kind, c.configured(served.Resource.GroupResource()), kept)
}

// watchedOtherwise returns the watch of a Work's kind if that is in another version than the Work has, and the configuration
// names none.
func (c *Caches) watchedOtherwise(w *state.Work) (*watch.Watch, bool) {
	watched, ok := c.sources.ByKind(w.Source.GroupKind())
	return watched, ok && watched.Resource.Version == "" && w.Version() != "" && w.Version() != watched.Status().Served.Resource.Version
}

// IsOutvoted reports whether a Work of ours must not be rewritten in the version in which its source is watched: the Works say
// that another is in force, or the cache lacks some of them. The watch will begin again.
func (c *Caches) IsOutvoted(w *state.Work) bool {
	watched, ok := c.watchedOtherwise(w)
	if !ok || !w.IsOursFor(w.Source) {
		return false
	}
	served := watched.Status().Served
	isUnserved, _ := c.unserved.Load(served.Resource.GroupResource().WithVersion(w.Version()))
	_, isCached, _ := c.works.Get(w.Namespace, w.Name)
	if isUnserved == true || isCached && c.carried(served, served.Resource.Version) == served.Resource.Version {
		return false
	}
	watched.Recheck()
	return true
}
