package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
)

// times are when objects were first seen.
type times map[types.NamespacedName]time.Time

// observer records when objects of a resource appear, by its own clock: creation timestamps are
// in whole seconds.
type observer struct {
	mu   sync.Mutex
	seen times
	err  error
	// stop ends it.
	stop func()
}

// observe starts watching a resource in all namespaces, from now on.
func (w *world) observe(ctx context.Context, resource schema.GroupVersionResource) (*observer, error) {
	client, err := metadata.NewForConfig(w.Config())
	if err != nil {
		return nil, err
	}
	list, err := client.Resource(resource).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return nil, fmt.Errorf("cannot observe %s: %w", resource.Resource, err)
	}
	events, err := client.Resource(resource).Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		return nil, fmt.Errorf("cannot observe %s: %w", resource.Resource, err)
	}
	var running sync.WaitGroup
	o := &observer{seen: times{}, stop: func() { events.Stop(); running.Wait() }}
	running.Go(func() {
		for event := range events.ResultChan() {
			object, ok := event.Object.(*metav1.PartialObjectMetadata)
			if !ok {
				break
			}
			name, now := types.NamespacedName{Namespace: object.Namespace, Name: object.Name}, time.Now()
			o.mu.Lock()
			if _, known := o.seen[name]; !known {
				o.seen[name] = now
			}
			o.mu.Unlock()
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		o.err = errors.New("the watch has ended")
	})
	return o, nil
}

// await blocks until n objects have been seen, and returns when.
func (o *observer) await(ctx context.Context, n int) (seen times, err error) {
	err = until(ctx, 3*time.Minute, fmt.Sprintf("%d objects have appeared", n), func(context.Context) error {
		o.mu.Lock()
		defer o.mu.Unlock()
		if len(o.seen) < n {
			return errors.Join(fmt.Errorf("%d have", len(o.seen)), o.err)
		}
		seen = maps.Clone(o.seen)
		return nil
	})
	return seen, err
}

// span returns the first and the last of some times.
func (t times) span() (first, last time.Time) {
	for _, at := range t {
		if first.IsZero() || at.Before(first) {
			first = at
		}
		if at.After(last) {
			last = at
		}
	}
	return first, last
}
