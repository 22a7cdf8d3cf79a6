package watch

import (
	"context"
	"time"

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
	// added says that a streaming list, or the watch that follows it, has announced an
	// object that was created then.
	added func(created time.Time)
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
	if o.TimeoutSeconds != nil {
		w = bounded{w, time.AfterFunc(time.Duration(*o.TimeoutSeconds)*time.Second+watchGrace, w.Stop)}
	}
	if ptr.Deref(o.SendInitialEvents, false) {
		return a.reportAdded(w), nil
	}
	return w, nil
}

// bounded is a watch that a timer ends.
type bounded struct {
	apiwatch.Interface
	timer *time.Timer
}

// Stop implements watch.Interface.
func (b bounded) Stop() {
	b.timer.Stop()
	b.Interface.Stop()
}

// reportAdded relays a watch. watch.Filter of apimachinery would leak its goroutine if the
// watch is stopped while an event is on its way.
func (r reports) reportAdded(from apiwatch.Interface) apiwatch.Interface {
	events := make(chan apiwatch.Event)
	to := apiwatch.NewProxyWatcher(events)
	go func() {
		defer close(events)
		defer from.Stop()
		for {
			select {
			case <-to.StopChan():
				return
			case event, ok := <-from.ResultChan():
				if !ok {
					return
				}
				if object, err := meta.Accessor(event.Object); err == nil && event.Type == apiwatch.Added {
					r.added(object.GetCreationTimestamp().Time)
				}
				select {
				case <-to.StopChan():
					return
				case events <- event:
				}
			}
		}
	}()
	return to
}
