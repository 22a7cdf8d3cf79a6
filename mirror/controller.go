package mirror

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
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/metrics"
	"github.com/karmada-target/karmada-mirror/render"
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
	// customResources and apiServices tell what is served by whom.
	customResources *watch.Watch
	apiServices     *watch.Watch
	// definitions are those of which this process has ever known.
	definitions names

	// queue is nil while this replica does not lead: it then keeps its caches
	// and forgets events, for a new leader looks at everything.
	queue    atomic.Pointer[queue]
	arrivals arrivals
	refused  refused
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
	}
	c.sources = watch.NewSet(c.newSourceWatch)
	c.works = c.newWorkWatch()
	c.clusters = c.newClusterWatch()
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
	running.Go(func() { c.sources.Run(ctx) })
	for _, w := range []*watch.Watch{c.works, c.clusters, c.customResources, c.apiServices} {
		running.Go(func() { w.Run(ctx) })
	}
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
	c.configuration.Store(configuration)
	c.breaker.configure(configuration.Deletion.HoldAbove)
	resources := make([]watch.Resource, 0, len(configuration.Resources))
	for _, r := range configuration.Resources {
		resources = append(resources, watch.Resource{GroupResource: r.GroupResource(), Version: r.Version})
	}
	c.sources.Apply(resources)
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
	for _, w := range append(c.sources.All(), c.works, c.clusters) {
		status := w.Status()
		fixed := w == c.works || w == c.clusters
		if !status.Synced && (fixed || status.State != watch.Pending) {
			return fmt.Errorf("%s has not synced: %w", w.Resource.GroupResource, errorOr(status.Err, "the first list is under way"))
		}
	}
	return nil
}

// Lead writes Works until ctx is done or stop is closed. When ctx is done the
// syncs in flight are cut off, for another replica may lead; when stop is closed
// they are let finish.
func (c *Controller) Lead(ctx context.Context, stop <-chan struct{}) {
	if !c.awaitCaches(ctx, stop) {
		return
	}
	var upkeep sync.WaitGroup
	defer upkeep.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	q := newQueue(c.arrivals.has)
	upkeep.Go(func() {
		wait.UntilWithContext(ctx, func(context.Context) {
			c.ledger.prune()
			c.arrivals.prune()
			q.lanes.prune()
		}, prunePeriod)
	})
	upkeep.Go(func() {
		wait.UntilWithContext(ctx, func(context.Context) {
			for _, id := range c.ledger.overdue() {
				c.enqueue(id)
			}
		}, overduePeriod)
	})
	c.queue.Store(q)
	c.enqueueEverything()
	c.Logger.Info("leading")

	var workers sync.WaitGroup
	for range c.ConcurrentSyncs {
		workers.Go(func() {
			for c.processNext(ctx, q) {
			}
		})
	}
	select {
	case <-ctx.Done():
	case <-stop:
	}
	c.queue.Store(nil)
	q.ShutDown()
	drain := time.AfterFunc(drainTimeout, cancel)
	defer drain.Stop()
	workers.Wait()
	c.Logger.Info("stopped leading")
}

// awaitCaches waits until Works and clusters are known and reads the version
// that the caches must have reached to be believed in updates.
func (c *Controller) awaitCaches(ctx context.Context, stop <-chan struct{}) bool {
	backoff := wait.Backoff{Duration: cachePeriod, Factor: 2, Jitter: 0.1, Steps: 10, Cap: maxBackoff}
	for pause := time.Duration(0); ; {
		timer := c.Clock.NewTimer(pause)
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return false
		case <-stop:
			timer.Stop()
			return false
		}
		pause = cachePeriod
		if !c.works.Status().Synced || !c.clusters.Status().Synced || c.configuration.Load() == nil {
			continue
		}
		version, err := c.client.version(ctx)
		if err == nil {
			c.fence.Store(&version)
			return true
		}
		pause = backoff.Step()
		c.Logger.Warn("cannot read the API server's resource version, trying again", zap.Error(err))
	}
}

// processNext takes one source from the queue. Once the queue is shut down, what
// is left in it is dropped: the next leader looks at everything.
func (c *Controller) processNext(ctx context.Context, q *queue) bool {
	id, shutdown := q.Get()
	if shutdown {
		return false
	}
	defer q.Done(id)
	if q.ShuttingDown() || ctx.Err() != nil {
		return true
	}
	began := c.Clock.Now()
	result, err := c.sync(ctx, id)
	c.Metrics.Sync(result.label(err), c.Clock.Since(began))
	if err != nil {
		if ctx.Err() == nil {
			c.failures.With(identify(id)...).Warn("sync failed, trying again", zap.Int("attempt", q.NumRequeues(id)+1), zap.Error(err))
		}
		q.AddRateLimited(id)
		return true
	}
	q.Forget(id)
	if result.retry > 0 {
		q.AddAfter(id, result.retry)
	}
	return true
}

type syncResult struct {
	refused bool
	// wrote: a Work has got new content.
	wrote bool
	// settling: a deletion waits for others that may be due.
	settling bool
	retry    time.Duration
}

func (r syncResult) label(err error) string {
	switch {
	case err != nil:
		return "error"
	case r.refused:
		return "refused"
	}
	return "success"
}

// sync makes the Works of one source what they should be, and sees to a change that
// has arrived: it stays fresh until all of it is done.
func (c *Controller) sync(ctx context.Context, id render.Identity) (syncResult, error) {
	arrived, isFresh := c.arrivals.take(id)
	result, err := c.reconcile(ctx, id, isFresh)
	switch {
	case !isFresh:
	case err != nil:
		c.arrivals.note(id, arrived)
	default:
		if result.wrote {
			c.Metrics.Propagation(c.resourceOf(id), c.Clock.Since(arrived))
		}
		if result.settling {
			c.arrivals.note(id, arrived)
		}
	}
	return result, err
}

// reconcile is the only path to a write.
func (c *Controller) reconcile(ctx context.Context, id render.Identity, isFresh bool) (syncResult, error) {
	j, err := c.judge(ctx, id)
	if err != nil {
		return syncResult{}, err
	}
	o := c.apply(ctx, j.verdict, j.plan, isFresh)
	o.settle(j.settle)
	o.retryAfter(j.retry)
	refusals := j.verdict.Refusals
	slices.SortFunc(o.refusals, func(a, b Refusal) int { return cmp.Compare(a.Message, b.Message) })
	for _, r := range o.refusals {
		refusals = addRefusal(refusals, r)
	}
	for _, w := range j.facts.Works {
		c.ledger.settle(w) // the watch may have shown it before the answer to our write
	}
	c.report(j.facts, refusals)
	c.ledger.retain(id, j.verdict.Targets)
	return syncResult{refused: len(refusals) > 0, wrote: o.wrote, settling: o.settling, retry: o.retry}, o.err()
}

// judgement is what is known of a source, and what follows from it.
type judgement struct {
	facts   Facts
	verdict Verdict
	plan    []Operation
	due     []*Work
	// settle is how long the deletions that are due wait for others; 0 for not at all.
	settle time.Duration
	// retry is when to look again though no event may come; 0 for never.
	retry time.Duration
}

// judge decides by the caches, and by a live read where they prove nothing.
func (c *Controller) judge(ctx context.Context, id render.Identity) (judgement, error) {
	cached := c.judgeBy(c.cachedFacts(id))
	if toProve := len(cached.due) > 0 && cached.settle == 0; !toProve && !c.behindFence(id, cached.plan) {
		return cached, nil
	}
	facts, err := c.liveFacts(ctx, id)
	if err != nil {
		return judgement{}, err
	}
	live := c.judgeBy(facts)
	if refuted := len(live.due) < len(cached.due); refuted && live.settle == 0 {
		live.retry = wait.Jitter(refutedPeriod, 0.2)
	}
	return live, nil
}

// judgeBy decides by facts and tells the breaker which deletions are due.
func (c *Controller) judgeBy(f Facts) judgement {
	v := Decide(f)
	due := c.dueDeletions(v, f.Works)
	settle := max(0, c.breaker.propose(c.resourceOf(v.ID), v.ID, due))
	return judgement{facts: f, verdict: v, plan: Plan(v, f.Works), due: due, settle: settle}
}

// dueDeletions lists the Works that a verdict speaks against, proved or not, and
// whose deletion has not been asked for yet.
func (c *Controller) dueDeletions(v Verdict, works map[string]*Work) []*Work {
	var due []*Work
	for cluster, target := range v.Targets {
		w, ok := works[cluster]
		if ok && (target == unproven || target.Decision == Unwanted) && w.Labelled && !w.Terminating && !c.ledger.hasDeleted(v.ID, w) {
			due = append(due, w)
		}
	}
	return due
}

// behindFence reports whether a plan writes by what a cache says that may be
// older than what the leader before us wrote: it could write old content over
// new, bring back what was deleted, or release what a policy claims no more.
func (c *Controller) behindFence(id render.Identity, plan []Operation) bool {
	// A deletion is decided on by a live read anyway.
	if !slices.ContainsFunc(plan, func(op Operation) bool { return op.Kind != Delete }) {
		return false
	}
	w, unknown := c.watchOf(id)
	return unknown == "" && isOlder(w.Status().ResourceVersion, *c.fence.Load())
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
