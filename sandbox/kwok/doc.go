// Package kwok has no code: its module selects the kwok that the nodes of the sandbox's
// members run on (package karmada starts it). It is a module of its own, because kwok
// needs newer Kubernetes libraries than Karmada.
package kwok
