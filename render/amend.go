package render

// Amend returns a JSON merge patch of a Work, at exactly this resource version, that sets
// whether its object stays in the member when it is deleted, and nothing else.
func Amend(resourceVersion string, preserve bool) []byte {
	value := any(nil)
	if preserve {
		value = true
	}
	return mustEncode(map[string]any{
		"metadata": map[string]any{"resourceVersion": resourceVersion},
		"spec":     map[string]any{"preserveResourcesOnDeletion": value},
	})
}
