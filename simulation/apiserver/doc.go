// Package apiserver is a Kubernetes API server in memory.
package apiserver
