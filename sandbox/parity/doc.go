// Package parity holds the tests that compare the daemon's package render with
// Karmada's own code: names, pruning, the mutating webhook of Works, overrides,
// the division of replicas and the sums of statuses. The daemon itself does not depend on that
// code.
package parity
