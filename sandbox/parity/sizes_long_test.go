//go:build long

package parity

// How much make test-long compares.
const (
	manyNames      = 1_000_000 // names are compared
	manyPods       = 10_000    // Pods are compared
	manySources    = 6000      // sources have their status written several times
	manyAggregates = 30_000    // sources are summed up
	manyDivisions  = 100_000   // divisions are compared
	manyOverrides  = 24_000    // sets of policies are applied, each to an object on a cluster
	manyObjects    = 100_000   // objects are rendered, of all built-in kinds
)
