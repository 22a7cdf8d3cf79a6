// Package helm is a separate module for the helm command, which the tests of
// the chart build: its many dependencies are no concern of the daemon's. Its
// Kubernetes libraries have the version that the sandbox runs.
package helm
