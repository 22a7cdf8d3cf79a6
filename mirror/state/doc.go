// Package state defines what the caches keep of an object that may be mirrored, a Work, a
// Cluster, a Namespace and a definition: what each says itself, and nothing that depends on
// anything else. It does not know where they are kept or what happens to them. It has no
// client, and its values do not change.
package state
