package mirror

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/metrics"
	"github.com/karmada-target/karmada-mirror/watch"
)

// The backoff of a source whose sync fails.
const (
	minBackoff = 50 * time.Millisecond
	maxBackoff = 30 * time.Second
	// cachePeriod is how often a leader looks whether its caches are complete.
	cachePeriod = 50 * time.Millisecond
	// prunePeriod is how often a leader gives back the memory that it does not need
	// any more.
	prunePeriod = time.Minute
	// overduePeriod is how often it looks for writes that have not come about in time.
	overduePeriod = awaitCache / 10
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
	// ListDeadline is that of every watch; see watch.Options.
	ListDeadline time.Duration
	// Subject returns what an Event about the daemon as a whole is put on, nil if
	// there is nothing.
	Subject func() *corev1.ObjectReference
}

// Controller mirrors sources. Run keeps its caches; Lead writes.
type Controller struct {
	Options
	client workClient
	// failures logs what fails again and again, and only some of it.
	failures *zap.Logger
	ledger   *ledger
	breaker  *breaker
	slots    slots

	configuration atomic.Pointer[config.Configuration] // nil until loaded
	sources       *watch.Set
	works         *watch.Watch
	clusters      *watch.Watch
	namespaces    *watch.Watch
	// customResources and apiServices tell what is served by whom.
	customResources *watch.Watch
	apiServices     *watch.Watch
	// definitions are those of which this process has ever known.
	definitions names
	rereads     rereads
	// outages are the last Recovery of each cluster, by name.
	outages sync.Map
	lately  *lately

	// queue is nil while this replica does not lead: it then keeps its caches
	// and forgets events, for a new leader looks at everything.
	queue    atomic.Pointer[queue]
	arrivals arrivals
	refused  refused
	noticed  refused
	// announcements are Events about both.
	announcements *announcements
	// fence is the API server's resource version when this replica began to
	// lead: a cache that has not come so far may be behind the last leader.
	fence atomic.Pointer[string]
}

// New makes a Controller.
func New(o Options) (*Controller, error) {
	client, err := newWorkClient(o.REST)
	if err != nil {
		return nil, err
	}
	c := &Controller{
		Options: o, client: client, failures: o.Logger.WithOptions(Sparing()),
		ledger: newLedger(o.Clock), breaker: newBreaker(o.Clock, o.DeletionSettle), slots: newSlots(o.ConcurrentSyncs),
		lately: newLately(o.Dynamic, o.Clock), announcements: newAnnouncements(),
	}
	c.sources = watch.NewSet(c.newSourceWatch)
	c.works = c.newWorkWatch()
	c.clusters = c.newClusterWatch()
	c.namespaces = c.newNamespaceWatch()
	c.customResources = c.newDefinitionWatch(definitionsResource)
	c.apiServices = c.newDefinitionWatch(apiServicesResource)
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
	for _, w := range []*watch.Watch{c.works, c.clusters, c.namespaces, c.customResources, c.apiServices} {
		running.Go(func() { w.Run(ctx) })
	}
	running.Go(func() {
		// An object is kept by what its Namespace says.
		_ = wait.PollUntilContextCancel(ctx, cachePeriod, true, func(context.Context) (bool, error) { return areSynced(c.namespaces), nil })
		c.sources.Run(ctx)
	})
	err := c.noticeRestore(ctx)
	cancel()
	running.Wait()
	return err
}

// Configure puts a configuration into force. A bad one is returned as an error
// and changes nothing.
func (c *Controller) Configure(data []byte) error {
	configuration, err := config.Parse(data)
	c.Metrics.ConfigReload(err, c.Clock.Now())
	if err != nil {
		return err
	}
	before := c.sources.All()
	c.configuration.Store(configuration)
	c.breaker.configure(configuration.Deletion.HoldAbove)
	resources := make([]watch.Resource, 0, len(configuration.Resources))
	for _, r := range configuration.Resources {
		resources = append(resources, watch.Resource{GroupResource: r.GroupResource(), Version: r.Version})
	}
	c.sources.Apply(resources)
	for _, w := range before {
		if resource := w.Resource.GroupResource; !slices.ContainsFunc(resources, func(r watch.Resource) bool { return r.GroupResource == resource }) {
			c.Metrics.ForgetResource(resource.String())
		}
	}
	c.Logger.Info("configuration in force", zap.Int("resources", len(resources)))
	c.enqueueEverything()
	return nil
}

// Ready tells what is missing until the controller can do its work: nil when the
// configuration is loaded and all that the API server serves has synced.
func (c *Controller) Ready() error {
	if c.configuration.Load() == nil {
		return fmt.Errorf("no configuration has been loaded")
	}
	for _, w := range append(c.sources.All(), c.fixed()...) {
		status := w.Status()
		if !status.Synced && (slices.Contains(c.fixed(), w) || status.State != watch.Pending) {
			return fmt.Errorf("%s has not synced: %w", w.Resource.GroupResource, errorOr(status.Err, "the first list is under way"))
		}
	}
	return nil
}

// fixed are the watches without which nothing can be decided.
func (c *Controller) fixed() []*watch.Watch { return []*watch.Watch{c.works, c.clusters, c.namespaces} }

// areSynced reports whether all of some watches are.
func areSynced(watches ...*watch.Watch) bool {
	return !slices.ContainsFunc(watches, func(w *watch.Watch) bool { return !w.Status().Synced })
}

// Approve lets deletions go that the breaker holds. An approval that cannot be used
// is returned as an error and lets none go; the others do.
func (c *Controller) Approve(approvals config.Approvals) error {
	usable, err := approvals.Usable(c.Clock.Now())
	c.breaker.approve(usable)
	for _, obj := range c.works.List() {
		if w := obj.(*Work); w.Held != nil {
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
