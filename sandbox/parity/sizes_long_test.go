//go:build long

package parity

// manyNames are compared.
const manyNames = 1_000_000

// manyPods are compared.
const manyPods = 10_000
