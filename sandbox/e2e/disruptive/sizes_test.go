//go:build !long

package disruptive

// These say how much `make test` tries.
const (
	// bisected says that sizes are bisected until a Work just fits.
	bisected       = false
	defaulted      = 100 // objects that get their clusters from the Namespace
	definedObjects = 40  // objects that are deleted with their definition
)
