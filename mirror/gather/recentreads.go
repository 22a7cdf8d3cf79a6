package gather

import (
	"context"
	"time"

	"golang.org/x/sync/singleflight"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"

	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/watch"
)

// recentPeriod is how old a live read of a Namespace or Cluster may be for a deletion that
// rests on it: a thousand deletions in one Namespace do not read it a thousand times.
const recentPeriod = time.Second

// sharedTimeout is how long a read may take for which others wait.
const sharedTimeout = 15 * time.Second

// recentReads reads cluster-scoped objects live, and reuses the answers for a short while.
type recentReads struct {
	client dynamic.Interface
	clock  clock.Clock
	read   *cache.Expiring
	// underWay lets concurrent requests for the same object share one read.
	underWay singleflight.Group
}

func newRecentReads(client dynamic.Interface, c clock.Clock) *recentReads {
	return &recentReads{client: client, clock: c, read: cache.NewExpiringWithClock(c)}
}

// kept is what is kept of an object, as in the caches: whole Clusters of a fleet take 100 MiB.
type kept = metav1.ObjectMetaAccessor

// get returns a cluster-scoped object of a watch, reduced; do not modify it. It is never older than
// the version that the watch has seen.
func (l *recentReads) get(ctx context.Context, w *watch.Watch, name string, reduce func(*unstructured.Unstructured) kept) (kept, error) {
	resource, seen := w.Resource.WithVersion(w.Resource.Version), ""
	if cached, found, _ := w.Get("", name); found {
		seen = cached.(kept).GetObjectMeta().GetResourceVersion()
	}
	version := func(obj kept) string { return obj.GetObjectMeta().GetResourceVersion() }
	return share(ctx, l, resource.String()+"/"+name, seen, version, func(ctx context.Context) (kept, error) {
		obj, err := l.client.Resource(resource).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return reduce(obj), nil
	})
}

// list returns the objects of a resource in a namespace; do not modify them. It is no older than seen, the
// version that the cache has reached.
func (l *recentReads) list(ctx context.Context, resource schema.GroupVersionResource, namespace, seen string) (*unstructured.UnstructuredList, error) {
	key := "list " + resource.String() + "/" + namespace
	return share(ctx, l, key, seen, (*unstructured.UnstructuredList).GetResourceVersion, func(ctx context.Context) (*unstructured.UnstructuredList, error) {
		return l.client.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{})
	})
}

// share returns what was read lately and is not older than the version seen, or reads it, and keeps it for as long as it
// counts as recent.
func share[T any](ctx context.Context, l *recentReads, key, seen string, version func(T) string, read func(context.Context) (T, error)) (none T, err error) {
	if known, ok := l.read.Get(key); ok && !state.IsOlder(version(known.(T)), seen) {
		return known.(T), nil
	}
	type answer struct {
		of    T
		began time.Time
	}
	asked := l.clock.Now()
	for {
		// The key includes the seen version, so that no request shares a read that may predate
		// the version it has seen.
		shared, err, _ := l.underWay.Do(key+"@"+seen, func() (any, error) {
			ctx, cancel := context.WithTimeout(ctx, sharedTimeout)
			defer cancel()
			began := l.clock.Now()
			of, err := read(ctx)
			if left := recentPeriod - l.clock.Since(began); err == nil && left > 0 {
				l.read.Set(key, of, left)
			}
			return answer{of, began}, err
		})
		if err != nil {
			return none, err
		}
		if read := shared.(answer); asked.Sub(read.began) <= recentPeriod {
			return read.of, nil
		}
	}
}
