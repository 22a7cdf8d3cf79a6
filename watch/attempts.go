package watch

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/watchlist"
)

// attempts is the client of an informer. It reports when an attempt to list or watch
// has failed: client-go does not report one that is refused or throttled.
type attempts struct {
	dynamic.Interface
	// plain makes the informer list in one response, not by a stream whose end must
	// be announced.
	plain  bool
	failed func()
}

// IsWatchListSemanticsUnSupported is the method that client-go looks for.
func (a attempts) IsWatchListSemanticsUnSupported() bool {
	return a.plain || watchlist.DoesClientNotSupportWatchListSemantics(a.Interface)
}

// Resource implements dynamic.Interface.
func (a attempts) Resource(r schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return attemptsAnywhere{a.Interface.Resource(r), a.failed}
}

type attemptsAnywhere struct {
	dynamic.NamespaceableResourceInterface
	failed func()
}

// Namespace implements dynamic.NamespaceableResourceInterface. An informer always
// calls it, with an empty namespace for all.
func (a attemptsAnywhere) Namespace(namespace string) dynamic.ResourceInterface {
	return attemptsIn{a.NamespaceableResourceInterface.Namespace(namespace), a.failed}
}

type attemptsIn struct {
	dynamic.ResourceInterface
	failed func()
}

// List implements dynamic.ResourceInterface.
func (a attemptsIn) List(ctx context.Context, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	list, err := a.ResourceInterface.List(ctx, o)
	if err != nil {
		a.failed()
	}
	return list, err
}

// Watch implements dynamic.ResourceInterface.
func (a attemptsIn) Watch(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
	w, err := a.ResourceInterface.Watch(ctx, o)
	if err != nil {
		a.failed()
	}
	return w, err
}
