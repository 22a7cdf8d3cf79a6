package config

import (
	"encoding/json"
	"maps"
	"path"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Rule allows sources in some namespaces to be mirrored to some clusters. An omitted
// field restricts nothing.
type Rule struct {
	// Namespaces are globs for the sources' namespaces, and NamespaceSelector selects
	// them by label: a rule with both requires both. Only a rule with neither allows
	// a source without a namespace.
	Namespaces        []string              `json:"namespaces,omitempty"`
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	// Resources have the form deployments.apps.
	Resources []string `json:"resources,omitempty"`
	// Clusters are globs for cluster names.
	Clusters []string `json:"clusters,omitempty"`

	selector labels.Selector
}

// Source is what a Rule looks at.
type Source struct {
	// Resource has the form deployments.apps.
	Resource        string
	Namespace       string
	NamespaceLabels labels.Set
}

// Allows reports whether a source may be mirrored to a cluster. Without authorization it may, and so may a definition where
// objects of its kind are.
func (c *Configuration) Allows(s Source, cluster string) bool {
	return c.Authorization == nil || s.Resource == definitions.GroupResource().String() || slices.ContainsFunc(c.Authorization, func(r Rule) bool { return r.allows(s, cluster) })
}

func (r *Rule) allows(s Source, cluster string) bool {
	switch {
	case len(r.Namespaces) > 0 && (s.Namespace == "" || !matches(r.Namespaces, s.Namespace)):
		return false
	case r.NamespaceSelector != nil && (s.Namespace == "" || !r.selector.Matches(s.NamespaceLabels)):
		return false
	case len(r.Resources) > 0 && !slices.Contains(r.Resources, s.Resource):
		return false
	}
	return len(r.Clusters) == 0 || matches(r.Clusters, cluster)
}

func matches(globs []string, s string) bool {
	return slices.ContainsFunc(globs, func(glob string) bool {
		matched, err := path.Match(glob, s)
		return err == nil && matched
	})
}

// validateGiven rejects null values where they matter, such as in the authorization and in the
// breaker's settings: they read as omitted, which allows everything, or as the default.
func validateGiven(asJSON []byte) field.ErrorList {
	var given map[string]any
	if err := json.Unmarshal(asJSON, &given); err != nil {
		return nil // cannot happen: it was decoded before
	}
	var errs field.ErrorList
	for _, key := range []string{"allowNamespaces", "authorization", "deletion", "expand", "overridePolicies", "strip", "systemNamespaces"} {
		if value, ok := given[key]; ok {
			errs = append(errs, nullsIn(value, field.NewPath(key))...)
		}
	}
	return errs
}

func nullsIn(value any, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch v := value.(type) {
	case nil:
		errs = append(errs, field.Required(at, "give it a value, or omit the key"))
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			errs = append(errs, nullsIn(v[key], at.Child(key))...)
		}
	case []any:
		for i := range v {
			errs = append(errs, nullsIn(v[i], at.Index(i))...)
		}
	}
	return errs
}

// validateRule checks a rule, given all resources, and prepares its selector.
func validateRule(r *Rule, resources sets.Set[schema.GroupResource], at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, list := range []struct {
		name string
		list []string
	}{{"namespaces", r.Namespaces}, {"resources", r.Resources}, {"clusters", r.Clusters}} {
		if list.list != nil && len(list.list) == 0 {
			errs = append(errs, field.Required(at.Child(list.name), "omit the key to restrict nothing"))
		}
	}
	errs = append(errs, validateGlobs(r.Namespaces, "namespace", at.Child("namespaces"))...)
	errs = append(errs, validateGlobs(r.Clusters, "cluster", at.Child("clusters"))...)
	for i, resource := range r.Resources {
		if !resources.Has(schema.ParseGroupResource(resource)) {
			errs = append(errs, field.Invalid(at.Child("resources").Index(i), resource, "is not among the resources of this configuration; write it as in deployments.apps"))
		}
	}
	if r.NamespaceSelector != nil {
		var err error
		if r.selector, err = metav1.LabelSelectorAsSelector(r.NamespaceSelector); err != nil {
			errs = append(errs, field.Invalid(at.Child("namespaceSelector"), r.NamespaceSelector, err.Error()))
		}
	}
	return errs
}
