//go:build !long

package parity

// manyNames are compared.
const manyNames = 50_000
