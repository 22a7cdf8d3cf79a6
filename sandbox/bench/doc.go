// Package bench measures karmada-mirror against a bare loop that writes the same
// Works, and against Karmada's own policies, on one etcd, API server and webhook,
// one after the other and in turns.
package bench
