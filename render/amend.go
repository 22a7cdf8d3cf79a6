package render

// Amend returns a JSON merge patch of a Work, at exactly this resource version, that makes its
// object stay in the member when the Work is deleted, and changes nothing else.
func Amend(resourceVersion string) []byte {
	return mustEncode(map[string]any{
		"metadata": map[string]any{"resourceVersion": resourceVersion},
		"spec":     map[string]any{"preserveResourcesOnDeletion": true},
	})
}
