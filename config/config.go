// Package config is the MirrorConfiguration: which resources are watched, in
// which namespaces, and when the deletion breaker trips. It decodes and
// validates bytes; it does not know where they come from and does no I/O.
package config

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// APIVersion and Kind must be in every configuration.
	APIVersion = "mirror.karmada.target/v1alpha1"
	Kind       = "MirrorConfiguration"

	// Key is the ConfigMap key that holds the configuration.
	Key = "config.yaml"

	// defaultHoldWorks and defaultHoldPercent are the deletion breaker's
	// default thresholds.
	defaultHoldWorks   = 50
	defaultHoldPercent = 25
)

// Configuration is a decoded, defaulted and valid MirrorConfiguration.
type Configuration struct {
	APIVersion string     `json:"apiVersion"`
	Kind       string     `json:"kind"`
	Resources  []Resource `json:"resources,omitempty"`
	Deletion   Deletion   `json:"deletion,omitempty"`
	// OverridePolicies says whether Karmada's OverridePolicies and ClusterOverridePolicies apply
	// to mirrored objects: Honor or, the default, Ignore.
	OverridePolicies OverridePolicies `json:"overridePolicies,omitempty"`
	// Strip are the labels and annotations of objects that never leave the control plane.
	Strip Strip `json:"strip,omitempty"`
	// SystemNamespaces are globs (`*`, `?`) of the namespaces whose objects are never mirrored,
	// besides kube-* and karmada-*; nil for the default. AllowNamespaces are names of
	// namespaces that are mirrored though one of these matches.
	SystemNamespaces []string `json:"systemNamespaces,omitempty"`
	AllowNamespaces  []string `json:"allowNamespaces,omitempty"`
	// Expand says what variables may show of a Cluster.
	Expand Expand `json:"expand,omitempty"`
	// Authorization says which sources may be mirrored where: only what a rule allows.
	// Without the field everything is allowed; with an empty list, nothing is.
	Authorization []Rule `json:"authorization,omitempty"`
	// Replaced says which part replaces what another part of a user says; for warnings.
	Replaced []string `json:"-"`
	// Approvals are those on its ConfigMap; for commands only, because the daemon accepts them with any configuration.
	Approvals Approvals `json:"-"`
}

// Resource names one watched resource.
type Resource struct {
	// Group is the API group; empty means the core group.
	Group string `json:"group,omitempty"`
	// Version is the API version; empty means the API server's preferred one.
	Version string `json:"version,omitempty"`
	// Resource is the lower-case plural, as `kubectl api-resources` prints it.
	Resource string `json:"resource"`
	// Namespaces are globs (`*`, `?`) of the namespaces whose objects are mirrored, or,
	// after `!`, are not, wherever it stands; empty means every namespace.
	Namespaces []string `json:"namespaces,omitempty"`
	// AggregateStatus: the statuses that the members report are summed up in the status of
	// their source.
	AggregateStatus bool `json:"aggregateStatus,omitempty"`
	// Definitions says what becomes of the CustomResourceDefinition of the resource: Mirror or, the default, Ignore.
	Definitions Definitions `json:"definitions,omitempty"`
}

// Definitions is what becomes of a CustomResourceDefinition.
type Definitions string

// The values of Definitions. A mirrored one goes to the clusters to which objects of its kind go.
const (
	MirrorDefinitions Definitions = "Mirror"
	IgnoreDefinitions Definitions = "Ignore"
)

// definitions are the CustomResourceDefinitions: a resource of the configuration while one of them is mirrored.
var definitions = Resource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// MirrorsDefinition reports whether the CustomResourceDefinition of a resource is mirrored; nil mirrors none.
func (c *Configuration) MirrorsDefinition(gr schema.GroupResource) bool {
	if c == nil {
		return false
	}
	resource, _ := c.Resource(gr)
	return resource.Definitions == MirrorDefinitions
}

// OverridePolicies is what becomes of Karmada's override policies.
type OverridePolicies string

// The values of OverridePolicies. A ClusterOverridePolicy without selectors concerns every object,
// so no one gets them unasked.
const (
	HonorPolicies  OverridePolicies = "Honor"
	IgnorePolicies OverridePolicies = "Ignore"
)

// HonorsPolicies reports whether override policies apply.
func (c *Configuration) HonorsPolicies() bool { return c.OverridePolicies == HonorPolicies }

// AggregatesStatus reports whether the statuses of any resource are aggregated.
func (c *Configuration) AggregatesStatus() bool {
	return slices.ContainsFunc(c.Resources, func(r Resource) bool { return r.AggregateStatus })
}

// Strip are globs (`*`, `?`) of the keys of labels and annotations. Neither wildcard matches the
// slash in a key.
type Strip struct {
	Labels      []string `json:"labels,omitempty"`
	Annotations []string `json:"annotations,omitempty"`
}

// Expand are globs (`*`, `?`) of the keys of Clusters' annotations; nil for all of them. Neither wildcard matches the
// slash in a key.
type Expand struct {
	Annotations []string `json:"annotations,omitempty"`
}

// Deletion configures the deletion breaker.
type Deletion struct {
	HoldAbove HoldAbove `json:"holdAbove,omitempty"`
}

// HoldAbove is the breaker's threshold: both numbers must be exceeded.
type HoldAbove struct {
	// Works is a count of Works of one resource; 0 turns the breaker off.
	Works int `json:"works"`
	// Percent is a share, 0 to 100, of the Works held for that resource.
	Percent int `json:"percent"`
}

// GroupResource returns the resource without its version: the identity of an entry.
func (r Resource) GroupResource() schema.GroupResource {
	return schema.GroupResource{Group: r.Group, Resource: r.Resource}
}

// SelectsNamespace reports whether objects in namespace are mirrored. Objects
// of a cluster-scoped resource have no namespace and are always selected.
func (r Resource) SelectsNamespace(namespace string) bool {
	if len(r.Namespaces) == 0 || namespace == "" {
		return true
	}
	included, excluded := r.namespaceGlobs()
	return matches(included, namespace) && !matches(excluded, namespace)
}

// namespaceGlobs returns the globs of namespaces that are mirrored, and of those that are not.
func (r Resource) namespaceGlobs() (included, excluded []string) {
	for _, glob := range r.Namespaces {
		if name, isExcluded := strings.CutPrefix(glob, exclusion); isExcluded {
			excluded = append(excluded, name)
			continue
		}
		included = append(included, glob)
	}
	return included, excluded
}

// exclusion begins a glob of what is excluded.
const exclusion = "!"

// Resource returns the entry for a resource, if the configuration has one.
func (c *Configuration) Resource(gr schema.GroupResource) (Resource, bool) {
	for _, r := range c.Resources {
		if r.GroupResource() == gr {
			return r, true
		}
	}
	return Resource{}, false
}

// Includes reports whether objects of a resource in a namespace are mirrored; nil includes none.
func (c *Configuration) Includes(gr schema.GroupResource, namespace string) bool {
	if c == nil {
		return false
	}
	resource, ok := c.Resource(gr)
	return ok && resource.SelectsNamespace(namespace)
}

// Approves reports whether Approvals cover a deletion that this daemon holds.
func (c *Configuration) Approves(since time.Time, resource, namespace, member string) bool {
	return c.Includes(schema.ParseGroupResource(resource), namespace) && c.Approvals.Covers(since, resource, namespace, member)
}
