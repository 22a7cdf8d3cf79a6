package bench

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// observer records when objects appear, by its own clock: creation timestamps are in whole
// seconds.
type observer struct {
	mu sync.Mutex
	// seen is when each object first appeared, by resource and name.
	seen map[schema.GroupVersionResource]map[types.NamespacedName]time.Time
	// generation is the last one seen of each Work.
	generation map[types.NamespacedName]int64
	// accept says which objects count; nil means all.
	accept  func(*metav1.PartialObjectMetadata) bool
	running sync.WaitGroup
	cancel  context.CancelFunc
	err     error
}

// observe starts watching resources in all namespaces, from now on.
func observe(ctx context.Context, config *rest.Config, accept func(*metav1.PartialObjectMetadata) bool, resources ...schema.GroupVersionResource) (*observer, error) {
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	o := &observer{
		seen:       map[schema.GroupVersionResource]map[types.NamespacedName]time.Time{},
		generation: map[types.NamespacedName]int64{},
		accept:     accept, cancel: cancel,
	}
	for _, resource := range resources {
		o.seen[resource] = map[types.NamespacedName]time.Time{}
		list, err := client.Resource(resource).List(ctx, metav1.ListOptions{Limit: 1})
		if err == nil {
			err = o.follow(ctx, client, resource, list.ResourceVersion)
		}
		if err != nil {
			cancel()
			return nil, fmt.Errorf("cannot observe %s: %w", resource.Resource, err)
		}
	}
	return o, nil
}

func (o *observer) follow(ctx context.Context, client metadata.Interface, resource schema.GroupVersionResource, version string) error {
	w, err := client.Resource(resource).Watch(ctx, metav1.ListOptions{ResourceVersion: version})
	if err != nil {
		return err
	}
	o.running.Go(func() {
		defer w.Stop()
		for event := range w.ResultChan() {
			object, ok := event.Object.(*metav1.PartialObjectMetadata)
			if !ok {
				o.fail(fmt.Errorf("the watch of %s ended: %v", resource.Resource, event.Object))
				return
			}
			o.note(resource, object)
		}
		if ctx.Err() == nil {
			o.fail(fmt.Errorf("the watch of %s ended", resource.Resource))
		}
	})
	return nil
}

func (o *observer) note(resource schema.GroupVersionResource, object *metav1.PartialObjectMetadata) {
	now := time.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	name := types.NamespacedName{Namespace: object.Namespace, Name: object.Name}
	if resource == worksResource {
		o.generation[name] = object.Generation
	}
	if _, known := o.seen[resource][name]; !known && (o.accept == nil || o.accept(object)) {
		o.seen[resource][name] = now
	}
}

func (o *observer) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.err = err
}

// patience is how long await waits without any progress.
const patience = time.Minute

// await blocks until n objects have been seen.
func (o *observer) await(ctx context.Context, resource schema.GroupVersionResource, n int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stalled := time.AfterFunc(patience, func() { cancel(fmt.Errorf("no new object for %s", patience)) })
	defer stalled.Stop()
	last := 0
	err := o.until(ctx, func() bool {
		if seen := len(o.seen[resource]); seen != last {
			last = seen
			stalled.Reset(patience)
		}
		return last >= n
	})
	if err != nil {
		return fmt.Errorf("%d of %d %s have appeared: %w", o.count(resource), n, resource.Resource, err)
	}
	return nil
}

// awaitLater blocks until every Work has a later generation than before.
func (o *observer) awaitLater(ctx context.Context, works []types.NamespacedName, before []int64) error {
	return o.until(ctx, func() bool {
		for i, name := range works {
			if o.generation[name] <= before[i] {
				return false
			}
		}
		return true
	})
}

// until blocks until satisfied, which is called with the lock held, returns true.
func (o *observer) until(ctx context.Context, satisfied func() bool) error {
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for {
		o.mu.Lock()
		done, err := satisfied(), o.err
		o.mu.Unlock()
		if err != nil || done {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (o *observer) count(resource schema.GroupVersionResource) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.seen[resource])
}

func (o *observer) generations(works []types.NamespacedName) []int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	generations := make([]int64, len(works))
	for i, name := range works {
		generations[i] = o.generation[name]
	}
	return generations
}

// between returns when the first and the last object of a resource were seen.
func (o *observer) between(resource schema.GroupVersionResource) (first, last time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, at := range o.seen[resource] {
		if first.IsZero() || at.Before(first) {
			first = at
		}
		if at.After(last) {
			last = at
		}
	}
	return first, last
}

// times returns when each object of a resource was seen.
func (o *observer) times(resource schema.GroupVersionResource) map[types.NamespacedName]time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	times := make(map[types.NamespacedName]time.Time, len(o.seen[resource]))
	for name, at := range o.seen[resource] {
		times[name] = at
	}
	return times
}

func (o *observer) stop() {
	o.cancel()
	o.running.Wait()
}
