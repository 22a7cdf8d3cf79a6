package watch

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/watchlist"
	"k8s.io/utils/ptr"
)

// attempts is the client of an informer. It reports what client-go does not: when an
// attempt to list or watch is refused or throttled, and how a streaming list progresses.
type attempts struct {
	dynamic.Interface
	// plain makes the informer list in one response, not by a stream whose end must
	// be announced.
	plain bool
	reports
}

// reports are called from the informer's goroutines.
type reports struct {
	// failed says that an attempt to list or watch has ended without what it was for; nil: as it may.
	failed func(error)
	// listed says whether a list, which may be a streaming one, has brought its objects, or is put off.
	listed func(bool)
	// added says that a streaming list, or a watch, has announced an object that was created then.
	added func(created time.Time)
	// alive says that a watch has brought something else than its initial list, and stood that one has ended as watches
	// do that began then.
	alive func()
	stood func(began time.Time)
	// heard is when something has last been listed, or a watch has brought anything, in nanoseconds since 1970.
	heard *atomic.Int64
}

func (r reports) hear() { r.heard.Store(time.Now().UnixNano()) }

// IsWatchListSemanticsUnSupported is the method that client-go looks for.
func (a attempts) IsWatchListSemanticsUnSupported() bool {
	return a.plain || watchlist.DoesClientNotSupportWatchListSemantics(a.Interface)
}

// Resource implements dynamic.Interface.
func (a attempts) Resource(r schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return attemptsAnywhere{a.Interface.Resource(r), a.reports}
}

type attemptsAnywhere struct {
	dynamic.NamespaceableResourceInterface
	reports
}

// Namespace implements dynamic.NamespaceableResourceInterface. An informer always
// calls it, with an empty namespace for all.
func (a attemptsAnywhere) Namespace(namespace string) dynamic.ResourceInterface {
	return attemptsIn{a.NamespaceableResourceInterface.Namespace(namespace), a.reports}
}

type attemptsIn struct {
	dynamic.ResourceInterface
	reports
}

// List implements dynamic.ResourceInterface.
func (a attemptsIn) List(ctx context.Context, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	list, err := a.ResourceInterface.List(ctx, o)
	if err != nil {
		a.listFailed(failure(ctx, err))
		return list, err
	}
	if a.hear(); list.GetContinue() == "" {
		a.listed(true)
	}
	return list, nil
}

// listFailed says that a list, or a page of one, has failed; nil if there is nothing to tell. One that is throttled
// shows that the API server is there, and will be repeated, as those of all replicas are.
func (r reports) listFailed(err error) {
	if r.failed(err); err != nil {
		r.listed(apierrors.IsTooManyRequests(err))
	}
}

// failure returns an error, or nil if there is nothing to tell: it is at its end, or lists in another way.
func failure(ctx context.Context, err error) error {
	if ctx.Err() != nil || apierrors.IsResourceExpired(err) {
		return nil
	}
	return err
}

const (
	// watchGrace is how long after its time the API server may end a watch. One that a proxy keeps open for longer
	// is ended here: it may have been silent all the time. It is also how long watches must have been open, one after the
	// other, that show by ending as watches do that the API server is there.
	watchGrace = 30 * time.Second
	// maxSilence is after how long without anything, not even one of the bookmarks that an API server sends every
	// minute, the end of a watch makes the informer list: what happened may have been kept from the watches.
	maxSilence = 5 * time.Minute
)

// What ended here is no answer of the API server, whose texts are not logged.
var (
	errOverdue = errors.New("a watch has not ended in time: a proxy may hold back its events")
	// client-go makes a watch that ends at once of a connection that cannot be made, or is cut.
	errCut    = errors.New("a watch was cut off before it brought anything")
	errSilent = errors.New("there has been no event for minutes")
)

// Watch implements dynamic.ResourceInterface.
func (a attemptsIn) Watch(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
	timeout, lists := time.Duration(ptr.Deref(o.TimeoutSeconds, 0))*time.Second, ptr.Deref(o.SendInitialEvents, false)
	answered, cancel := context.WithCancel(ctx)
	unanswered := time.AfterFunc(timeout+watchGrace, cancel)
	w, err := a.ResourceInterface.Watch(answered, o)
	fails := a.failed
	if lists {
		fails = a.listFailed
	}
	switch inTime := unanswered.Stop(); {
	case err == nil:
		return a.relay(ctx, w, cancel, timeout, lists), nil
	case !inTime:
		fails(failure(ctx, errOverdue))
	case lists && apierrors.IsInvalid(err): // an API server that does not stream lists
		fails(nil)
	default:
		fails(failure(ctx, err))
	}
	cancel()
	return nil, err
}

// relay relays a watch. watch.Filter of apimachinery would leak its goroutine if the watch is stopped while an event is
// on its way. lists: its first events are a list, until a bookmark.
func (r reports) relay(ctx context.Context, from apiwatch.Interface, end context.CancelFunc, timeout time.Duration, lists bool) apiwatch.Interface {
	events := make(chan apiwatch.Event)
	to := apiwatch.NewProxyWatcher(events)
	began, brought := time.Now(), false
	var overdue <-chan time.Time
	if timeout > 0 {
		overdue = time.After(timeout + watchGrace)
	}
	send := func(event apiwatch.Event) (sent bool) {
		select {
		case <-to.StopChan():
			return false
		case events <- event:
			return true
		}
	}
	// relist makes the informer list.
	relist := func(why error) {
		send(apiwatch.Event{Type: apiwatch.Error, Object: &apierrors.NewTimeoutError(why.Error(), 0).ErrStatus})
	}
	go func() {
		defer close(events)
		defer end()
		defer from.Stop()
		for {
			select {
			case <-to.StopChan():
				return
			case <-overdue:
				r.failed(errOverdue)
				relist(errOverdue)
				return
			case event, ok := <-from.ResultChan():
				if !ok {
					r.ended(ctx, began, brought, lists, relist)
					return
				}
				if brought = true; event.Type != apiwatch.Error {
					r.hear()
					if !lists {
						r.alive()
					}
				}
				if lists && event.Type == apiwatch.Bookmark {
					lists = false
					r.listed(true)
				}
				if object, err := meta.Accessor(event.Object); err == nil && event.Type == apiwatch.Added {
					r.added(object.GetCreationTimestamp().Time)
				}
				if !send(event) {
					return
				}
			}
		}
	}()
	return to
}

// ended tells what the end of a watch means that began then, and brought something, or was still to bring its list.
func (r reports) ended(ctx context.Context, began time.Time, brought, lists bool, relist func(error)) {
	switch {
	case ctx.Err() != nil:
	case lists || !brought && time.Since(began) < time.Second:
		if lists {
			r.listFailed(errCut)
		} else {
			r.failed(errCut)
		}
		relist(errCut)
	default:
		isSilent := time.Since(time.Unix(0, r.heard.Load())) > maxSilence
		if !isSilent || time.Since(began) > maxSilence {
			r.stood(began) // the API server has ended it, or a proxy that ends what is idle
		}
		if isSilent {
			relist(errSilent)
		}
	}
}
