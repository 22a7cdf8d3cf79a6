//go:build long

package requests

// sequences is how many are drawn.
const sequences = 30_000

// seed is from where a worker draws: 0 is anywhere.
func seed(int) uint64 { return 0 }
