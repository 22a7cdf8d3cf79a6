package state

import "k8s.io/apimachinery/pkg/util/resourceversion"

// IsOlder reports whether a resource version is older than another. It is false when they
// cannot be compared: then the cache is believed.
func IsOlder(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}
