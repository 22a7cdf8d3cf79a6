// Package e2e is what the end-to-end tests share: a real Karmada; the daemon, as a process
// of its own, with the race detector and the permissions that manifests/karmada gives it;
// functions with which tests say what they do and expect; and what judges the outcome: the
// members, the API server's audit log, and [Disagreement], which knows what should exist
// from the contract and not from the daemon's code.
//
// The tests are in the subfolders, one for each way to use a Karmada:
//
//	shared      run in parallel on one Karmada, each with a namespace, a ServiceAccount, a
//	            configuration and a Lease of its own: see [Isolate]
//	disruptive  need a Karmada to themselves: they stop its servers, change its clusters or
//	            definitions, or test karmada-mirror as installed
//	apart       start one each, because it cannot be trusted afterwards or is configured
//	            differently
//
// They import this package with a dot, so that its functions read as the tests' own words.
//
// The build tag long makes the tests of LONG in the Makefile longer: see sizes_test.go.
package e2e
