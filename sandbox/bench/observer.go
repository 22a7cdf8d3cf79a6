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
	"k8s.io/client-go/rest"
)

// times are when objects were first seen.
type times map[types.NamespacedName]time.Time

// observer records when objects appear, by its own clock: creation timestamps are in whole
// seconds.
type observer struct {
	mu   sync.Mutex
	seen map[schema.GroupVersionResource]times
	err  error

	running sync.WaitGroup
	cancel  context.CancelFunc
}

// observe starts watching resources in all namespaces, from now on.
func observe(ctx context.Context, config *rest.Config, resources ...schema.GroupVersionResource) (*observer, error) {
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	o := &observer{seen: map[schema.GroupVersionResource]times{}, cancel: cancel}
	for _, resource := range resources {
		o.seen[resource] = times{}
		list, err := client.Resource(resource).List(ctx, metav1.ListOptions{Limit: 1})
		if err == nil {
			err = o.follow(ctx, client, resource, list.ResourceVersion)
		}
		if err != nil {
			o.stop()
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
				break
			}
			o.note(resource, types.NamespacedName{Namespace: object.Namespace, Name: object.Name})
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		o.err = fmt.Errorf("the watch of %s has ended", resource.Resource)
	})
	return nil
}

func (o *observer) note(resource schema.GroupVersionResource, name types.NamespacedName) {
	now := time.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, known := o.seen[resource][name]; !known {
		o.seen[resource][name] = now
	}
}

// await blocks until n objects have been seen.
func (o *observer) await(ctx context.Context, resource schema.GroupVersionResource, n int) error {
	return until(ctx, 3*time.Minute, fmt.Sprintf("%d %s have appeared", n, resource.Resource), func(context.Context) error {
		o.mu.Lock()
		defer o.mu.Unlock()
		if seen := len(o.seen[resource]); seen < n {
			return errors.Join(fmt.Errorf("%d have", seen), o.err)
		}
		return nil
	})
}

// between returns when the first and the last object of a resource were seen.
func (o *observer) between(resource schema.GroupVersionResource) (first, last time.Time) {
	for _, at := range o.times(resource) {
		if first.IsZero() || at.Before(first) {
			first = at
		}
		if at.After(last) {
			last = at
		}
	}
	return first, last
}

func (o *observer) times(resource schema.GroupVersionResource) times {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.seen[resource])
}

func (o *observer) stop() {
	o.cancel()
	o.running.Wait()
}
