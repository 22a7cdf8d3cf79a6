// Package e2e is what the end-to-end tests share: a real Karmada; the daemon, as a process
// of its own, with the race detector and the permissions that manifests/karmada gives it;
// and functions with which tests say what they do and expect. What they expect is judged by
// the members, the API server and its audit log, without the daemon's code.
//
// They show only what real parts can show. Orders of events, faults, caches and leaders are
// the simulation's. The tests are in the subfolders:
//
//	shared  run in parallel on one Karmada with one daemon, each in namespaces of its own
//	apart   break a Karmada of their own, or reinstall karmada-mirror, one after the other
//
// They import this package with a dot, so that its functions read as the tests' own words.
// The build tag long makes some of them longer.
package e2e
