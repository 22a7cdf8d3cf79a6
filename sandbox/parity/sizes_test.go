//go:build !long

package parity

// manyNames are compared.
const manyNames = 50_000

// manyPods are compared.
const manyPods = 500
