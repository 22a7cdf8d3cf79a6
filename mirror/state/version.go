package state

import "k8s.io/apimachinery/pkg/util/resourceversion"

// IsOlder reports whether resource version a is older than b. It is false if they cannot be
// compared: the cache is then believed.
func IsOlder(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}
