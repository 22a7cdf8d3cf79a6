// Package e2e is what the end-to-end tests have in common: a real Karmada, the daemon as a
// process of its own with the race detector and with the rights that manifests/karmada
// gives it, the words in which tests say what they do and want, and the judges: the
// members, the API server's audit log, and [Disagreement], which knows from the contract,
// and not from the daemon's code, what should be there.
//
// The tests are in the folders below, one for each way to use a Karmada:
//
//	shared      run beside each other on one, each with a namespace, a ServiceAccount, a
//	            configuration and a Lease of its own: see [Isolate]
//	disruptive  need the whole of one: they stop its servers, change its clusters or its
//	            definitions, or look at karmada-mirror as it is installed
//	apart       start one each, of which nothing is to be trusted afterwards, or which
//	            differs
//
// They import this package by a dot: it is the language that they are written in.
//
// Build tag long makes the tests long that are named in the Makefile: see sizes.go.
package e2e
