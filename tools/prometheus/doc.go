// Package prometheus is a separate module for the parts of Prometheus that the
// tests of manifests/monitoring need: their dependencies are many times the
// daemon's.
package prometheus
