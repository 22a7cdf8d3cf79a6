//go:build long

package requests

// sequences is how many are drawn.
const sequences = 30_000
