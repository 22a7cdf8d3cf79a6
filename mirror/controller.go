package mirror

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/metrics"
	"github.com/karmada-target/karmada-mirror/mirror/gather"
	"github.com/karmada-target/karmada-mirror/mirror/queue"
	"github.com/karmada-target/karmada-mirror/mirror/write"
	"github.com/karmada-target/karmada-mirror/watch"
)

const (
	// cachePeriod is how often a leader looks whether its caches are complete.
	// maxCatchUpPause is the longest time between two looks whether they are as new as the
	// API server, which cost two lists, and maxCachePause while that cannot be told.
	cachePeriod     = 50 * time.Millisecond
	maxCatchUpPause = time.Second
	maxCachePause   = 30 * time.Second
	// prunePeriod is how often a leader gives back the memory that it does not need
	// any more.
	prunePeriod = time.Minute
	// overduePeriod is how often it looks for writes that have not come about in time.
	overduePeriod = write.AwaitCache / 10
	// refutedPeriod is how often a source is read live while its cache says that a
	// Work is not wanted, and the API server says that it is: the cache need not send
	// an event when that changes.
	refutedPeriod = time.Minute
	// drainTimeout is how long the syncs in flight may take at shutdown.
	drainTimeout = 10 * time.Second
)

// Options are what a Controller is made from; all are required.
type Options struct {
	// REST is the connection to the Karmada API server, for Works.
	REST            *rest.Config
	Dynamic         dynamic.Interface
	Resolver        watch.Resolver
	Recorder        record.EventRecorder
	Metrics         *metrics.Metrics
	Logger          *zap.Logger
	Clock           clock.WithTicker
	ConcurrentSyncs int
	// DeletionSettle is how long a deletion waits for others that are due, so that
	// the breaker counts them together.
	DeletionSettle time.Duration
	// ResyncPeriod is how often everything is looked at though no event has come; 0 for
	// never.
	ResyncPeriod time.Duration
	// ListDeadline is that of every watch; see watch.Options.
	ListDeadline time.Duration
	// Subject returns what an Event about the daemon as a whole is put on, nil if
	// there is nothing.
	Subject func() *corev1.ObjectReference
}

// Controller mirrors sources. Run keeps its caches; Lead writes.
type Controller struct {
	Options
	client write.Client
	// failures logs what fails again and again, and only some of it.
	failures *zap.Logger

	caches  *gather.Caches
	ledger  *write.Ledger
	breaker *write.Breaker
	writer  *write.Writer

	// queue is nil while this replica does not lead: it then keeps its caches
	// and forgets events, for a new leader looks at everything.
	queue    atomic.Pointer[queue.Queue]
	arrivals queue.Arrivals
	refused  refused
	noticed  refused
	// namespaceReports is held while what there is to tell of a Namespace is found out and noted.
	namespaceReports sync.Mutex
	// announcements are Events about both.
	announcements *announcements
	// fence is the API server's resource version when this replica began to
	// lead: a cache that has not come so far may be behind the last leader.
	fence atomic.Pointer[string]
}

// New makes a Controller.
func New(o Options) (*Controller, error) {
	client, err := write.NewClient(o.REST)
	if err != nil {
		return nil, err
	}
	c := &Controller{
		Options: o, client: client, failures: o.Logger.WithOptions(Sparing()),
		ledger: write.NewLedger(o.Clock), breaker: write.NewBreaker(o.Clock, o.DeletionSettle),
		announcements: newAnnouncements(),
	}
	c.caches = gather.NewCaches(gather.Options{
		Dynamic: o.Dynamic, Resolver: o.Resolver, Logger: o.Logger, Failures: c.failures, Clock: o.Clock, ListDeadline: o.ListDeadline, Writes: c.ledger,
		Handlers: gather.Handlers{
			Object: c.objectChanged, Work: c.workChanged, Cluster: c.clusterChanged, Namespace: c.namespaceChanged,
			Listed: c.resourceListed, Unserved: c.enqueueGroup, Synced: c.enqueueEverything,
		},
	})
	c.writer = write.NewWriter(write.Options{
		Client: client, Ledger: c.ledger, Breaker: c.breaker, Caches: c.caches, Reports: writeReports{c}, InFlight: o.ConcurrentSyncs,
	})
	o.Metrics.Observe(c.snapshot)
	return c, nil
}

// Run keeps the caches until ctx is done and everything that it started has
// ended. It returns an error, and the process must end, if what was read from the
// API server is not true any more.
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

// Configure puts a configuration into force. A bad one is returned as an error
// and changes nothing.
func (c *Controller) Configure(parts config.Parts) error {
	configuration, err := parts.Parse()
	c.Metrics.ConfigReload(err, c.Clock.Now())
	if err != nil {
		return err
	}
	before := c.caches.Sources()
	c.breaker.Configure(configuration.Deletion.HoldAbove)
	for _, r := range configuration.Resources {
		c.Metrics.KnowResource(r.GroupResource().String())
	}
	c.caches.Configure(configuration)
	for _, w := range before {
		if _, stays := configuration.Resource(w.Resource.GroupResource); !stays {
			c.Metrics.ForgetResource(w.Resource.GroupResource.String())
		}
	}
	c.Logger.Info("configuration in force", zap.Int("resources", len(configuration.Resources)))
	c.enqueueEverything()
	return nil
}

// Ready tells what is missing until the controller can do its work: nil when the
// configuration is loaded and all that the API server serves has synced.
func (c *Controller) Ready() error { return c.caches.Ready() }

// Approve lets deletions go that the breaker holds. An approval that cannot be used
// is returned as an error and lets none go; the others do.
func (c *Controller) Approve(approvals config.Approvals) error {
	usable, err := approvals.Usable(c.Clock.Now())
	c.breaker.Approve(usable)
	for w := range c.caches.Works() {
		if w.Held != nil {
			c.enqueue(w.Source)
		}
	}
	return err
}

// ConfigurationMissing notes that there is no configuration where there was one.
// The last good one stays in force.
func (c *Controller) ConfigurationMissing() {
	c.Metrics.ConfigReload(errNoConfiguration, c.Clock.Now())
}

var errNoConfiguration = errors.New("there is no configuration")
