package watch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// Served is how the API server serves a resource.
type Served struct {
	Resource   schema.GroupVersionResource
	Kind       schema.GroupKind
	Namespaced bool
}

// Resolver finds out how a resource is served. It returns false without an
// error only if the API server said that it does not serve the resource.
type Resolver interface {
	Resolve(ctx context.Context, r Resource) (Served, bool, error)
}

// ErrNotWatchable is returned for a resource that is served, but not with the
// verbs get, list and watch.
var ErrNotWatchable = errors.New("the resource cannot be listed and watched")

// ErrNotKnownYet is returned for a resource as long as it depends on something else how it is served. The
// Watch asks again, and does not warn.
var ErrNotKnownYet = errors.New("it is not known yet in which version the resource is to be watched")

// discoveryTimeout bounds how long client-go obeys a Retry-After, which may be an hour.
const discoveryTimeout = 30 * time.Second

// Discovery resolves resources by asking the API server each time: a cached
// answer could predate the deletion of a CustomResourceDefinition.
type Discovery struct {
	Client discovery.DiscoveryInterface
}

// Resolve implements Resolver.
func (d Discovery) Resolve(ctx context.Context, r Resource) (Served, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, discoveryTimeout)
	defer cancel()
	client := discovery.ToDiscoveryInterfaceWithContext(d.Client)
	versions := []string{r.Version}
	if r.Version == "" {
		var err error
		if versions, err = versionsOf(ctx, client, r.Group); err != nil {
			return Served{}, false, err
		}
	}
	for _, version := range versions {
		gv := schema.GroupVersion{Group: r.Group, Version: version}
		list, err := client.ServerResourcesForGroupVersionWithContext(ctx, gv.String())
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return Served{}, false, fmt.Errorf("cannot discover API %q: %w", gv, err)
		}
		for _, found := range list.APIResources {
			if found.Name == r.GroupResource.Resource {
				return served(gv, found)
			}
		}
	}
	return Served{}, false, nil
}

// versionsOf lists a group's versions, the preferred one first.
func versionsOf(ctx context.Context, client discovery.DiscoveryInterfaceWithContext, group string) ([]string, error) {
	groups, err := client.ServerGroupsWithContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot discover API groups: %w", err)
	}
	var versions []string
	for _, g := range groups.Groups {
		if g.Name != group {
			continue
		}
		versions = append(versions, g.PreferredVersion.Version)
		for _, v := range g.Versions {
			if v.Version != g.PreferredVersion.Version {
				versions = append(versions, v.Version)
			}
		}
	}
	return versions, nil
}

func served(gv schema.GroupVersion, r metav1.APIResource) (Served, bool, error) {
	for _, verb := range []string{"get", "list", "watch"} {
		if !slices.Contains(r.Verbs, verb) {
			return Served{}, false, fmt.Errorf("cannot watch %q in %q: verb %q is not served: %w", r.Name, gv, verb, ErrNotWatchable)
		}
	}
	return Served{
		Resource:   gv.WithResource(r.Name),
		Kind:       schema.GroupKind{Group: gv.Group, Kind: r.Kind},
		Namespaced: r.Namespaced,
	}, true, nil
}

// Fixed is a Resolver for a resource that every API server serves.
type Fixed Served

// Resolve implements Resolver.
func (f Fixed) Resolve(context.Context, Resource) (Served, bool, error) {
	return Served(f), true, nil
}
