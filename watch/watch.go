package watch

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

// Resource is what to watch. An empty Version means the API server's preferred
// one.
type Resource struct {
	schema.GroupResource
	Version string
}

// In returns a Resource with exactly that version.
func In(r schema.GroupVersionResource) Resource { return Resource{r.GroupResource(), r.Version} }

// State is the phase of a Watch.
type State string

const (
	// Pending: the API server does not serve the resource.
	Pending State = "pending"
	// Syncing: the first list is in progress, or about to begin, or fails and is retried; or the API server
	// cannot say whether it serves the resource. Nothing is cached.
	Syncing State = "syncing"
	// Ready: the cache is complete and the watch is running.
	Ready State = "ready"
	// Degraded: the last list or watch failed and is being retried, and the cache is as old as the failure.
	Degraded State = "degraded"
)

// Options configure a Watch. Client, Resolver, Handler, Logger and Clock are
// required.
type Options struct {
	Resource Resource
	Client   dynamic.Interface
	Resolver Resolver
	// Namespace limits the watch; empty means every namespace.
	Namespace string
	// Tweak changes the options of list and watch, for selectors.
	Tweak dynamicinformer.TweakListOptionsFunc
	// Transform reduces each object before it is kept. It must be idempotent:
	// client-go passes the objects of a streaming list through it twice.
	Transform cache.TransformFunc
	Indexers  cache.Indexers
	Handler   Handler
	Logger    *zap.Logger
	Clock     clock.WithTicker
	// ListDeadline is how long a list may make no progress before it is restarted, each
	// time with twice as much time: client-go waits for the end of a streaming list for
	// up to ten minutes. 0 means no deadline.
	ListDeadline time.Duration
}

// syncPeriod is how often it is checked whether a handler has received every object.
const syncPeriod = 10 * time.Millisecond

// discoveryBackoff spaces out the checks whether a resource is served: fast at
// first, because a CustomResourceDefinition is announced a moment before it is
// served, and later as a mere safety net.
var discoveryBackoff = wait.Backoff{Duration: 250 * time.Millisecond, Factor: 2, Jitter: 0.1, Steps: 8, Cap: 30 * time.Second}

// Watch is one watched resource.
type Watch struct {
	Options
	recheck chan struct{}
	warn    rate.Sometimes

	lastEvent atomic.Int64 // Unix nanoseconds

	// handling is held while the Handler is called. before is what the last informer had, by key, if its list has stalled: the
	// Handler sees what has changed since, as if it were still the same.
	handling sync.Mutex
	before   map[string]any

	mu       sync.RWMutex
	served   Served
	lastKind schema.GroupKind // of the resource when it was last served
	// informer is nil while the resource is not served.
	informer cache.SharedIndexInformer
	synced   bool
	// unserved reports that the last certain answer of discovery was no.
	unserved bool
	// err is why listing or watching has failed since errSince: until a watch brings something, since lists alone
	// leave the cache behind.
	err      error
	errSince time.Time
	// listFailing is since when lists have failed; zero if the last has not.
	listFailing time.Time
	// stood is for how long watches have been open since the last failure, without the one that is.
	stood time.Duration
	// listing reports that a list is in progress since listBegan; the cache was at
	// listVersion then. listBrought is when the list last brought an object.
	listing                bool
	listBegan, listBrought time.Time
	listVersion            string
}

// New returns a Watch; Run starts it.
func New(o Options) *Watch {
	return &Watch{
		Options: o,
		recheck: make(chan struct{}, 1),
		warn:    rate.Sometimes{First: 1, Interval: time.Minute},
	}
}

// Run watches until ctx is done. When it returns, all its goroutines have ended
// and the Handler is no longer called.
func (w *Watch) Run(ctx context.Context) {
	for stalls := 0; ; {
		served, ok := w.awaitServed(ctx)
		if !ok {
			return
		}
		stalls++
		if !w.follow(ctx, served, stalls-1) {
			stalls, w.before = 0, nil // what served it may serve something else now
		}
	}
}

// Recheck asks the Watch to check again whether its resource is served. It never
// blocks.
func (w *Watch) Recheck() {
	select {
	case w.recheck <- struct{}{}:
	default:
	}
}

// awaitServed blocks until the API server serves the resource; false when ctx
// is done first.
func (w *Watch) awaitServed(ctx context.Context) (Served, bool) {
	backoff := discoveryBackoff
	for ctx.Err() == nil {
		served, ok, err := w.Resolver.Resolve(ctx, w.Resource)
		if ok && err == nil {
			return served, true
		}
		if w.noteUnserved(err) {
			w.Logger.Info("the API server does not serve this resource: waiting for it")
			if w.Handler.Unserved != nil {
				w.Handler.Unserved()
			}
		}
		if err != nil && !errors.Is(err, ErrNotKnownYet) && ctx.Err() == nil {
			w.warn.Do(func() { w.Logger.Warn("cannot discover a watched resource", zap.Error(err)) })
		}
		timer := w.Clock.NewTimer(backoff.Step())
		select {
		case <-ctx.Done():
		case <-timer.C():
		case <-w.recheck:
			backoff = discoveryBackoff
		}
		timer.Stop()
	}
	return Served{}, false
}

// follow runs an informer until ctx is done, the resource is no longer served
// as it was, or a list has stalled. stalls counts stalled lists in a row: every
// other attempt uses a plain list, and each has more time.
func (w *Watch) follow(ctx context.Context, served Served, stalls int) (stalled bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	informer, err := w.newInformer(ctx, w.attempts(stalls%2 == 1), served)
	if err != nil {
		// Only an informer that is already running rejects settings.
		w.Logger.Error("cannot set up an informer", zap.Error(err))
		w.setError(err)
		return false
	}
	registration, err := informer.AddEventHandler(w.eventHandler())
	if err != nil {
		w.Logger.Error("cannot set up an informer", zap.Error(err))
		w.setError(err)
		return false
	}
	w.attach(informer, served, stalls == 0)
	w.Logger.Debug("watching", zap.Stringer("kind", served.Kind), zap.String("version", served.Resource.Version))

	var running wait.Group
	running.StartWithContext(ctx, informer.RunWithContext)
	running.StartWithContext(ctx, func(ctx context.Context) { w.awaitSynced(ctx, registration.HasSynced, stalls == 0) })
	running.StartWithContext(ctx, func(ctx context.Context) {
		if stalled = w.awaitStall(ctx, w.ListDeadline<<min(stalls, maxDoublings)); stalled {
			cancel()
		}
	})
	w.awaitGone(ctx, served)

	cancel()
	running.Wait()
	w.detach()
	if stalled {
		w.keep(informer.GetStore())
		w.noteStall()
		w.Logger.Warn("a list has stalled: restarting it", zap.Int("attempt", stalls+1))
	}
	w.Logger.Info("stopped watching")
	return stalled
}

func (w *Watch) attempts(plain bool) attempts {
	return attempts{Interface: w.Client, plain: plain, reports: reports{failed: w.attemptFailed, listed: w.noteListed, added: w.noteAdded, alive: w.noteAlive, stood: w.noteStood, heard: &atomic.Int64{}}}
}

func (w *Watch) newInformer(ctx context.Context, client dynamic.Interface, served Served) (cache.SharedIndexInformer, error) {
	informer := dynamicinformer.NewFilteredDynamicInformer(
		client, served.Resource, w.Namespace, 0, w.Indexers, w.noteList).Informer()
	if err := informer.SetTransform(w.Transform); err != nil {
		return nil, err
	}
	err := informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		w.watchFailed(ctx, err)
	})
	return informer, err
}

// watchFailed records why list or watch ended. It is normal for a watch to expire,
// and not a failure.
func (w *Watch) watchFailed(ctx context.Context, err error) {
	w.noteFailure()
	if ctx.Err() != nil || apierrors.IsResourceExpired(err) || isOrdinaryEnd(err) {
		return
	}
	w.noteError(err)
	if apierrors.IsNotFound(err) {
		w.Recheck()
	}
}

// attemptFailed records that an attempt has failed, which client-go does not tell for all of them.
func (w *Watch) attemptFailed(err error) {
	w.noteFailure()
	if err != nil {
		w.noteError(err)
	}
}

func (w *Watch) noteError(err error) {
	w.setError(err)
	w.warn.Do(func() { w.Logger.Warn("cannot list or watch, retrying", zap.Error(err)) })
}

// awaitSynced waits until the handler has received every object. It uses the
// handler's HasSynced, because the informer's is true earlier. A list that had to be begun again does not end a failure.
func (w *Watch) awaitSynced(ctx context.Context, hasSynced cache.InformerSynced, isFirst bool) {
	if wait.PollUntilContextCancel(ctx, syncPeriod, true, func(context.Context) (bool, error) { return hasSynced(), nil }) != nil {
		return
	}
	w.mu.Lock()
	w.synced = true
	if isFirst || errors.Is(w.err, ErrStalled) {
		w.err = nil
	}
	w.mu.Unlock()
	w.lastEvent.Store(w.Clock.Now().UnixNano())
	w.drop()
	w.Logger.Info("synced")
	w.Handler.Synced()
}

// awaitGone blocks until ctx is done or discovery says for certain that the
// resource is no longer served in this version, or is served differently. A
// discovery that fails proves nothing, and is repeated; that another version is preferred does
// not matter.
func (w *Watch) awaitGone(ctx context.Context, served Served) {
	same, backoff := In(served.Resource), discoveryBackoff
	var retry <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-retry:
		case <-w.recheck:
			backoff = discoveryBackoff
		}
		now, ok, err := w.Resolver.Resolve(ctx, same)
		if err == nil && (!ok || now != served) {
			return
		}
		if retry = nil; err != nil {
			retry = w.Clock.After(backoff.Step())
		}
	}
}

func (w *Watch) attach(informer cache.SharedIndexInformer, served Served, isFirst bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.informer, w.served, w.synced, w.unserved = informer, served, false, false
	w.lastKind = served.Kind
	if isFirst {
		w.err = nil
	}
}

func (w *Watch) detach() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.informer, w.served, w.synced = nil, Served{}, false
}

// noteUnserved records what discovery said: an error, or that the resource is not
// served. It returns whether the latter is news; an error does not change what is
// known.
func (w *Watch) noteUnserved(err error) (news bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	news = err == nil && !w.unserved
	w.unserved = w.unserved || err == nil
	w.setErrorLocked(err)
	return news
}

func (w *Watch) setError(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.setErrorLocked(err)
}

func (w *Watch) setErrorLocked(err error) {
	if w.err == nil {
		w.errSince = w.Clock.Now()
	}
	w.err = err
	if err != nil {
		w.stood = 0
	}
}

// noteStood ends a failure once watches have stood for long enough.
func (w *Watch) noteStood(began time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stood += time.Since(began); w.stood > watchGrace {
		w.err = nil
	}
}

// noteAlive ends a failure.
func (w *Watch) noteAlive() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err, w.listFailing = nil, time.Time{}
}

func (w *Watch) noteListed(ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case ok:
		w.listFailing = time.Time{}
	case w.listFailing.IsZero():
		w.listFailing = w.Clock.Now()
	}
}
