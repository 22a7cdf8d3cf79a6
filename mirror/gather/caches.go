package gather

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/mirror/memory"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/watch"
)

const (
	// syncPeriod is how often it is checked whether what others depend on has synced.
	syncPeriod = 10 * time.Millisecond
	// prunePeriod is how often contents that are no longer needed are dropped.
	prunePeriod = time.Minute
	// appliedPeriod is for how long Karmada's Events are watched after the last wave has waited for one.
	appliedPeriod = 15 * time.Minute
)

// Options configure Caches; all are required.
type Options struct {
	Dynamic  dynamic.Interface
	Resolver watch.Resolver
	Logger   *zap.Logger
	// Failures is a sampling logger for failures that repeat.
	Failures *zap.Logger
	Clock    clock.WithTicker
	// ListDeadline applies to every watch; see watch.Options.
	ListDeadline time.Duration
	// LeastBake is that of [judge.Facts].
	LeastBake time.Duration
	// WavesWithoutEvents: what Works say of their content is believed, though Karmada has not been seen to
	// apply it.
	WavesWithoutEvents bool
	Memory             *memory.Memory
	Handlers           Handlers
}

// Caches are what the daemon knows about the API server: a watch for each configured resource,
// and those for Works, Clusters, Namespaces and definitions. No configuration is in force
// before Configure.
type Caches struct {
	options       Options
	configuration atomic.Pointer[config.Configuration] // nil until loaded

	sources    *watch.Set
	works      *watch.Watch
	clusters   *watch.Watch
	namespaces *watch.Watch
	// policies are watched only if the configuration honors them.
	policies *watch.Set
	// applied are Karmada's Events about Works that it has applied, which are watched only while a wave waits
	// for one. appliedAwaited is when one last did, in Unix nanoseconds.
	applied        *watch.Set
	appliedAwaited atomic.Int64
	// eventsBesideWorks: Events are in the etcd of the Works; nil until it is known.
	eventsBesideWorks atomic.Pointer[bool]
	// customResources and apiServices show what is served, and by which definition.
	customResources *watch.Watch
	apiServices     *watch.Watch
	// definitions are all that this process has ever seen: the UID of the first, by name.
	definitions sync.Map
	// resources are those of all kinds that this process has met, by kind.
	resources sync.Map
	// unserved says of versions that Works have whether they are not served.
	unserved sync.Map
	contents contents
	reports  memory.Reports
	recent   *recentReads
}

// NewCaches returns Caches that Run fills.
func NewCaches(o Options) *Caches {
	c := &Caches{options: o, recent: newRecentReads(o.Dynamic, o.Clock)}
	c.sources = watch.NewSet(c.newSourceWatch)
	c.policies = watch.NewSet(c.newPolicyWatch)
	c.applied = watch.NewSet(c.newAppliedWatch)
	c.works = c.newWorkWatch()
	c.clusters = c.newClusterWatch()
	c.namespaces = c.newNamespaceWatch()
	c.customResources = c.newDefinitionWatch(state.DefinitionsResource)
	c.apiServices = c.newDefinitionWatch(state.APIServicesResource)
	return c
}

// Run keeps the caches up to date until ctx is done, and waits for everything it started.
func (c *Caches) Run(ctx context.Context) {
	var running sync.WaitGroup
	for _, w := range append([]*watch.Watch{c.works, c.clusters, c.namespaces}, c.Definitions()...) {
		running.Go(func() { w.Run(ctx) })
	}
	running.Go(func() { c.policies.Run(ctx) })
	running.Go(func() { c.applied.Run(ctx) })
	running.Go(func() {
		wait.UntilWithContext(ctx, func(context.Context) {
			c.contents.prune(c.needsContent)
			c.pruneStatuses()
			c.unwatchApplied()
		}, prunePeriod)
	})
	// What is kept of an object depends on its Namespace.
	_ = wait.PollUntilContextCancel(ctx, syncPeriod, true, func(context.Context) (bool, error) { return c.namespaces.Status().Synced, nil })
	c.sources.Run(ctx)
	running.Wait()
}

// Configure puts a configuration into force, and returns the one before; nil if there was none. The sources
// that it no longer includes are in the caches until Follow.
func (c *Caches) Configure(configuration *config.Configuration) (before *config.Configuration) {
	c.watchPolicies(configuration.HonorsPolicies())
	return c.configuration.Swap(configuration)
}

// Follow watches what the configuration in force includes, and nothing else.
func (c *Caches) Follow() {
	configuration := c.configuration.Load()
	resources := make([]watch.Resource, 0, len(configuration.Resources))
	for _, r := range configuration.Resources {
		resources = append(resources, watch.Resource{GroupResource: r.GroupResource(), Version: r.Version})
	}
	c.sources.Apply(resources)
}

// IsConfigured reports whether a configuration is in force.
func (c *Caches) IsConfigured() bool { return c.configuration.Load() != nil }

// Ready returns nil when facts can be gathered: the configuration is loaded, and everything
// that the API server serves has synced. Until then, its error says what is missing. A configured resource that
// cannot be listed for long counts no more than one that is not served.
func (c *Caches) Ready() error {
	if !c.IsConfigured() {
		return fmt.Errorf("no configuration has been loaded")
	}
	fixed := c.Fixed()
	for i, w := range append(fixed, c.Sources()...) {
		status, isFixed := w.Status(), i < len(fixed)
		isMissing := status.Served.Resource.Resource == "" && (status.Unserved || status.Err != nil && !errors.Is(status.Err, watch.ErrStalled))
		failsLong := status.Err != nil && c.options.Clock.Since(status.ErrSince) > MaxDegraded
		switch {
		case !status.Synced && (isFixed || !isMissing && !failsLong):
			return fmt.Errorf("%s has not synced: %w", w.Resource.GroupResource, cmp.Or(status.Err, missing[isMissing]))
		case isFixed && status.State == watch.Degraded && failsLong:
			return fmt.Errorf("%s has not been watched since %s: %w", w.Resource.GroupResource, status.ErrSince.UTC().Format(time.RFC3339), status.Err)
		}
	}
	return nil
}

// missing says what a watch without an error waits for, by whether it is pending.
var missing = map[bool]error{true: errors.New("the API server does not serve it: is it that of Karmada?"), false: errors.New("the first list is still running")}

// MaxDegraded is how long a replica that cannot follow what it always needs
// still counts as one that could take over. client-go waits up to 30 s between
// attempts and notices a half-open connection after 45 s.
const MaxDegraded = 3 * time.Minute

// Sources are the watches of the configured resources.
func (c *Caches) Sources() []*watch.Watch { return c.sources.All() }

// HasSynced reports whether everything has synced that every decision needs.
func (c *Caches) HasSynced() bool {
	if configuration := c.configuration.Load(); configuration != nil && configuration.HonorsPolicies() && len(c.policies.All()) < len(state.PolicyResources()) {
		return false
	}
	return !slices.ContainsFunc(c.Fixed(), func(w *watch.Watch) bool { return !w.Status().Synced })
}

// Definitions are the watches that show what is served.
func (c *Caches) Definitions() []*watch.Watch {
	return []*watch.Watch{c.customResources, c.apiServices}
}

// HasSyncedWorks reports whether all Works are known. It is false while a list of them hangs.
func (c *Caches) HasSyncedWorks() bool { return c.works.Status().Synced }

// WorksVersion is the resource version that the cache of Works has reached.
func (c *Caches) WorksVersion() string { return c.works.Status().ResourceVersion }

// Reached are the resource versions that the caches of what is served have reached.
func (c *Caches) Reached() map[schema.GroupVersionResource]string {
	reached := map[schema.GroupVersionResource]string{}
	for _, w := range slices.Concat(c.Fixed(), c.Sources(), c.applied.All()) {
		if status := w.Status(); status.ResourceVersion != "" {
			reached[status.Served.Resource] = status.ResourceVersion
		}
	}
	return reached
}
