//go:build !long

package parity

// How much make test compares.
const (
	manyNames      = 50_000 // names are compared
	manyPods       = 500    // Pods are compared
	manySources    = 1500   // sources have their status written several times
	manyAggregates = 10_000 // sources are summed up
	manyDivisions  = 25_000 // divisions are compared
	manyOverrides  = 8000   // sets of policies are applied, each to an object on a cluster
	manyObjects    = 20_000 // objects are rendered, of all built-in kinds
)
