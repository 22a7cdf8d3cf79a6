//go:build long

package shared

// These say how much `make test-long` tries.
const (
	parsedAtRandom = 600   // random values for each annotation
	admissionWalks = 5_000 // walks of a user through states of an object
)
