package render

// Wake is a JSON merge patch of a Work, at exactly this resource version, that moves its
// generation and means nothing: it gives spec.suspendDispatching the value that it has
// where it is absent, or takes it away if it is given. It is for Works that are not
// suspended.
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
