package gather

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/watch"
)

// carried counts in which versions Works carry the objects of each kind: where the configuration names no
// version, the one that they have stays in force for as long as it is served. That the API server prefers
// another from now on changes no object, but every Work, and override policies select by the version.
type carried struct {
	mu sync.Mutex
	of map[schema.GroupKind]map[string]int
}

func (c *carried) note(work *unstructured.Unstructured) {
	manifest, err := render.ManifestOf(work.Object)
	if err != nil {
		return
	}
	gvk := (&unstructured.Unstructured{Object: manifest}).GroupVersionKind()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[schema.GroupKind]map[string]int{}
	}
	if c.of[gvk.GroupKind()] == nil {
		c.of[gvk.GroupKind()] = map[string]int{}
	}
	c.of[gvk.GroupKind()][gvk.Version]++
}

// most returns the version that most Works have; otherwise if none is known.
func (c *carried) most(kind schema.GroupKind, otherwise string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	versions := c.of[kind]
	for _, version := range slices.Sorted(maps.Keys(versions)) {
		if versions[version] > versions[otherwise] {
			otherwise = version
		}
	}
	return otherwise
}

// errCarriedUnknown is returned until it is known which versions the Works have.
var errCarriedUnknown = errors.New("the Works have not been listed yet: they say which version of it is in force")

// Resolve implements watch.Resolver, for configured resources.
func (c *Caches) Resolve(ctx context.Context, r watch.Resource) (watch.Served, bool, error) {
	preferred, isServed, err := c.options.Resolver.Resolve(ctx, r)
	if r.Version != "" || !isServed || err != nil {
		return preferred, isServed, err
	}
	if !c.works.Status().Synced {
		return watch.Served{}, false, errCarriedUnknown
	}
	if r.Version = c.carried.most(preferred.Kind, preferred.Resource.Version); r.Version == preferred.Resource.Version {
		return preferred, true, nil
	}
	inForce, isServed, err := c.options.Resolver.Resolve(ctx, r)
	if err != nil || isServed && inForce.Kind == preferred.Kind {
		return inForce, isServed, err
	}
	return preferred, true, nil
}
