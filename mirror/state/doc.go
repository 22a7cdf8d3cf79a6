// Package state holds what the caches keep of an object that may be mirrored, of a Work, a
// Cluster, a Namespace and a definition: what each says itself, and nothing that follows
// from anything else. It says neither where they are kept nor what becomes of them; it
// knows no client, and nothing in it changes.
package state
