package gather

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/pager"

	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/watch"
)

// ErrBehind says that a cache is not what the API server has: it is older, or from before etcd was restored.
var ErrBehind = errors.New("the cache is stale")

// CaughtUp returns nil if the caches of Namespaces, clusters and override policies are up to date, and ErrBehind
// if one of them is stale. Any other error means that it cannot tell.
func (c *Caches) CaughtUp(ctx context.Context) (err error) {
	for _, w := range append([]*watch.Watch{c.namespaces, c.clusters}, c.policies.All()...) {
		behind := c.hasCaughtUp(ctx, w)
		if behind != nil && !errors.Is(behind, ErrBehind) {
			return behind
		}
		err = cmp.Or(err, behind)
	}
	return err
}

// pageSize bounds what is decoded at once: a Cluster that serves many kinds takes 100 KB.
const pageSize = 50

// hasCaughtUp returns ErrBehind if a live list differs from the cache in more than what the cache has from after it.
func (c *Caches) hasCaughtUp(ctx context.Context, w *watch.Watch) error {
	listed, live := "", map[types.NamespacedName]string{} // resource versions
	pages := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		list, err := c.options.Dynamic.Resource(w.Resource.WithVersion(w.Resource.Version)).List(ctx, o)
		if err == nil {
			listed = list.GetResourceVersion()
		}
		return list, err
	})
	pages.PageSize = pageSize
	err := pages.EachListItem(ctx, metav1.ListOptions{}, func(obj runtime.Object) error {
		u := obj.(*unstructured.Unstructured)
		live[types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}] = u.GetResourceVersion()
		return nil
	})
	if err != nil {
		return fmt.Errorf("cannot list %s: %w", w.Resource.GroupResource, err)
	}
	for _, obj := range w.List() {
		cached := obj.(metav1.ObjectMetaAccessor).GetObjectMeta()
		name := types.NamespacedName{Namespace: cached.GetNamespace(), Name: cached.GetName()}
		if version := cached.GetResourceVersion(); version != live[name] && !state.IsOlder(listed, version) {
			return ErrBehind
		}
		delete(live, name)
	}
	for name := range live { // those that the cache has seen deleted since are gone
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
