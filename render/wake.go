package render

// Wake returns a JSON merge patch of a Work, at exactly this resource version, that
// increments its generation without changing its meaning: it sets spec.suspendDispatching
// to its default, or removes it if it is given. It is for Works that are not suspended. renoted are
// annotations that it gets all the same.
func Wake(resourceVersion string, given bool, renoted map[string]*string) []byte {
	value := any(false)
	if given {
		value = nil
	}
	return mustEncode(map[string]any{
		"metadata": metadata{ResourceVersion: resourceVersion, Annotations: renoted},
		"spec":     map[string]any{"suspendDispatching": value},
	})
}
