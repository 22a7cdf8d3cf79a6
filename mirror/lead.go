package mirror

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/karmada-target/karmada-mirror/mirror/gather"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/queue"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/watch"
)

// These are returned by Lead: only a restart helps.
var (
	ErrHung  = errors.New("a sync hangs, and did not end when it was interrupted: exiting, so that another replica can lead")
	ErrStale = errors.New("the caches are not as the API server's data, and stay so, as after etcd is restored from a backup, or where they cannot be read: restart to read everything again")
)

// Lead writes Works until ctx is done or stop is closed. When ctx is done, it interrupts
// the syncs in flight, because another replica may lead; when stop is closed, it lets them
// finish. It does not wait for a sync that hangs, whatever that waits for.
func (c *Controller) Lead(ctx context.Context, stop <-chan struct{}) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan struct{})
	go func() { defer close(ended); c.lead(ctx, stop) }()
	select {
	case <-ended:
		return nil
	case err := <-c.failed:
		return err
	}
}

// HoldsUnmarked reports whether the next leader could not know of all deletions that are held. What the last one could not mark,
// this one must find first.
func (c *Controller) HoldsUnmarked() bool {
	isLeft := func(w *watch.Watch) bool {
		resource := w.Resource.GroupResource.String()
		isSuspect, isJudged := c.breaker.IsSuspect(resource) // of a Namespace, at least
		mayBeJudged := !w.Status().Synced || c.breaker.BecameSuspicious()
		return isSuspect && (isJudged || !c.hasPassed.Load() || mayBeJudged && c.caches.HasWorksOf(resource, c.breaker.MayHaveHeld))
	}
	sources := c.caches.Sources()
	if isSuspicious, _ := c.breaker.IsSuspect(""); isSuspicious && len(sources) == 0 {
		return true
	}
	return slices.ContainsFunc(sources, isLeft) || len(c.breaker.Unmarked()) > 0
}

// Suspect makes this replica hold whatever is due when it begins to lead: [Controller.HoldsUnmarked] was true in the last
// leader.
func (c *Controller) Suspect() { c.breaker.Suspect() }

// limit interrupts a sync after syncTimeout, and ends leading if it runs on all the same. end
// must be called when the sync has ended.
func (c *Controller) limit(ctx context.Context) (limited context.Context, end func()) {
	limited, cancel := context.WithTimeout(ctx, syncTimeout)
	hung := time.AfterFunc(hungTimeout, func() { c.fail(ErrHung) })
	return limited, func() { hung.Stop(); cancel() }
}

// fail makes Lead return an error.
func (c *Controller) fail(err error) {
	select {
	case c.failed <- err:
	default:
	}
}

func (c *Controller) lead(ctx context.Context, stop <-chan struct{}) {
	c.ageDepartures()
	if !c.awaitCaches(ctx, stop) {
		return
	}
	c.hasPassed.Store(false) // of an earlier term
	c.recall.Store(&sync.Once{})
	var upkeep sync.WaitGroup
	defer upkeep.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	q, statuses := queue.New("mirror", c.memory.IsFresh, c.ConcurrentSyncs), newStatuses(c)
	upkeep.Go(func() {
		wait.UntilWithContext(ctx, func(context.Context) {
			c.memory.Prune()
			q.Prune()
			statuses.queue.Prune()
			c.finalizers.undone.GC()
		}, prunePeriod)
	})
	upkeep.Go(func() { c.sweep(ctx, q) })
	upkeep.Go(func() {
		hadPassed := false
		wait.UntilWithContext(ctx, func(context.Context) {
			c.hasPassed.Store(hadPassed) // at the last look: what was in the cache then has been handled
			hadPassed = !state.IsOlder(c.caches.WorksVersion(), *c.fence.Load())
			for _, id := range c.memory.Overdue() {
				c.enqueue(id)
			}
		}, overduePeriod)
	})
	upkeep.Go(func() { wait.UntilWithContext(ctx, c.endIfBlind, overduePeriod) })
	upkeep.Go(func() { wait.UntilWithContext(ctx, c.findDeparted, overduePeriod) })
	upkeep.Go(func() { wait.UntilWithContext(ctx, c.reportHeld, overduePeriod) })
	c.statuses.Store(statuses)
	now := c.Clock.Now()
	c.leadsSince.Store(&now)
	c.queue.Store(q)
	c.enqueueEverything()
	c.Metrics.Leading(true)
	defer c.Metrics.Leading(false)
	c.Logger.Info("leading")

	var workers sync.WaitGroup
	workers.Go(func() { statuses.run(ctx) })
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
	c.leadsSince.Store(nil)
	c.queue.Store(nil)
	c.statuses.Store(nil)
	q.ShutDown()
	statuses.queue.ShutDown()
	drain := time.AfterFunc(drainTimeout, cancel)
	defer drain.Stop()
	workers.Wait()
	c.Logger.Info("stopped leading")
}

// endIfBlind ends leading once lists of what every decision needs have failed for long, and no watch brings anything: another
// replica may be able to. One whose list hangs decides nothing, but still tells what it holds.
func (c *Controller) endIfBlind(context.Context) {
	for _, w := range c.caches.Fixed() {
		s := w.Status()
		if s.State == watch.Degraded && !s.ListFailing.IsZero() && c.Clock.Since(s.ListFailing) > gather.MaxDegraded {
			c.Logger.Error("can neither list nor watch what every decision needs", zap.Stringer("resource", w.Resource.GroupResource), zap.Error(s.Err))
			c.fail(ErrStale)
		}
	}
}

// recallHeld tells the breaker of all held deletions, by the marks on the Works, before
// anything is decided: the syncs that find the marks may come too late. The breaker of a new
// leader does not know them yet, and one whose caches were incomplete for a while has forgotten
// them, because nothing was certainly due.
func (c *Controller) recallHeld() {
	type due struct {
		resource string
		source   render.Identity
	}
	held := map[due][]judge.Due{}
	for w := range c.caches.Works() {
		if c.caches.IsHeld(w) {
			of := due{c.caches.ResourceOf(w.Source), w.Source}
			held[of] = append(held[of], judge.Due{Work: w})
		}
	}
	for of, works := range held {
		c.breaker.Propose(of.resource, of.source, works, func(string) bool { return true })
	}
}

// CanLead reports whether this replica has a configuration, and what every decision needs has synced.
func (c *Controller) CanLead() bool { return c.caches.HasSynced() && c.caches.IsConfigured() }

// awaitCaches waits until the caches of Works, clusters and Namespaces have synced, and neither
// the latter two nor the configuration are stale. It also reads the version that the caches of sources must have
// reached before updates rely on them, and that of Works before deletions do: the breaker's memory is in it. Other writes
// based on a stale Work are rejected by the API server. A watch that has missed something for good never catches up, and a replica
// that cannot find out for long may keep others from leading that can.
func (c *Controller) awaitCaches(ctx context.Context, stop <-chan struct{}) bool {
	failing := wait.Backoff{Duration: cachePeriod, Factor: 2, Jitter: 0.1, Steps: 10, Cap: maxCachePause}
	behind := wait.Backoff{Duration: cachePeriod, Factor: 2, Jitter: 0.1, Steps: 10, Cap: maxCatchUpPause}
	waiting, catchUp := rate.Sometimes{First: 1, Interval: time.Minute}, c.caches.NewCatchUp()
	var behindSince, behindAt time.Time // as far as checks could tell
	checkedAt := c.Clock.Now()
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
		if c.Clock.Since(checkedAt) > gather.MaxDegraded { // another replica may be able to check
			c.fail(ErrStale)
		}
		if !c.CanLead() {
			waiting.Do(func() { c.Logger.Info("cannot lead yet", zap.Error(c.caches.Ready())) })
			checkedAt = c.Clock.Now()
			continue
		}
		version, err := c.checkCaches(ctx, catchUp)
		if err == nil {
			c.fence.Store(&version)
			return true
		}
		if errors.Is(err, gather.ErrBehind) {
			waiting.Do(func() { c.Logger.Info("cannot lead yet", zap.Error(err)) })
			if c.Clock.Since(behindAt) > gather.MaxDegraded/3 { // it may have caught up meanwhile
				behindSince = c.Clock.Now()
			}
			behindAt, checkedAt = c.Clock.Now(), c.Clock.Now()
			if pause = behind.Step(); c.Clock.Since(behindSince) > gather.MaxDegraded {
				c.fail(ErrStale)
			}
			continue
		}
		pause = failing.Step()
		c.Logger.Warn("cannot check whether the caches are stale, retrying", zap.Error(err))
	}
}

// checkCaches returns the API server's version, or why the caches may be stale.
func (c *Controller) checkCaches(ctx context.Context, catchUp *gather.CatchUp) (version string, err error) {
	ctx, cancel := context.WithTimeout(ctx, syncTimeout)
	defer cancel()
	if version, err = c.client.Version(ctx); err == nil {
		err = c.currency.check(ctx)
	}
	if err == nil {
		err = catchUp.IsDone(ctx)
	}
	return version, err
}

// processNext syncs one source from the queue. Once the queue is shut down, it drops the
// remaining ones: the next leader looks at everything.
func (c *Controller) processNext(ctx context.Context, q *queue.Queue) bool {
	id, shutdown := q.Get()
	if shutdown {
		return false
	}
	defer q.Done(id)
	if q.ShuttingDown() || ctx.Err() != nil {
		return true
	}
	began := c.Clock.Now()
	limited, end := c.limit(ctx)
	defer end()
	result, err := c.sync(limited, id)
	c.Metrics.Sync(result.label(err), c.Clock.Since(began))
	if err != nil {
		if ctx.Err() == nil {
			c.failures.With(identify(id)...).With(zap.Int("attempt", q.NumRequeues(id)+1)).Warn("sync failed, retrying", failure(err)...)
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

// failure says why a sync has failed, and where if that is a defect of ours.
func failure(err error) []zap.Field {
	fields := []zap.Field{zap.Error(err)}
	if p, isPanic := errors.AsType[*state.Panic](err); isPanic {
		fields = append(fields, zap.String("stack", p.Stack))
	}
	return fields
}
