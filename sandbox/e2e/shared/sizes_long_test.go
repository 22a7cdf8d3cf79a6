//go:build long

package shared

const parsedAtRandom, admissionWalks = 600, 5_000
