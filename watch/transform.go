package watch

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"
)

// Keep returns the transform that keeps what reduce makes of an object. An object that
// comes a second time, as with streaming lists, has been reduced already.
func Keep[T any](reduce func(*unstructured.Unstructured) T) cache.TransformFunc {
	return func(obj any) (any, error) {
		if u, ok := obj.(*unstructured.Unstructured); ok {
			return reduce(u), nil
		}
		return obj, nil
	}
}
