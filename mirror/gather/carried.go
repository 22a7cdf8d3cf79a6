package gather

import (
	"context"
	"iter"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/watch"
)

// carriedBy returns the version in which most Works carry the objects of a kind; otherwise if there are none. Where
// the configuration names no version, it stays in force for as long as it is served: that the API server prefers
// another from now on changes no object, but every Work, and override policies select by the version.
func carriedBy(works iter.Seq[*state.Work], kind schema.GroupKind, otherwise string) string {
	versions := map[string]int{}
	for w := range works {
		if version := w.Version(); w.Source.GroupKind() == kind && version != "" {
			versions[version]++
		}
	}
	for _, version := range slices.Sorted(maps.Keys(versions)) {
		if versions[version] > versions[otherwise] {
			otherwise = version
		}
	}
	return otherwise
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
	if r.Version = carriedBy(c.WorksOfKind(preferred.Kind), preferred.Kind, preferred.Resource.Version); r.Version == preferred.Resource.Version {
		return preferred, true, nil
	}
	inForce, isServed, err := c.options.Resolver.Resolve(ctx, r)
	if err != nil || isServed && inForce.Kind == preferred.Kind {
		return inForce, isServed, err
	}
	return preferred, true, nil
}
