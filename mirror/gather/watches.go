package gather

import (
	"strings"

	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/watch"
)

// Handlers are called for changes in the caches, after the caches show them. Before is nil for
// what is new, and after is nil for what was deleted.
type Handlers struct {
	Object    func(before, after *state.Object)
	Work      func(before, after *state.Work)
	Cluster   func(before, after *state.Cluster)
	Namespace func(before, after *state.Namespace)
	Policy    func(before, after *state.Policy)
	// Applied: Karmada says that it has applied a Work for which a wave waits.
	Applied func(source render.Identity)
	// Listed: the cache of a configured resource is complete. What was deleted while there
	// was no watch is not in it.
	Listed func(*watch.Watch)
	// Unserved: a resource of a group may no longer be served, and its objects may be gone, or
	// they have their replicas elsewhere.
	Unserved func(group string)
	// Synced: a cache other than those of the sources has been listed again.
	Synced func()
}

// newWatch returns a watch with the options that all watches share.
func (c *Caches) newWatch(o watch.Options) *watch.Watch {
	o.Client, o.Clock, o.ListDeadline = c.options.Dynamic, c.options.Clock, c.options.ListDeadline
	o.Logger = c.options.Logger.With(zap.Stringer("resource", o.Resource.GroupResource))
	return watch.New(o)
}

// typed adapts a handler of one type to a watch.
func typed[T any](changed func(before, after *T)) func(old, new any) {
	return func(old, new any) {
		before, _ := old.(*T)
		after, _ := new.(*T)
		changed(before, after)
	}
}

// newSourceWatch returns the watch of one configured resource.
func (c *Caches) newSourceWatch(r watch.Resource) *watch.Watch {
	var w *watch.Watch
	w = c.newWatch(watch.Options{
		Resource:  r,
		Resolver:  c,
		Transform: watch.Keep(c.keepObject(state.KeepObject(c.Asks, c.contents.note))),
		Indexers:  objectIndexers(),
		Handler: watch.Handler{
			Changed: typed(func(before, after *state.Object) {
				// Nothing can be decided before the first list is complete.
				if w.Status().Synced {
					c.options.Handlers.Object(before, after)
				}
			}),
			Synced:   func() { c.options.Handlers.Listed(w) },
			Unserved: func() { c.options.Handlers.Unserved(r.Group) },
		},
	})
	return w
}

// newWorkWatch returns the watch of the Works that have our label. The API server
// filters out the others: in a Karmada that also uses policies, they are many and
// change all the time.
func (c *Caches) newWorkWatch() *watch.Watch {
	return c.newWatch(watch.Options{
		Resource:  watch.In(render.WorksResource),
		Resolver:  c.options.Resolver,
		Tweak:     func(o *metav1.ListOptions) { o.LabelSelector = render.OurWorks },
		Transform: watch.Keep(c.keepWork),
		Indexers:  workIndexers(),
		Handler: watch.Handler{
			Changed: typed(func(before, after *state.Work) {
				if after != nil && (before == nil || before.Version() != after.Version()) {
					if watched, ok := c.watchedOtherwise(after); ok {
						watched.Recheck()
					}
				}
				c.options.Handlers.Work(before, after)
			}),
			Synced: func() {
				c.sources.Recheck() // which version of them is in force is known now
				c.options.Handlers.Synced()
			},
		},
	})
}

func (c *Caches) newClusterWatch() *watch.Watch {
	return c.newWatch(watch.Options{
		Resource:  watch.In(state.ClustersResource),
		Resolver:  c.options.Resolver,
		Transform: watch.Keep(state.NewCluster),
		Handler: watch.Handler{
			Changed: typed(func(before, after *state.Cluster) {
				c.options.Memory.NoteCluster(before, after)
				c.options.Handlers.Cluster(before, after)
			}),
			Synced: c.options.Handlers.Synced,
		},
	})
}

func (c *Caches) newNamespaceWatch() *watch.Watch {
	return c.newWatch(watch.Options{
		Resource:  watch.In(state.NamespacesResource),
		Resolver:  watch.Fixed{Resource: state.NamespacesResource},
		Transform: watch.Keep(state.NewNamespace),
		Indexers:  cache.Indexers{termIndex: indexByTerm},
		Handler:   watch.Handler{Changed: typed(c.options.Handlers.Namespace), Synced: c.options.Handlers.Synced},
	})
}

// groupOf returns the group of the resource that a definition defines.
func groupOf(d *state.Definition) string {
	_, group, _ := strings.Cut(d.Name, ".")
	return group
}

// newDefinitionWatch returns a watch of the objects that show whether a resource is
// served.
func (c *Caches) newDefinitionWatch(resource schema.GroupVersionResource) *watch.Watch {
	return c.newWatch(watch.Options{
		Resource:  watch.In(resource),
		Resolver:  watch.Fixed{Resource: resource},
		Transform: watch.Keep(state.NewDefinition),
		Handler: watch.Handler{
			Changed: typed(func(before, after *state.Definition) {
				switch {
				case after == nil: // its resource may not have been served before
					c.options.Handlers.Unserved(groupOf(before))
				case before == nil && after.Scales() || before != nil && !after.ScalesLike(before):
					c.options.Handlers.Unserved(groupOf(after))
					fallthrough
				default:
					c.definitions.LoadOrStore(after.Name, after.UID)
				}
				c.sources.Recheck()
				c.works.Recheck()
				c.clusters.Recheck()
				c.policies.Recheck()
			}),
			Synced: c.options.Handlers.Synced,
		},
	})
}
