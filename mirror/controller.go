package mirror

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/metrics"
	"github.com/karmada-target/karmada-mirror/mirror/gather"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/memory"
	"github.com/karmada-target/karmada-mirror/mirror/queue"
	"github.com/karmada-target/karmada-mirror/mirror/write"
	"github.com/karmada-target/karmada-mirror/watch"
)

const (
	// cachePeriod is how often a new leader checks whether its caches are complete.
	// maxCatchUpPause is the longest time between two checks whether they have caught up
	// with the API server, each of which costs some lists; maxCachePause applies while
	// these checks fail.
	cachePeriod     = 50 * time.Millisecond
	maxCatchUpPause = time.Second
	maxCachePause   = 30 * time.Second
	// prunePeriod is how often a leader frees memory that it no longer needs.
	prunePeriod = time.Minute
	// overduePeriod is how often it looks for writes that the watch has not shown in time.
	overduePeriod = memory.AwaitCache / 10
	// refutedPeriod is how often a source is read live while the cache says that a Work
	// is unwanted and the API server says that it is wanted: there need not be an event
	// when that changes.
	refutedPeriod = time.Minute
	// drainTimeout is how long syncs in flight may take at shutdown.
	drainTimeout = 10 * time.Second
	// syncTimeout is how long a sync may take: longer than a write and the reads before it, which
	// have time-outs of about a minute each. One that is interrupted goes on where it was.
	// One that has not ended at hungTimeout waits for something that does not end.
	syncTimeout = 5 * time.Minute
	hungTimeout = syncTimeout + time.Minute
)

// DefaultLeastBake is the usual LeastBake of the Options.
const DefaultLeastBake = judge.DefaultLeastBake

// Options configure a Controller; all are required.
type Options struct {
	// REST is the connection to the Karmada API server, for Works.
	REST            *rest.Config
	Dynamic         dynamic.Interface
	Resolver        watch.Resolver
	Events          Events
	Metrics         *metrics.Metrics
	Logger          *zap.Logger
	Clock           clock.WithTicker
	ConcurrentSyncs int
	// DeletionSettle is how long a deletion waits for other due ones, so that the breaker
	// counts them together.
	DeletionSettle time.Duration
	// LeastBake is that of [judge.Facts].
	LeastBake time.Duration
	// WavesWithoutEvents is that of [gather.Options].
	WavesWithoutEvents bool
	// ResyncPeriod is how often everything is checked without an event; 0 is never.
	ResyncPeriod time.Duration
	// ListDeadline is the deadline for lists of every watch; see watch.Options.
	ListDeadline time.Duration
	// ConfigurationVersions returns the resource version of the configuration that was last
	// taken, empty for none, and the one that the API server has, by a quorum read; both are
	// empty if no newer one can be on its way.
	ConfigurationVersions func(context.Context) (taken, live string, err error)
	// Configuration follows the configuration; nil for a file.
	Configuration *watch.Watch
	// Subject returns the object for Events about the daemon as a whole, nil if there is
	// none.
	Subject func() *corev1.ObjectReference
}

// Controller mirrors sources. Run maintains its caches; Lead writes.
type Controller struct {
	Options
	client write.Client
	// failures logs only a sample of repeated failures.
	failures *zap.Logger

	caches  *gather.Caches
	memory  *memory.Memory
	breaker *write.Breaker
	writer  *write.Writer

	// queue is nil while this replica does not lead: a standby updates its caches and
	// drops events, because a new leader looks at everything.
	queue atomic.Pointer[queue.Queue]
	// leadsSince is when it began to lead; nil while it does not.
	leadsSince atomic.Pointer[time.Time]
	// statuses is nil while this replica does not lead, too.
	statuses atomic.Pointer[statuses]
	currency *currency
	// finalizers write those of sources; departures are the resources of which some sources may have to lose them.
	finalizers *finalizers
	departures departures
	// refused and noticed are the refusals and notices in force that were reported.
	refused, noticed memory.Refusals
	// namespaceReports is held while the problems of a Namespace are determined and noted.
	namespaceReports sync.Mutex
	// announcements are the Events about refused and noticed.
	announcements *announcements
	// failed receives why leading ends by itself.
	failed chan error
	// fence is the API server's resource version when this replica began to lead: a cache
	// that has not reached it may be behind the last leader.
	fence atomic.Pointer[string]
	// read is the newest version of a source that was read live because its cache had not.
	read atomic.Pointer[string]
	// hasPassed: the cache of Works has passed the fence, so that what leaves it was deleted since.
	hasPassed atomic.Bool
	// counted is the last snapshot while the cache of Works was complete.
	counted atomic.Pointer[metrics.Snapshot]
	// recall is done once the cache of Works has passed the fence, before the first deletion: the breaker knows all marks then.
	recall atomic.Pointer[sync.Once]
}

// New creates a Controller.
func New(o Options) (*Controller, error) {
	client, err := write.NewClient(o.REST)
	if err != nil {
		return nil, err
	}
	c := &Controller{
		Options: o, client: client, failures: o.Logger.WithOptions(Sparing()),
		memory: memory.New(o.Clock), breaker: write.NewBreaker(o.Clock, o.DeletionSettle),
		announcements: newAnnouncements(), failed: make(chan error, 1), currency: newCurrency(o.Clock, o.ConfigurationVersions),
	}
	c.recall.Store(&sync.Once{})
	c.finalizers = newFinalizers(c)
	c.caches = gather.NewCaches(gather.Options{
		Dynamic: o.Dynamic, Resolver: o.Resolver, Logger: o.Logger, Failures: c.failures, Clock: o.Clock, ListDeadline: o.ListDeadline, LeastBake: o.LeastBake, WavesWithoutEvents: o.WavesWithoutEvents, Memory: c.memory,
		Handlers: gather.Handlers{
			Object: c.objectChanged, Work: c.workChanged, Cluster: c.clusterChanged, Namespace: c.namespaceChanged, Policy: c.policyChanged,
			Applied: c.enqueue,
			Listed:  c.resourceListed, Unserved: c.enqueueGroup, Synced: c.enqueueEverything,
		},
	})
	c.writer = write.NewWriter(write.Options{
		Client: client, Memory: c.memory, Breaker: c.breaker, Caches: c.caches, Reports: writeReports{c}, InFlight: o.ConcurrentSyncs,
	})
	o.Metrics.Observe(c.snapshot)
	return c, nil
}

// Run maintains the caches until ctx is done and everything that it started has ended.
// It returns an error if what was read from the API server is no longer true; the
// process must then end.
func (c *Controller) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var running sync.WaitGroup
	running.Go(func() { c.caches.Run(ctx) })
	err := c.noticeRestore(ctx)
	cancel()
	running.Wait()
	return err
}

// Configure puts a configuration into force. An invalid one returns an error and changes
// nothing.
func (c *Controller) Configure(parts config.Parts) error {
	configuration, err := parts.Parse()
	c.Metrics.ConfigReload(err, c.Clock.Now())
	if err != nil {
		return err
	}
	before := c.caches.Sources()
	for _, r := range configuration.Resources {
		c.Metrics.KnowResource(r.GroupResource().String())
		if r.AggregateStatus {
			c.Metrics.KnowStatuses(r.GroupResource().String())
		}
	}
	last := c.caches.Configure(configuration)
	c.breaker.Configure(configuration.Deletion.HoldAbove, c.caches.Includes)
	if c.queue.Load() == nil {
		c.ageDepartures()
	}
	c.memory.Depart(c.departing(last))
	c.caches.Follow()
	for _, w := range before {
		if _, stays := configuration.Resource(w.Resource.GroupResource); !stays {
			c.Metrics.ForgetResource(w.Resource.GroupResource.String())
		}
	}
	if s := c.statuses.Load(); s != nil {
		s.memory.ForgetStatuses()
		s.contested.Clear()
	}
	c.Logger.Info("configuration in force", zap.Int("resources", len(configuration.Resources)))
	c.enqueueEverything()
	return nil
}

// Ready returns what the controller still waits for: nil when the configuration is loaded
// and every resource that the API server serves has synced.
func (c *Controller) Ready() error { return c.caches.Ready() }

// LeadsSince returns since when this replica writes; the zero time if it does not.
func (c *Controller) LeadsSince() time.Time {
	if since := c.leadsSince.Load(); since != nil {
		return *since
	}
	return time.Time{}
}

// Watches are those of what decisions need, and of the configured resources.
func (c *Controller) Watches() []*watch.Watch {
	return slices.Concat(c.caches.Fixed(), c.caches.Definitions(), c.caches.Sources())
}

// Approve approves deletions that the breaker holds.
func (c *Controller) Approve(usable config.Approvals) {
	last := c.breaker.Approve(usable)
	for w := range c.caches.Works() {
		if w.Held != nil {
			c.enqueue(w.Source)
		}
	}
	c.reportWithdrawn(last)
}

// ConfigurationMissing notes that the configuration is missing. The last good one stays
// in force.
func (c *Controller) ConfigurationMissing() {
	c.Metrics.ConfigReload(errNoConfiguration, c.Clock.Now())
}

var errNoConfiguration = errors.New("the configuration is missing")
