package config

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// forbiddenGroups and forbiddenResources hold the reason why a resource is
// never mirrored, whatever the configuration says.
var (
	forbiddenGroups = map[string]string{
		"rbac.authorization.k8s.io":    "it grants rights in the member clusters",
		"admissionregistration.k8s.io": "it can block or alter every request in the member clusters",
		"apiextensions.k8s.io":         "deleting a CustomResourceDefinition in a member deletes all its objects there; `definitions: Mirror` on a custom resource takes its definition along",
		"apiregistration.k8s.io":       "it redirects part of the member clusters' API",
		"coordination.k8s.io":          "Leases are written by the cluster they belong to",
		"events.k8s.io":                "Events belong to the cluster they happened in",
		"discovery.k8s.io":             "EndpointSlices are written by the cluster they belong to",
	}
	forbiddenResources = map[schema.GroupResource]string{
		{Resource: "nodes"}:      "Nodes belong to their cluster",
		{Resource: "events"}:     "Events belong to the cluster they happened in",
		{Resource: "endpoints"}:  "Endpoints are written by the cluster they belong to",
		{Resource: "namespaces"}: "Karmada's namespace-sync controller creates namespaces in the member clusters",
	}
)

// Forbidden reports whether a resource may never be mirrored, and why.
func Forbidden(gr schema.GroupResource) (why string, forbidden bool) {
	if why, ok := forbiddenResources[gr]; ok {
		return why, true
	}
	if why, ok := forbiddenGroups[gr.Group]; ok {
		return why, true
	}
	if gr.Group == "karmada.io" || strings.HasSuffix(gr.Group, ".karmada.io") {
		return "it is part of Karmada's own control plane", true
	}
	return "", false
}
