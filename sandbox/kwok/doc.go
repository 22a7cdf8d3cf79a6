// Package kwok has no code: its module selects the kwok that the nodes of the sandbox's
// members run on (package karmada starts it). It is a module of its own, because kwok
// asks for newer Kubernetes libraries than any supported Karmada has.
package kwok
