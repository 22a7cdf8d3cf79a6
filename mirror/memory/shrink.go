package memory

import "maps"

// Shrink returns a copy of a map that takes no more memory than it needs. A map never shrinks, and maps.Clone
// copies what the deleted entries have left.
func Shrink[K comparable, V any](m map[K]V) map[K]V {
	small := make(map[K]V, len(m))
	maps.Copy(small, m)
	return small
}
