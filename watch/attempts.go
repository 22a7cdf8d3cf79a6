package watch

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/watchlist"
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
// is ended here: it may have been silent all the time.
const watchGrace = 30 * time.Second

// Watch implements dynamic.ResourceInterface.
func (a attemptsIn) Watch(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
	w, err := a.ResourceInterface.Watch(ctx, o)
	if err != nil {
		a.failed()
		return nil, err
	}
	return a.relay(w, o.TimeoutSeconds), nil
}

// errOverdue ends a watch that the API server should have ended. What client-go makes of it is a new list.
var errOverdue = apierrors.NewTimeoutError("a watch has not ended in time: a proxy may hold back its events", 0)

// relay relays a watch. watch.Filter of apimachinery would leak its goroutine if the watch is stopped while an event is
// on its way.
func (r reports) relay(from apiwatch.Interface, timeoutSeconds *int64) apiwatch.Interface {
	events := make(chan apiwatch.Event)
	to := apiwatch.NewProxyWatcher(events)
	var overdue <-chan time.Time
	if timeoutSeconds != nil {
		overdue = time.After(time.Duration(*timeoutSeconds)*time.Second + watchGrace)
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
		defer from.Stop()
		for {
			select {
			case <-to.StopChan():
				return
			case <-overdue:
				r.overdue(errOverdue)
				send(apiwatch.Event{Type: apiwatch.Error, Object: &errOverdue.ErrStatus})
				return
			case event, ok := <-from.ResultChan():
				if !ok {
					return
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
