package watch

import (
	"context"
	"errors"
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
	// failed says that an attempt to list or watch has failed.
	failed func()
	// added says that a streaming list, or a watch, has announced an object that was created then.
	added func(created time.Time)
	// alive says that a watch has brought something else than its initial list.
	alive func()
	// overdue says that a watch was ended here, because the API server has not in time.
	overdue func(error)
}

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
		a.failed()
	}
	return list, err
}

// watchGrace is how long after its time the API server may end a watch. One that a proxy keeps open for longer
// is ended here: it may have been silent all the time. It is also how long a watch must have been open that shows by
// ending that the API server is there.
const watchGrace = 30 * time.Second

// Watch implements dynamic.ResourceInterface.
func (a attemptsIn) Watch(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
	timeout := time.Duration(ptr.Deref(o.TimeoutSeconds, 0)) * time.Second
	ctx, cancel := context.WithCancel(ctx)
	unanswered := time.AfterFunc(timeout+watchGrace, cancel)
	w, err := a.ResourceInterface.Watch(ctx, o)
	if !unanswered.Stop() && err != nil {
		a.overdue(errOverdue)
	}
	if err != nil {
		cancel()
		a.failed()
		return nil, err
	}
	return a.relay(w, cancel, timeout, ptr.Deref(o.SendInitialEvents, false)), nil
}

// errOverdue ends a watch that the API server should have ended. It is no answer of the API server, whose texts are not logged.
var errOverdue = errors.New("a watch has not ended in time: a proxy may hold back its events")

// relay relays a watch. watch.Filter of apimachinery would leak its goroutine if the watch is stopped while an event is
// on its way. lists: its first events are a list, until a bookmark.
func (r reports) relay(from apiwatch.Interface, end context.CancelFunc, timeout time.Duration, lists bool) apiwatch.Interface {
	events := make(chan apiwatch.Event)
	to := apiwatch.NewProxyWatcher(events)
	began := time.Now()
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
	go func() {
		defer close(events)
		defer end()
		defer from.Stop()
		for {
			select {
			case <-to.StopChan():
				return
			case <-overdue:
				r.overdue(errOverdue)
				// What client-go makes of it is a new list.
				send(apiwatch.Event{Type: apiwatch.Error, Object: &apierrors.NewTimeoutError(errOverdue.Error(), 0).ErrStatus})
				return
			case event, ok := <-from.ResultChan():
				if !ok {
					if !lists && time.Since(began) > watchGrace {
						r.alive() // the API server has ended it, or a proxy that ends what is idle
					}
					return
				}
				if !lists && event.Type != apiwatch.Error {
					r.alive()
				}
				lists = lists && event.Type != apiwatch.Bookmark
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
