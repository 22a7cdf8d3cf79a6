package watch

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/pager"
)

// Each lists objects in pages, does something with each, and returns the resource version of the list. The next pages are read meanwhile.
func Each(ctx context.Context, client dynamic.ResourceInterface, options metav1.ListOptions, do func(*unstructured.Unstructured)) (version string, err error) {
	pages := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		list, err := client.List(ctx, o)
		if err == nil {
			version = list.GetResourceVersion()
		}
		return list, err
	})
	err = pages.EachListItem(ctx, options, func(obj runtime.Object) error {
		do(obj.(*unstructured.Unstructured))
		return nil
	})
	return version, err
}
