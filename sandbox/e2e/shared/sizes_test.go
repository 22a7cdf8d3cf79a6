//go:build !long

package shared

// These say how much `make test` tries.
const (
	parsedAtRandom = 60  // random values for each annotation
	admissionWalks = 250 // walks of a user through states of an object
)
