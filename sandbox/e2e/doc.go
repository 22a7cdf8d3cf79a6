// Package e2e holds the end-to-end tests: the daemon as a process of its own,
// with the race detector and as the ServiceAccount that manifests/karmada makes,
// against a real Karmada with two push members and one pull member. Tests judge
// by the end state in the members and by the API server's audit log.
package e2e
