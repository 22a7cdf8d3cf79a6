// Package watch keeps caches of API objects by informers that come and go while
// the process runs. A Watch is one resource with a life of its own: it waits
// until the API server serves the resource, lists and watches it, and starts
// over when the resource vanishes and comes back. A Set is a changing
// collection of Watches. The package does not know what the objects are for.
package watch
