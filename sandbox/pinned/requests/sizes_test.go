//go:build !long

package requests

// sequences is how many are drawn.
const sequences = 5_000
