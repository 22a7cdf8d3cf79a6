//go:build long

package disruptive

// How much is tried in `make test-long`.
const (
	// bisected: sizes close in on the limit until a Work has only just been taken.
	bisected       = true
	defaulted      = 1000 // objects that a Namespace asks for
	definedObjects = 200  // that go with their definition
)
