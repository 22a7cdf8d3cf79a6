// Package parity holds the tests that compare the daemon's package render with
// Karmada's own code: names, pruning and the mutating webhook of Works; and the
// reference model: how replicas are divided. The daemon itself does not depend on
// that code.
package parity
