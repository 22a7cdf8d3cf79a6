// Package watch caches API objects with informers that start and stop while the
// process runs. A Watch handles one resource, independently of others: it waits
// until the API server serves the resource, lists and watches it, and starts
// over when the resource disappears and comes back. A Set is a changing
// collection of Watches. The package does not know what the objects are for.
package watch
