package render

// Amend returns a JSON merge patch of a Work, at exactly this resource version, that makes its
// object stay in the member when the Work is deleted, and changes nothing else. renoted are
// annotations that it gets all the same.
func Amend(resourceVersion string, renoted map[string]*string) []byte {
	return mustEncode(map[string]any{
		"metadata": metadata{ResourceVersion: resourceVersion, Annotations: renoted},
		"spec":     map[string]any{"preserveResourcesOnDeletion": true},
	})
}
