// Package prometheus is a module of its own for what of Prometheus the tests of
// manifests/monitoring need: its dependencies are many times those of the daemon.
package prometheus
