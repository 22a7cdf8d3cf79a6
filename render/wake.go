package render

// Wake returns a JSON merge patch of a Work, at exactly this resource version, that
// increments its generation without changing its meaning: it sets spec.suspendDispatching
// to its default, or removes it if it is given. It is for Works that are not suspended.
func Wake(resourceVersion string, given bool) []byte {
	value := any(false)
	if given {
		value = nil
	}
	return mustEncode(map[string]any{
		"metadata": map[string]any{"resourceVersion": resourceVersion},
		"spec":     map[string]any{"suspendDispatching": value},
	})
}
