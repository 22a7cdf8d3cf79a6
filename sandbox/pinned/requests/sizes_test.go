//go:build !long

package requests

// sequences is how many are drawn.
const sequences = 5_000

// seed is from where a worker draws: each run of make test plays the same sequences, so that it judges the change.
func seed(worker int) uint64 { return uint64(worker + 1) }
