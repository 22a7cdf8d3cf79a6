// Package helm is a separate module for the helm command, which the tests of
// the chart build: it keeps Helm's many dependencies out of the daemon's go.mod. Its
// Kubernetes libraries have the version that the sandbox runs.
package helm
