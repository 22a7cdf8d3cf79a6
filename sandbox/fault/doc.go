// Package fault is a proxy between a client and a Kubernetes API server that
// fails as networks and servers do: it delays, refuses, forgets and lies, per
// path and at run time. It knows HTTP and the formats of lists and watches, and
// nothing about the client.
package fault
