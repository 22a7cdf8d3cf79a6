//go:build long

package disruptive

// These say how much `make test-long` tries.
const (
	// bisected says that sizes are bisected until a Work just fits.
	bisected       = true
	defaulted      = 1000 // objects that get their clusters from the Namespace
	definedObjects = 200  // objects that are deleted with their definition
)
