// Package health holds the tests that ask the health libraries of GitOps tools about the statuses
// that render/aggregate writes: kstatus, by which Flux and others wait, and Argo CD's. It is a
// module of its own, since these libraries bring most of Kubernetes.
package health
