// Package fault is a proxy between a client and a Kubernetes API server that
// does what networks and servers do on bad days: it delays, refuses, forgets and
// lies, per path and while it runs. It knows HTTP and the forms of lists and
// watches, and nothing of who the client is.
package fault
