package gather

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/watch"
)

const (
	// namespacesPeriod is how often it is looked whether the Namespaces have synced.
	namespacesPeriod = 50 * time.Millisecond
	// prunePeriod is how often contents are dropped that nobody needs any more.
	prunePeriod = time.Minute
)

// Options are what Caches are made from; all are required.
type Options struct {
	Dynamic  dynamic.Interface
	Resolver watch.Resolver
	Logger   *zap.Logger
	// Failures logs what fails again and again, and only some of it.
	Failures *zap.Logger
	Clock    clock.WithTicker
	// ListDeadline is that of every watch; see watch.Options.
	ListDeadline time.Duration
	Writes       Writes
	Handlers     Handlers
}

// Writes are what this process remembers of its own, and no cache shows.
type Writes interface {
	// IsUnderWay reports whether a cache has a Work, or nil for none, as it was before our
	// last write.
	IsUnderWay(id render.Identity, cluster string, cached *state.Work) bool
	// Stranger is a Work of that name that a refused creation has found.
	Stranger(id render.Identity, cluster, name string) (*state.Work, bool)
}

// Caches are what the daemon knows of the API server: a watch for each configured resource,
// and those of what matters besides. Nothing is in force before Configure.
type Caches struct {
	options       Options
	configuration atomic.Pointer[config.Configuration] // nil until loaded

	sources    *watch.Set
	works      *watch.Watch
	clusters   *watch.Watch
	namespaces *watch.Watch
	// customResources and apiServices tell what is served by whom.
	customResources *watch.Watch
	apiServices     *watch.Watch
	// definitions are those of which this process has ever known.
	definitions names
	contents    contents
	// outages are the last Recovery of each cluster, by name.
	outages sync.Map
	lately  *lately
}

// NewCaches makes Caches.
func NewCaches(o Options) *Caches {
	c := &Caches{options: o, lately: newLately(o.Dynamic, o.Clock)}
	c.sources = watch.NewSet(c.newSourceWatch)
	c.works = c.newWorkWatch()
	c.clusters = c.newClusterWatch()
	c.namespaces = c.newNamespaceWatch()
	c.customResources = c.newDefinitionWatch(state.DefinitionsResource)
	c.apiServices = c.newDefinitionWatch(state.APIServicesResource)
	return c
}

// Run keeps the caches until ctx is done and everything that it started has ended.
func (c *Caches) Run(ctx context.Context) {
	var running sync.WaitGroup
	for _, w := range append(c.Fixed(), c.Definitions()...) {
		running.Go(func() { w.Run(ctx) })
	}
	running.Go(func() {
		wait.UntilWithContext(ctx, func(context.Context) { c.contents.prune(c.needsContent) }, prunePeriod)
	})
	// An object is kept by what its Namespace says.
	_ = wait.PollUntilContextCancel(ctx, namespacesPeriod, true, func(context.Context) (bool, error) { return c.namespaces.Status().Synced, nil })
	c.sources.Run(ctx)
	running.Wait()
}

// Configure puts a configuration into force.
func (c *Caches) Configure(configuration *config.Configuration) {
	c.configuration.Store(configuration)
	resources := make([]watch.Resource, 0, len(configuration.Resources))
	for _, r := range configuration.Resources {
		resources = append(resources, watch.Resource{GroupResource: r.GroupResource(), Version: r.Version})
	}
	c.sources.Apply(resources)
}

// IsConfigured reports whether a configuration is in force.
func (c *Caches) IsConfigured() bool { return c.configuration.Load() != nil }

// Ready tells what is missing until facts can be gathered: nil when the configuration is
// loaded and all that the API server serves has synced.
func (c *Caches) Ready() error {
	if !c.IsConfigured() {
		return fmt.Errorf("no configuration has been loaded")
	}
	for _, w := range append(c.Sources(), c.Fixed()...) {
		status := w.Status()
		if !status.Synced && (slices.Contains(c.Fixed(), w) || status.State != watch.Pending) {
			return fmt.Errorf("%s has not synced: %w", w.Resource.GroupResource, errorOr(status.Err, "the first list is under way"))
		}
	}
	return nil
}

func errorOr(err error, otherwise string) error {
	if err != nil {
		return err
	}
	return errors.New(otherwise)
}

// Sources are the watches of the configured resources.
func (c *Caches) Sources() []*watch.Watch { return c.sources.All() }

// HasSynced reports whether all is known without which nothing can be decided.
func (c *Caches) HasSynced() bool {
	return !slices.ContainsFunc(c.Fixed(), func(w *watch.Watch) bool { return !w.Status().Synced })
}

// Definitions are the watches that tell what is served.
func (c *Caches) Definitions() []*watch.Watch {
	return []*watch.Watch{c.customResources, c.apiServices}
}

// WorksVersion is the resource version that the cache of Works has come to.
func (c *Caches) WorksVersion() string { return c.works.Status().ResourceVersion }
