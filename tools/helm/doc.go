// Package helm is a module of its own for the helm command, which the tests of
// the chart build: its dependencies are many, and no concern of the daemon's.
// Its Kubernetes libraries are of the version that the sandbox runs.
package helm
