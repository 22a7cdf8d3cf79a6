package gather

import (
	"context"
	"iter"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/watch"
)

// carriedBy returns the version in which the Works of a resource carry its objects, on most clusters; otherwise if
// there are none. Where the configuration names no version, it stays in force for as long as it is served: that the
// API server prefers another from now on changes no object, but every Work, and override policies select by the
// version. Each cluster has one vote, since its agent can write its Works; other daemons' Works have none.
func carriedBy(works iter.Seq[*state.Work], kind schema.GroupKind, resource config.Resource, otherwise string) string {
	onClusters := map[string]map[string]int{}
	for w := range works {
		version := w.Version()
		if version == "" || w.Source.GroupKind() != kind || !w.IsOursFor(w.Source) || w.Terminating || !resource.SelectsNamespace(w.Source.Namespace) {
			continue
		}
		if onClusters[w.Cluster] == nil {
			onClusters[w.Cluster] = map[string]int{}
		}
		onClusters[w.Cluster][version]++
	}
	votes := map[string]int{}
	for _, versions := range onClusters {
		votes[mostOf(versions, otherwise)]++
	}
	return mostOf(votes, otherwise)
}

// mostOf returns the version with most votes. Of two with as many, it is the one that is not preferred.
func mostOf(votes map[string]int, preferred string) string {
	most := preferred
	for _, version := range slices.Sorted(maps.Keys(votes)) {
		if n := votes[version]; n > votes[most] || n == votes[most] && most == preferred {
			most = version
		}
	}
	return most
}

// Resolve implements watch.Resolver, for configured resources.
func (c *Caches) Resolve(ctx context.Context, r watch.Resource) (watch.Served, bool, error) {
	preferred, isServed, err := c.options.Resolver.Resolve(ctx, r)
	if r.Version != "" || !isServed || err != nil {
		return preferred, isServed, err
	}
	if !c.works.Status().Synced {
		return watch.Served{}, false, watch.ErrNotKnownYet // the Works are yet to say which version they have
	}
	var resource config.Resource
	if configuration := c.configuration.Load(); configuration != nil {
		resource, _ = configuration.Resource(preferred.Resource.GroupResource())
	}
	if r.Version = carriedBy(c.WorksOfKind(preferred.Kind), preferred.Kind, resource, preferred.Resource.Version); r.Version == preferred.Resource.Version {
		return preferred, true, nil
	}
	inForce, isServed, err := c.options.Resolver.Resolve(ctx, r)
	if err != nil || isServed && inForce.Kind == preferred.Kind {
		return inForce, isServed, err
	}
	return preferred, true, nil
}
