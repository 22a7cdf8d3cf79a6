//go:build !long

package disruptive

// How much is tried in `make test`.
const (
	// bisected: sizes close in on the limit until a Work has only just been taken.
	bisected       = false
	defaulted      = 100 // objects that a Namespace asks for
	definedObjects = 40  // that go with their definition
)
