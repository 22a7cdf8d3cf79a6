package gather

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/watch"
)

// ErrBehind says that a cache is not what the API server has: it is older, or from before etcd was restored.
var ErrBehind = errors.New("the cache is stale")

// CatchUp is the way of the caches of Namespaces, clusters and override policies to what the API server has when it begins:
// there is always something newer in a fleet, where all clusters report.
type CatchUp struct {
	caches *Caches
	listed map[*watch.Watch]listed
}

// NewCatchUp returns a CatchUp that begins when it is first looked at.
func (c *Caches) NewCatchUp() *CatchUp {
	return &CatchUp{caches: c, listed: map[*watch.Watch]listed{}}
}

// IsDone returns nil if the caches have caught up, and ErrBehind if one of them is stale. Any other error means that it cannot
// tell.
func (u *CatchUp) IsDone(ctx context.Context) (err error) {
	for _, w := range append([]*watch.Watch{u.caches.namespaces, u.caches.clusters}, u.caches.policies.All()...) {
		if _, isListed := u.listed[w]; !isListed {
			now, err := u.caches.list(ctx, w)
			if err != nil {
				return fmt.Errorf("cannot list %s: %w", w.Resource.GroupResource, err)
			}
			u.listed[w] = now
		}
		behind := u.caches.hasReached(ctx, w, u.listed[w])
		if behind != nil && !errors.Is(behind, ErrBehind) {
			return behind
		}
		err = cmp.Or(err, behind)
	}
	return err
}

// listed is what was listed of a resource: its version, and those of the objects.
type listed struct {
	version string
	of      map[types.NamespacedName]string
}

// pageSize bounds what is decoded at once: a Cluster that serves many kinds takes 100 KB.
const pageSize = 50

func (c *Caches) list(ctx context.Context, w *watch.Watch) (listed, error) {
	l := listed{of: map[types.NamespacedName]string{}}
	var err error
	client := c.options.Dynamic.Resource(w.Resource.WithVersion(w.Resource.Version))
	l.version, err = watch.Each(ctx, client, metav1.ListOptions{Limit: pageSize}, func(u *unstructured.Unstructured) {
		l.of[types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}] = u.GetResourceVersion()
	})
	return l, err
}

// hasReached returns ErrBehind if a cache differs from what was listed in more than what the cache has from after that.
func (c *Caches) hasReached(ctx context.Context, w *watch.Watch, to listed) error {
	lacking := maps.Clone(to.of)
	for _, obj := range w.List() {
		cached := obj.(metav1.ObjectMetaAccessor).GetObjectMeta()
		name := types.NamespacedName{Namespace: cached.GetNamespace(), Name: cached.GetName()}
		if version := cached.GetResourceVersion(); version != to.of[name] && !state.IsOlder(to.version, version) {
			return ErrBehind
		}
		delete(lacking, name)
	}
	for name := range lacking { // those that the cache has seen deleted since are gone
		_, err := c.options.Dynamic.Resource(w.Resource.WithVersion(w.Resource.Version)).Namespace(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
		switch {
		case err == nil:
			return ErrBehind
		case !ProvesAbsence(err, name.Name):
			return fmt.Errorf("cannot read %s %q: %w", w.Resource.GroupResource, name.Name, err)
		}
	}
	return nil
}
