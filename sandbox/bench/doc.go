// Package bench measures karmada-mirror against a bare loop that writes the same
// Works, and against Karmada's own policies. All share one etcd, API server and webhook, and
// take turns. It prints a table, and judges nothing.
package bench
