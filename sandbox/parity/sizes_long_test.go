//go:build long

package parity

// manyNames is how many names are compared.
const manyNames = 1_000_000

// manyPods is how many Pods are compared.
const manyPods = 10_000
